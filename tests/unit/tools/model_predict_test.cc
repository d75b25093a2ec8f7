// coterie model predict on a model of several outputs: all of them, or those that are named, as text, JSON and NumPy's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/model_builder.h"
#include "model_import/weights/read_weights.h"
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

// All numbers by the outputs' names, as JSON has them; of an int8 network likewise.
TEST_F(ModelPredict, WritesAnArrayForEachOutput) {
  const std::string to = folder_ / "said.npz";
  const auto arrays = [&] {
    const Result<Bytes> file = os::read_file(to, 1 << 20);
    EXPECT_OK(file);
    std::vector<std::pair<std::string, std::vector<float>>> read;
    const auto table = model_import::read_npz(*file);
    EXPECT_OK(table);
    for (const auto& tensor : table->tensors) {
      EXPECT_EQ(tensor.shape[0], 3);
      read.emplace_back(tensor.name, *read_numbers(tensor));
    }
    return read;
  };
  const CommandOutcome done = predict({"-o", to});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  EXPECT_THAT(done.out, HasSubstr(names_[0] + " 3x10, " + names_[1] + " 3x4, " + names_[2] + " 3x4"));
  const auto all = arrays();
  const nlohmann::json told = predicted({});
  ASSERT_EQ(all.size(), 3u);
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(all[k].first, names_[k]);
    std::vector<float> expected;
    for (const nlohmann::json& entry : told) {
      for (const nlohmann::json& value : entry["outputs"][names_[k]]) expected.push_back(value.get<float>());
    }
    EXPECT_EQ(all[k].second, expected) << names_[k];
  }
  ASSERT_EQ(predict({"-o", to, "--model-output", names_[1]}).code, ExitCode::ok);
  EXPECT_EQ(arrays().size(), 1u);
}

TEST_F(ModelPredict, WritesWhatIntegersAnswer) {
  const std::string net = folder_ / "net.cotf", int8 = folder_ / "int8.cotf", to = folder_ / "said.npz";
  ASSERT_EQ(run_command({"model", "new", "mlp", "--input", "8x8x1", "--classes", "10", "-o", net}).code, ExitCode::ok);
  ASSERT_EQ(run_command({"model", "quantise", net, "--data", "digits", "-o", int8, "--max-drop", "100%",
                         "--calibration", "10", "--full"})
                .code,
            ExitCode::ok);
  const CommandOutcome done = run_command({"model", "predict", int8, "--data", "digits", "--limit", "70", "-o", to});
  ASSERT_EQ(done.code, ExitCode::ok) << done.err;
  const Result<Bytes> file = os::read_file(to, 1 << 20);
  ASSERT_OK(file);
  const auto table = model_import::read_npz(*file);
  ASSERT_OK(table);
  ASSERT_EQ(table->tensors.size(), 1u);
  EXPECT_THAT(table->tensors[0].shape, testing::ElementsAre(70, 10));
  const auto told = nlohmann::json::parse(
      run_command({"model", "predict", int8, "--data", "digits", "--limit", "70", "--top", "1", "--json"}).out);
  const std::vector<float> scores = *read_numbers(table->tensors[0]);
  const nlohmann::json& best = told["predictions"][69]["predicted"][0];
  EXPECT_EQ(scores[690 + best["class"].get<size_t>()], best["score"].get<float>());
}

TEST_F(ModelPredict, RefusesAFileThatNumPyWouldNotKnow) {
  EXPECT_THAT(predict({"-o", "json"}).err, HasSubstr("ends in .npz, and is json; --json prints JSON"));
  EXPECT_EQ(predict({"-o", "json"}).code, ExitCode::usage);
  EXPECT_EQ(predict({"-o", folder_ / "a.npz", "--json"}).code, ExitCode::usage);
}

}  // namespace
}  // namespace coterie::test
