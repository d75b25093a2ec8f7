// A federation whose model has several outputs, each with a loss: real processes, and the same job simulated.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/model_builder.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/support/matchers.h"

namespace coterie::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// Rows of two numbers, with the name of the larger one and their sum.
class DemoHeads : public DemoTest {
 protected:
  void SetUp() override {
    Prng prng(11);
    std::string rows = "a,b,larger,sum\n";
    for (int i = 0; i < 240; ++i) {
      const double a = prng.uniform(), b = prng.uniform();
      rows += std::to_string(a) + "," + std::to_string(b) + (a > b ? ",a," : ",b,") + std::to_string(a + b) + "\n";
    }
    ASSERT_OK(os::write_file_atomically(directory_ / "numbers.csv", as_bytes(rows)));
    ModelBuilder build("two", {2}, 3);
    const TensorId trunk = build.relu(build.dense(build.input(), 8));
    const TensorId own = build.dense(trunk, 2), sum = build.dense(trunk, 1);
    const Result<Bytes> file = build.finish(own, std::vector{sum});
    ASSERT_OK(file);
    ASSERT_OK(os::write_file_atomically(model_file(), *file));
    const Result<Model> model = Model::load(*file);
    ASSERT_OK(model);
    for (const ModelOutput& output : model_outputs(*model)) outputs_.push_back(output.name);
  }
  std::string model_file() const { return directory_ / "two.cotf"; }
  std::string data() const { return "csv:" + directory_ / "numbers.csv?target=larger,sum"; }
  Words demo(const Words& more) const {
    Words words = {"demo",
                   "--json",
                   "--quiet",
                   "--data",
                   data(),
                   "--model",
                   model_file(),
                   "--devices",
                   "4",
                   "--local-epochs",
                   "6",
                   "--rounds",
                   "8",
                   "--fraction",
                   "1",
                   "--lr",
                   "0.1",
                   "--seed",
                   "5",
                   "--out",
                   directory_ / "run"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words heads() const {
    return {"--head", outputs_[0] + ":softmax_cross_entropy", "--head", outputs_[1] + ":mean_squared_error:2"};
  }
  void expect_refused(const Words& words, const std::string& why) const {
    DemoProcess process(directory_.path(), words);
    EXPECT_EQ(process.wait(), 2) << process.errors();
    EXPECT_THAT(process.errors(), HasSubstr(why));
    EXPECT_EQ(std::count(process.errors().begin(), process.errors().end(), '\n'), 1) << process.errors();
  }

  // What the newest round's line of a run has of both heads, which is its end.
  Words figures(const std::string& run) const {
    const Result<Bytes> file = os::read_file(directory_ / (run + "/metrics.csv"), 1 << 20);
    EXPECT_OK(file);
    if (!file) return {};
    const std::string text(as_text(*file));
    std::string names;
    for (const char* name : {"evaluation_loss.0", "evaluation_accuracy.0", "evaluation_loss.1", "evaluation_mae.1"}) {
      const std::string column = name;
      names += ",\"" + column.substr(0, column.size() - 1) + outputs_[static_cast<size_t>(column.back() - '0')] + "\"";
    }
    EXPECT_THAT(text.substr(0, text.find('\n') + 1), testing::EndsWith(names + "\n"));
    Words cells;
    std::istringstream last(text.substr(text.rfind('\n', text.size() - 2) + 1));
    for (std::string cell; std::getline(last, cell, ',');) cells.push_back(cell);
    EXPECT_GT(cells.size(), 4u) << text;
    if (cells.size() > 4) cells.erase(cells.begin(), cells.end() - 4);
    return cells;
  }

  Words outputs_;
};

TEST_F(DemoHeads, AreTrainedTogetherAndToldApart) {
  DemoProcess process(directory_.path(), demo(heads()));
  ASSERT_EQ(process.wait(), 0) << process.errors();
  EXPECT_THAT(process.errors(), AllOf(HasSubstr("HEAD"), HasSubstr(outputs_[1]),
                                      HasSubstr("--head " + outputs_[1] + ":mean_squared_error:2")));
  const nlohmann::json said = nlohmann::json::parse(process.output(), nullptr, false);
  ASSERT_EQ(said["heads"].size(), 2u) << process.output();
  EXPECT_EQ(said["heads"][0]["output"], outputs_[0]);
  EXPECT_EQ(said["heads"][0]["accuracy"], said["accuracy"]);
  EXPECT_GT(said["heads"][0]["accuracy"], 0.8);
  EXPECT_EQ(said["heads"][1]["weight"], 2.0);
  EXPECT_LT(said["heads"][1]["mae"], 0.25) << "in the sum's own unit; always saying the mean is off by a third";
  EXPECT_NEAR(said["loss"].get<double>(),
              said["heads"][0]["loss"].get<double>() + 2 * said["heads"][1]["loss"].get<double>(), 1e-6);
  EXPECT_FALSE(said.contains("accuracy_majority"));
  const Words simulate = {"simulate",  directory_ / "run/job.json",
                          "--json",    "--quiet",
                          "--data",    data(),
                          "--model",   model_file(),
                          "--devices", "4",
                          "--seed",    "5",
                          "--out",     directory_ / "simulated",
                          "--split",   "iid"};
  DemoProcess simulated(directory_.path(), simulate);
  ASSERT_EQ(simulated.wait(), 0) << simulated.errors();
  EXPECT_THAT(simulated.errors(), HasSubstr("HEAD"));
  const nlohmann::json alike = nlohmann::json::parse(simulated.output(), nullptr, false);
  EXPECT_EQ(alike["model_digest"], said["model_digest"]);
  EXPECT_EQ(alike["heads"], said["heads"]);
  const Words told = figures("run");
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(figures("simulated"), told) << "of the server as of the simulation";
  EXPECT_NEAR(std::stod(told[0]), said["heads"][0]["loss"], 1e-6);
  EXPECT_NEAR(std::stod(told[1]), said["heads"][0]["accuracy"], 1e-6);
  EXPECT_NEAR(std::stod(told[2]), said["heads"][1]["loss"], 1e-6);
  EXPECT_NEAR(std::stod(told[3]), said["heads"][1]["mae"], 1e-6);
}

TEST_F(DemoHeads, ThatDoNotFitTheTargetsAreRefused) {
  expect_refused(demo({}),
                 "a training without heads (--head) takes one target, and an example of numbers has 2: larger, sum");
  expect_refused(demo({"--head", outputs_[0] + ":softmax_cross_entropy"}),
                 "compare 1 number with an example's targets, and an example of numbers has 2");
  expect_refused(demo({"--head", "none:l1"}), "the model has no output none");
  Words attacked = heads();
  attacked.insert(attacked.end(), {"--security", "none", "--attack", "label_flip:0.5"});
  expect_refused(demo(attacked), "--attack label_flip:0.5 takes one target");
  std::string rows = "a,b,larger,sum\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(i) + ",1," + "xyz"[i % 3] + ",0.5\n";
  ASSERT_OK(os::write_file_atomically(directory_ / "numbers.csv", as_bytes(rows)));
  expect_refused(demo(heads()), "tells 2 classes apart, and the target larger has 3");
}

}  // namespace
}  // namespace coterie::integration
