// A split network as two organisations train it: the demo, a kill of either party, a prediction.
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/demo/vertical_job.h"
#include "tests/support/matchers.h"
#include "tools/vertical/manifest.h"

namespace coterie::integration {
namespace {

class VerticalSplitDemo : public DemoTest {
 protected:
  std::string text(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / "run/" + name, 1 << 20);
    EXPECT_TRUE(bytes) << name;
    return bytes ? std::string(as_text(*bytes)) : "{}";
  }
  nlohmann::json file(const std::string& name) const { return nlohmann::json::parse(text(name)); }
};

TEST_F(VerticalSplitDemo, IsAsGoodAsOneTable) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--model", "split", "--in-flight", "4", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["model"], "split");
  EXPECT_EQ(metrics["network"], "mlp");
  EXPECT_GE(metrics["together"]["auc"].get<double>(), metrics["pooled"]["auc"].get<double>() - 0.02);
  const std::vector<double> losses = metrics["losses"];
  ASSERT_EQ(losses.size(), 20u);
  EXPECT_LT(losses[19], losses[0] / 2);
  EXPECT_NE(text("chart.svg").find("epoch 20"), std::string::npos);
  // Bytes each way: 16 floats a person and epoch, and a step's number and a frame's head for each of 7 steps.
  const int trained = metrics["trained"];
  const int formula = 20 * (trained * 16 * 4 + (trained + 63) / 64 * (4 + 16));
  EXPECT_EQ(metrics["stages"][1]["label_party_bytes_sent"], formula);
  EXPECT_EQ(metrics["stages"][1]["feature_party_bytes_sent"], formula);
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kSplitLeakage[i]);
  EXPECT_EQ(file("feature_party/ledger.json"), ledger);
}

TEST_F(VerticalSplitDemo, SaysWhatProtectionIsWorth) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--model", "split", "--network", "wide_deep", "--epochs",
                                       "4", "--activations", "int8", "--label-epsilon", "3", "--activation-clip", "4",
                                       "--activation-noise", "2", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json ledger = file("ledger.json");
  EXPECT_EQ(ledger[1]["id"], "L9");
  EXPECT_NE(ledger[1]["label_party_learns"].get<std::string>().find("epsilon"), std::string::npos) << ledger;
  EXPECT_NE(ledger[1]["feature_party_learns"].get<std::string>().find("epsilon 3.00"), std::string::npos) << ledger;
  DemoProcess mixed(directory_.path(),
                    {"vertical", "demo", "--model", "split", "--protection", "marvell", "--label-epsilon", "1"});
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.errors().find("exclude each other"), std::string::npos) << mixed.errors();
  DemoProcess other(directory_.path(), {"vertical", "demo", "--model", "trees", "--cut", "4"});
  EXPECT_EQ(other.wait(), 2);
  EXPECT_NE(other.errors().find("--cut"), std::string::npos) << other.errors();
}

class VerticalSplitJob : public VerticalCoordinator {
 protected:
  void change(VerticalManifest& manifest) const override {
    manifest.model = VerticalModel::split;
    manifest.split = {.network = vertical::SplitNetwork::wide_deep,
                      .cut = 4,
                      .top = 4,
                      .epochs = 60,
                      .batch = 8,
                      .in_flight = 3,
                      .commit_steps = 16,
                      .activations = vertical::CutEncoding::int8,
                      .protection = vertical::GradientProtection::max_norm};
  }
  std::unique_ptr<DemoProcess> party(const std::string& name) const {
    return std::make_unique<DemoProcess>(directory_.path(),
                                         std::vector<std::string>{"vertical", "party", "--config", name + ".json"});
  }
  void submit_and_approve(const std::string& label, const std::string& feature) {
    ASSERT_EQ(vertical("submit", label), 0) << said_;
    ASSERT_EQ(vertical("approve", label), 0) << said_;
    ASSERT_EQ(vertical("approve", feature), 0) << said_;
  }
  std::string model(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / (name + "_results/model.part"), 1 << 20);
    EXPECT_OK(bytes);
    return bytes ? to_hex(*bytes) : "";
  }
  void wait_for_step(const std::string& name, uint32_t step) const {
    const std::string results = directory_ / (name + "_results");
    for (;;) {
      ASSERT_FALSE(os::exists(results + "/journal/model")) << "it was over before";
      for (const char* file : {"/journal/training.0", "/journal/training.1"}) {
        const Result<Bytes> bytes = os::read_file(results + file, 1 << 20);
        if (bytes && bytes->size() >= 8 && ((*bytes)[4] | uint32_t{(*bytes)[5]} << 8) >= step) return;
      }
      ::sched_yield();
    }
  }
};

TEST_F(VerticalSplitJob, EndsWithTheSameModelWhoeverIsKilledAndPredicts) {
  auto coordinator = start_coordinator();
  submit_and_approve("label", "feature");
  auto label = party("label"), feature = party("feature");
  // Both have a journal with a seed, and are not far.
  wait_for_step("feature", 16);
  for (auto* process : {&label, &feature}) {
    (*process)->signal(SIGKILL);
    (*process)->wait();
  }
  for (const char* name : {"label_results", "feature_results", "jobs"}) {
    std::filesystem::copy(directory_ / name, directory_ / (std::string("saved_") + name),
                          std::filesystem::copy_options::recursive);
  }
  label = party("label"), feature = party("feature");
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_NE(label->output().find("goes on behind step"), std::string::npos) << label->output();
  const std::string label_model = model("label"), feature_model = model("feature");

  // The same from there, where each is killed once more, and the coordinator.
  coordinator->signal(SIGKILL);
  coordinator->wait();
  for (const char* name : {"label_results", "feature_results", "jobs"}) {
    std::filesystem::remove_all(directory_ / name);
    std::filesystem::copy(directory_ / (std::string("saved_") + name), directory_ / name,
                          std::filesystem::copy_options::recursive);
  }
  coordinator = start_coordinator();
  label = party("label"), feature = party("feature");
  wait_for_step("feature", 64);
  feature->signal(SIGKILL);
  feature->wait();
  feature = party("feature");
  wait_for_step("label", 160);
  label->signal(SIGKILL);
  label->wait();
  label = party("label");
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_EQ(model("label"), label_model);
  EXPECT_EQ(model("feature"), feature_model);

  // A prediction of the same people and nobody else.
  VerticalManifest manifest{
      .job = {10}, .matching = {}, .parties = {"label", "feature"}, .model = VerticalModel::split};
  manifest.matching.intersection_min = 10;
  manifest.predicts = manifest_digest(manifest_);
  const std::string text = write_manifest(manifest);
  write("prediction.json", text);
  for (const std::string name : {"label", "feature"}) {
    const Result<Bytes> bytes = os::read_file(directory_ / (name + ".json"), 1 << 16);
    ASSERT_OK(bytes);
    nlohmann::json config = nlohmann::json::parse(as_text(*bytes));
    config["manifest"] = "prediction.json";
    config["approved"] = manifest_digest(text).hex();
    config["model"] = name + "_results/model.part";
    config["out"] = name + "_predictions";
    write("predict_" + name + ".json", config.dump());
  }
  submit_and_approve("predict_label", "predict_feature");
  DemoProcess other(directory_.path(), {"vertical", "predict", "--config", "predict_feature.json"});
  EXPECT_EQ(vertical("predict", "predict_label"), 0) << said_;
  EXPECT_EQ(other.wait(), 0) << other.errors();
  const Result<Bytes> scores = os::read_file(directory_ / "label_predictions/scores.csv", 1 << 16);
  ASSERT_OK(scores);
  EXPECT_EQ(std::ranges::count(as_text(*scores), '\n'), 61);
  EXPECT_FALSE(os::exists(directory_ / "feature_predictions/scores.csv"));
}

}  // namespace
}  // namespace coterie::integration
