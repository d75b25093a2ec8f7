// A model onto the disk, over connections that break and servers that err.
#include "device_sdk/agent/model_download.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/file.h"
#include "base/random.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/device_sdk/agent/scripted_server.h"

namespace coterie::test {
namespace {

constexpr uint64_t kModelBytes = 10'000;

Bytes some_model(uint64_t seed = 1) {
  Bytes bytes(kModelBytes);
  Prng prng(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(prng.next());
  return bytes;
}

class ModelDownload : public testing::Test {
 protected:
  ModelDownload() : server_(some_model()) {
    const auto enrolled = api_.enroll("token", "test");
    device_ = std::get<EnrollReply>(enrolled).device;
  }

  Result<Outcome<Digest>> download() {
    return download_model(api_, device_, server_.assignment().model, kModelBytes, path_);
  }
  // The failure of a download whose disk is fine.
  Error failure_of(const Result<Outcome<Digest>>& result) {
    EXPECT_OK(result);
    const auto* failure = std::get_if<Failure>(&*result);
    EXPECT_NE(failure, nullptr);
    return failure == nullptr ? Error(ErrorCode::internal, "no failure") : failure->error;
  }
  void expect_model_on_disk() const {
    const Result<Bytes> file = os::read_file(path_, 1 << 20);
    ASSERT_OK(file);
    EXPECT_TRUE(*file == server_.model());
    EXPECT_FALSE(os::exists(part_path_));
  }
  uint64_t part_bytes() const { return os::exists(part_path_) ? std::filesystem::file_size(part_path_) : 0; }

  TemporaryDirectory directory_{memory_disk()};
  std::string path_ = directory_ / "model", part_path_ = path_ + ".part";
  ScriptedServer server_;
  std::unique_ptr<Signer> signer_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 4)));
  DeviceApi api_{server_, *signer_};
  DeviceId device_;
};

TEST_F(ModelDownload, StoresTheModelAndAsksForItOnce) {
  for (int i = 0; i < 2; ++i) {
    const auto result = download();
    ASSERT_OK(result);
    EXPECT_EQ(std::get<Digest>(*result), server_.assignment().model);
    expect_model_on_disk();
  }
  EXPECT_EQ(server_.ranges(), std::vector<std::string>{""});
}

TEST_F(ModelDownload, GoesOnWithARangeWhereTheConnectionBroke) {
  for (const uint64_t cut : {3'500u, 1u, 2'499u}) server_.fail_next(Call::model, server_.cut_model(cut));
  server_.fail_next(Call::model, ScriptedServer::lost());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(failure_of(download()).code(), ErrorCode::unavailable);
  EXPECT_EQ(part_bytes(), 6'000u);
  ASSERT_OK(download());
  expect_model_on_disk();
  const std::vector<std::string> expected{"", "bytes=3500-", "bytes=3501-", "bytes=6000-", "bytes=6000-"};
  EXPECT_EQ(server_.ranges(), expected);
  EXPECT_EQ(server_.model_bytes_sent(), kModelBytes) << "no byte twice";
}

TEST_F(ModelDownload, BeginsAgainIfTheServerKnowsNoRanges) {
  server_.fail_next(Call::model, server_.cut_model(7'000));
  (void)failure_of(download());
  server_.knows_ranges = false;
  ASSERT_OK(download());
  expect_model_on_disk();
}

TEST_F(ModelDownload, StartsFromNothingAfterAWrongDigest) {
  const auto wrong = some_model(2);
  server_.fail_next(Call::model, ScriptedServer::answer(200, wrong));
  const auto result = download();
  ASSERT_OK(result);
  EXPECT_EQ(std::get<Digest>(*result), content_digest(wrong));
  EXPECT_FALSE(os::exists(path_));
  EXPECT_FALSE(os::exists(part_path_));
  ASSERT_OK(download());
  expect_model_on_disk();
  EXPECT_EQ(server_.ranges(), (std::vector<std::string>{"", ""}));
}

TEST_F(ModelDownload, StartsFromNothingWhenTheBeginningItHadWasOfAnotherModel) {
  ASSERT_OK(os::write_file_atomically(part_path_, ByteView(some_model(2)).first(4'000)));
  const auto result = download();
  ASSERT_OK(result);
  EXPECT_NE(std::get<Digest>(*result), server_.assignment().model);
  ASSERT_OK(download());
  expect_model_on_disk();
  EXPECT_EQ(server_.ranges(), (std::vector<std::string>{"bytes=4000-", ""}));
}

TEST_F(ModelDownload, KeepsWhatAnAnswerThatWasTooShortBrought) {
  const Bytes model = server_.model();
  server_.fail_next(Call::model, ScriptedServer::answer(200, Bytes(model.begin(), model.begin() + 6'000)));
  EXPECT_EQ(failure_of(download()).code(), ErrorCode::unavailable);
  EXPECT_EQ(part_bytes(), 6'000u);
  ASSERT_OK(download());
  expect_model_on_disk();
}

TEST_F(ModelDownload, NeverStoresMoreThanWasSigned) {
  server_.fail_next(Call::model, ScriptedServer::answer(200, Bytes(kModelBytes + 1)));
  EXPECT_EQ(failure_of(download()).code(), ErrorCode::refused);
  EXPECT_LE(part_bytes(), kModelBytes);
  server_.fail_next(Call::model, server_.cut_model(9'000));
  (void)failure_of(download());
  server_.fail_next(Call::model, ScriptedServer::answer(206, Bytes(1'001)));
  EXPECT_EQ(failure_of(download()).code(), ErrorCode::refused);
  EXPECT_LE(part_bytes(), kModelBytes);
}

TEST_F(ModelDownload, LeavesThePartAloneWhenTheAnswerIsAnErrorPage) {
  server_.fail_next(Call::model, server_.cut_model(2'000));
  (void)failure_of(download());
  for (const int status : {503, 404, 416, 302}) {
    server_.fail_next(Call::model, ScriptedServer::answer(status, Bytes(100, '<')));
    (void)failure_of(download());
    EXPECT_EQ(part_bytes(), 2'000u) << status;
  }
}

TEST_F(ModelDownload, ReplacesAFileThatWasDamagedOrGrewTooLarge) {
  ASSERT_OK(os::write_file_atomically(path_, Bytes(kModelBytes)));
  ASSERT_OK(os::write_file_atomically(part_path_, Bytes(kModelBytes + 5)));
  ASSERT_OK(download());
  expect_model_on_disk();
}

TEST_F(ModelDownload, SaysThatTheDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", part_path_);
  EXPECT_ERROR(download(), ErrorCode::storage_full, part_path_);
}

}  // namespace
}  // namespace coterie::test
