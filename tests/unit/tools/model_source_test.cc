#include "tools/serve/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace coterie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

TEST(FileSource, TellsEachVersionOnce) {
  const test::TemporaryDirectory directory(test::memory_disk());
  FileSource source(directory / "model.cotf");
  const auto none = source.next();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
  uint64_t number = 0;
  for (const char* const text : {"first", "second", "a third"}) {
    ASSERT_OK(os::write_file_atomically(directory / "model.cotf", as_bytes(text)));
    const auto next = source.next();
    ASSERT_OK(next);
    ASSERT_TRUE(*next);
    EXPECT_EQ((*next)->number, ++number);
    EXPECT_EQ((*next)->file, bytes_of(text));
    const auto again = source.next();
    ASSERT_OK(again);
    EXPECT_FALSE(*again);
  }
}

TEST(FileSource, TheSameBytesAreTheSameVersion) {
  const test::TemporaryDirectory directory(test::memory_disk());
  FileSource source(directory / "model.cotf");
  ASSERT_OK(os::write_file_atomically(directory / "model.cotf", as_bytes("model")));
  ASSERT_TRUE(*source.next());
  ASSERT_OK(os::write_file_atomically(directory / "model.cotf", as_bytes("model")));
  EXPECT_FALSE(*source.next());
}

// As `coterie model quantise` leaves it: what is served is the float32 model that it stands for.
TEST(FileSource, ExpandsWeightsThatAreStoredAsInt8) {
  ModelBuilder build("small", {4}, 1);
  const Result<Bytes> file = build.finish(build.dense(build.input(), 3));
  ASSERT_OK(file);
  const Model model = *Model::load(*file);
  const auto& tensors = model.graph().tensors;
  const auto weight = std::ranges::find(tensors, Shape{4, 3}, &TensorInfo::shape);
  ASSERT_NE(weight, tensors.end());
  Int8Weights weights{
      .form = {.tensor = static_cast<uint32_t>(weight - tensors.begin()), .axis = 1, .scales = {1, 1, 1}},
      .values = std::vector<int8_t>(12, 5)};
  const Bytes stored = store_as_int8(model, {std::move(weights)});
  ASSERT_FALSE(Model::load(stored));
  const test::TemporaryDirectory directory(test::memory_disk());
  ASSERT_OK(os::write_file_atomically(directory / "model.cotf", stored));
  FileSource source(directory / "model.cotf");
  const auto next = source.next();
  ASSERT_OK(next);
  EXPECT_OK(Model::load((*next)->file));
  EXPECT_EQ(content_digest((*next)->file), content_digest(*expand_model(stored)));
}

TEST(FileSource, GivesAFileThatComputesInInt8AsItIs) {
  ModelBuilder build("small", {4}, 1);
  const Model model = *Model::load(*build.finish(build.dense(build.input(), 3)));
  const test::TemporaryDirectory directory(test::memory_disk());
  const std::string path = directory / "model.cotf";
  const Bytes stored = store_as_int8(model, {}, {{.tensor = 0, .scale = 1, .zero = 0}});
  ASSERT_OK(os::write_file_atomically(path, stored));
  const auto next = FileSource(path).next();
  ASSERT_OK(next);
  EXPECT_EQ((*next)->file, stored);
}

// A server of few words: versions of job j, and which of them is released.
class FakeJob {
 public:
  std::vector<uint64_t> versions;
  std::optional<uint64_t> released;
  std::vector<std::string> downloads;
  bool is_broken = false;

  JobSource source() {
    return JobSource({.get = [this](const std::string& target) { return job(target); },
                      .get_models = [this](const std::string& target) { return models(target); },
                      .download = [this](const std::string& target) -> Result<Bytes> {
                        if (is_broken) return Error(ErrorCode::unavailable, "the connection ended");
                        downloads.push_back(target);
                        return bytes_of(target);
                      }},
                     "j");
  }

 private:
  Result<nlohmann::json> job(const std::string& target) const {
    EXPECT_EQ(target, "jobs/j");
    nlohmann::json json = {{"id", "j"}};
    if (released) json["released"] = {{"version", *released}};
    return json;
  }
  Result<nlohmann::json> models(const std::string& target) const {
    nlohmann::json json = {{"models", nlohmann::json::array()}};
    const size_t after = target.find("?after=");
    for (const uint64_t version : versions) {
      if (after == std::string::npos || version > std::stoull(target.substr(after + 7)))
        json["models"].push_back({{"version", version}});
    }
    return json;
  }
};

std::optional<uint64_t> number_of(JobSource& source) {
  const auto next = source.next();
  EXPECT_OK(next);
  return next && *next ? std::optional((*next)->number) : std::nullopt;
}

TEST(JobSource, FollowsTheNewestModel) {
  FakeJob job;
  JobSource source = job.source();
  EXPECT_EQ(source.next().error().code(), ErrorCode::not_found);
  job.versions = {0, 1, 2};
  EXPECT_EQ(number_of(source), 2u);
  EXPECT_EQ(number_of(source), std::nullopt);
  job.versions.push_back(3);
  EXPECT_EQ(number_of(source), 3u);
  EXPECT_THAT(job.downloads, ElementsAre("jobs/j/models/2/content", "jobs/j/models/3/content"));
  EXPECT_EQ(source.promoted(), std::nullopt);
}

TEST(JobSource, FetchesThePromotedModelHoweverOldItIs) {
  FakeJob job;
  job.versions = {0, 1, 2};
  JobSource source = job.source();
  EXPECT_EQ(number_of(source), 2u);
  job.released = 0;
  EXPECT_EQ(number_of(source), 0u);
  EXPECT_EQ(source.promoted(), 0u);
  EXPECT_EQ(number_of(source), std::nullopt);
  job.released = 2;
  EXPECT_EQ(number_of(source), std::nullopt) << "it is here";
  EXPECT_EQ(source.promoted(), 2u);
  job.released.reset();
  EXPECT_EQ(number_of(source), std::nullopt);
  EXPECT_EQ(source.promoted(), std::nullopt);
  job.released = 0;
  EXPECT_EQ(number_of(source), 0u) << "nobody may have kept it meanwhile";
}

TEST(JobSource, FetchesAgainWhatDidNotComeWhole) {
  FakeJob job;
  job.versions = {1, 2};
  job.released = 1;
  JobSource source = job.source();
  for (const uint64_t version : {1u, 2u}) {
    job.is_broken = true;
    EXPECT_EQ(source.next().error().code(), ErrorCode::unavailable);
    job.is_broken = false;
    EXPECT_EQ(number_of(source), version);
  }
  EXPECT_EQ(number_of(source), std::nullopt);
}

TEST(JobSource, DoesNotBelieveAServerThatNamesNoVersions) {
  FakeJob job;
  JobSource source({.get = [](const std::string&) -> Result<nlohmann::json> { return nlohmann::json::object(); },
                    .get_models = [](const std::string&) -> Result<nlohmann::json> {
                      return nlohmann::json{{"models", {{{"version", "7"}}}}};
                    },
                    .download = [](const std::string&) -> Result<Bytes> { return Bytes(); }},
                   "j");
  EXPECT_EQ(source.next().error().code(), ErrorCode::malformed);
}

}  // namespace
}  // namespace coterie
