// coterie model predict on a model of several outputs: all of them, or those that are named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/run_command.h"

namespace coterie::test {
namespace {

using testing::HasSubstr;

class ModelPredict : public testing::Test {
 protected:
  // Ten scores, what they are computed from, and which of that is positive.
  void SetUp() override {
    ModelBuilder build("three", {8, 8, 1}, 1);
    const TensorId features = build.dense(build.flatten(build.input()), 4);
    const TensorId zero = build.constant("zero", {1}, std::vector<float>{0});
    const TensorId is_active = build.op(OpKind::greater, {features, zero});
    const auto file = build.finish(build.dense(build.relu(features), 10), std::vector{features, is_active});
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(path_, *file));
    for (const ModelOutput& output : model_outputs(*Model::load(*file))) names_.push_back(output.name);
  }
  CommandOutcome predict(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"model", "predict", path_, "--data", "digits", "--limit", "3"};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(words);
  }
  nlohmann::json predicted(std::vector<std::string> more) const {
    more.push_back("--json");
    const CommandOutcome done = predict(more);
    EXPECT_EQ(done.code, ExitCode::ok) << done.err;
    return nlohmann::json::parse(done.out, nullptr, false)["predictions"];
  }

  const TemporaryDirectory folder_;
  const std::string path_ = folder_ / "three.cotf";
  std::vector<std::string> names_;
};

TEST_F(ModelPredict, AnswersAllOutputsOrThoseThatAreNamed) {
  const nlohmann::json all = predicted({});
  ASSERT_EQ(all.size(), 3u);
  for (const nlohmann::json& entry : all) {
    const nlohmann::json& outputs = entry["outputs"];
    ASSERT_EQ(outputs.size(), 3u);
    EXPECT_EQ(outputs[names_[0]].size(), 10u);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(outputs[names_[2]][i].get<int>(), outputs[names_[1]][i].get<float>() > 0 ? 1 : 0);
    }
  }
  const nlohmann::json two = predicted({"--model-output", names_[2], "--model-output", names_[1], "--threads", "2"});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(two[i]["outputs"].size(), 2u);
    EXPECT_EQ(two[i]["outputs"][names_[1]], all[i]["outputs"][names_[1]]);
    EXPECT_EQ(two[i]["outputs"][names_[2]], all[i]["outputs"][names_[2]]);
  }
  const CommandOutcome table = predict({"--model-output", names_[1]});
  EXPECT_THAT(table.out, HasSubstr(names_[1]));
  EXPECT_EQ(table.out.find(names_[0]), std::string::npos);
}

TEST_F(ModelPredict, RefusesOutputsThatAreNone) {
  EXPECT_THAT(predict({"--model-output", "other\n"}).err,
              HasSubstr("it has " + names_[0] + ", " + names_[1] + ", " + names_[2]));
  EXPECT_NE(predict({"--model-output", "other"}).code, ExitCode::ok);
  EXPECT_THAT(predict({"--model-output", names_[1], "--model-output", names_[1]}).err, HasSubstr("asked for twice"));
  EXPECT_THAT(predict({"--model-output", names_[1], "--delegate", "onednn"}).err,
              HasSubstr("leave --model-output out"));
}

}  // namespace
}  // namespace coterie::test
