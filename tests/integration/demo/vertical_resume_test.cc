// A job whose processes are killed goes on, and ends with the model that it would have ended with.
#include <sched.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/demo/vertical_job.h"
#include "tests/support/matchers.h"
#include "tools/vertical/manifest.h"
#include "tools/vertical/party_journal.h"

namespace coterie::integration {
namespace {

class VerticalResume : public VerticalCoordinator {
 protected:
  std::unique_ptr<DemoProcess> party(const std::string& name) const {
    return std::make_unique<DemoProcess>(directory_.path(),
                                         std::vector<std::string>{"vertical", "party", "--config", name + ".json"});
  }
  nlohmann::json status() {
    EXPECT_EQ(vertical("status", "label", {"--json"}), 0) << said_;
    return nlohmann::json::parse(said_, nullptr, false);
  }
  static void kill(std::unique_ptr<DemoProcess>& process) {
    process->signal(SIGKILL);
    process->wait();
  }
  Bytes model(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / (name + "_results/model.part"), 1 << 20);
    EXPECT_OK(bytes);
    return bytes ? *bytes : Bytes();
  }
  // Until a party has a checkpoint of so many steps or levels of trees.
  void wait_for_unit(const std::string& name, uint32_t unit) const {
    const std::string results = directory_ / (name + "_results");
    for (;;) {
      ASSERT_FALSE(os::exists(results + "/journal/model")) << "it was over before";
      for (const char* file : {"/journal/training.0", "/journal/training.1"}) {
        // Replaced whole; behind the file's magic comes their number.
        const Result<Bytes> bytes = os::read_file(results + file, 1 << 20);
        if (!bytes || bytes->size() < 8) continue;
        if (((*bytes)[4] | uint32_t{(*bytes)[5]} << 8) >= unit) return;
      }
      ::sched_yield();
    }
  }
  void copy(const std::string& from, const std::string& to) const {
    std::vector<std::string> names = {"jobs"};
    for (const std::string& party : parties()) names.push_back(party + "_results");
    for (const std::string& name : names) {
      std::filesystem::remove_all(directory_ / (to + name));
      std::filesystem::copy(directory_ / (from + name), directory_ / (to + name),
                            std::filesystem::copy_options::recursive);
    }
  }
};

class VerticalRegressionResume : public VerticalResume {
 protected:
  void change(VerticalManifest& manifest) const override {
    manifest.model = VerticalModel::logistic;
    manifest.logistic = {.epochs = 100, .batch = 16, .rate = 0.1};
  }
};

TEST_F(VerticalRegressionResume, EndsWithTheSameModelWhoeverIsKilled) {
  auto coordinator = start_coordinator();
  submit_and_approve();
  auto label = party("label"), feature = party("feature");
  ASSERT_TRUE(coordinator->wait_for_path(directory_ / ("jobs/" + to_hex(kJob) + ".dealer"))) << label->errors();
  for (auto* process : {&label, &feature, &coordinator}) kill(*process);
  ASSERT_TRUE(os::make_directories(directory_ / "saved"));
  copy("", "saved/");

  // From here once without a break,
  coordinator = start_coordinator();
  label = party("label"), feature = party("feature");
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_EQ(status()["state"], "done");
  const Bytes label_model = model("label"), feature_model = model("feature");
  EXPECT_FALSE(os::exists(directory_ / "label_results/journal/run")) << "nothing secret is left";
  EXPECT_FALSE(os::exists(directory_ / "feature_results/journal/run"));
  EXPECT_FALSE(os::exists(directory_ / ("jobs/" + to_hex(kJob) + ".dealer")));
  kill(coordinator);

  // and once while each in turn is killed and started again, and an operator pauses it.
  copy("saved/", "");
  coordinator = start_coordinator();
  label = party("label"), feature = party("feature");
  wait_for_unit("feature", 48);
  kill(feature);
  feature = party("feature");
  wait_for_unit("label", 96);
  kill(label);
  label = party("label");
  wait_for_unit("feature", 144);
  kill(coordinator);
  ASSERT_TRUE(label->wait_for("waiting to go on")) << label->errors() << label->output();
  ASSERT_TRUE(feature->wait_for("waiting to go on")) << feature->errors() << feature->output();
  coordinator = start_coordinator();
  wait_for_unit("label", 192);
  ASSERT_EQ(vertical("pause", "feature"), 0) << said_;
  const nlohmann::json paused = status();
  EXPECT_EQ(paused["state"], "paused");
  EXPECT_EQ(paused["reason"], "feature_party_paused");
  EXPECT_EQ(paused["feature_party"]["paused"], true);
  EXPECT_EQ(vertical("resume", "label"), 0) << said_;
  EXPECT_EQ(status()["state"], "paused") << "it is not the label party's to resume";
  EXPECT_EQ(vertical("resume", "feature"), 0) << said_;
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_NE(label->output().find("goes on behind step"), std::string::npos) << label->output();
  EXPECT_EQ(status()["state"], "done");
  EXPECT_EQ(to_hex(model("label")), to_hex(label_model));
  EXPECT_EQ(to_hex(model("feature")), to_hex(feature_model));

  // Whatever watches over the process may start it once more: its results are there.
  EXPECT_EQ(vertical("party", "label"), 0) << said_;
  EXPECT_NE(said_.find("the job is done"), std::string::npos) << said_;
  EXPECT_FALSE(os::exists(directory_ / "label_results/journal/run"));
  EXPECT_EQ(to_hex(model("label")), to_hex(label_model));
}

class VerticalRingResume : public VerticalResume {
 protected:
  std::vector<std::string> parties() const override { return {"label", "feature", "third"}; }
  void change(VerticalManifest& manifest) const override {
    manifest.matching.bucket_items = 8;
    manifest.trees.rounds = 8;
    manifest.trees.depth = 2;
  }

  void expect_same_models() {
    auto coordinator = start_coordinator();
    submit_and_approve();
    auto label = party("label"), feature = party("feature"), third = party("third");
    // Within the matching, which begins anew.
    ASSERT_TRUE(third->wait_for_path(directory_ / "third_results/journal/heard")) << third->errors();
    kill(third);
    third = party("third");
    wait_for_unit("third", 1);
    for (auto* process : {&label, &feature, &third, &coordinator}) kill(*process);
    ASSERT_TRUE(os::make_directories(directory_ / "saved"));
    copy("", "saved/");

    coordinator = start_coordinator();
    label = party("label"), feature = party("feature"), third = party("third");
    for (auto* process : {&label, &feature, &third}) ASSERT_EQ((*process)->wait(), 0) << (*process)->errors();
    EXPECT_EQ(status()["state"], "done");
    EXPECT_EQ(status()["feature_party_2"]["done"], true);
    std::map<std::string, Bytes> models;
    for (const std::string& name : parties()) models[name] = model(name);
    kill(coordinator);

    copy("saved/", "");
    coordinator = start_coordinator();
    label = party("label"), feature = party("feature"), third = party("third");
    wait_for_unit("feature", 3);
    kill(third);
    third = party("third");
    wait_for_unit("third", 4);
    kill(label);
    label = party("label");
    wait_for_unit("label", 5);
    kill(coordinator);
    for (auto* process : {&label, &feature, &third}) {
      ASSERT_TRUE((*process)->wait_for("waiting to go on")) << (*process)->errors();
    }
    coordinator = start_coordinator();
    for (auto* process : {&label, &feature, &third}) ASSERT_EQ((*process)->wait(), 0) << (*process)->errors();
    EXPECT_EQ(status()["state"], "done");
    for (const std::string& name : parties()) EXPECT_EQ(to_hex(model(name)), to_hex(models[name])) << name;
  }
};

TEST_F(VerticalRingResume, ThreePartiesEndWithTheSameModelWhoeverIsKilled) { expect_same_models(); }

class VerticalSampledRingResume : public VerticalRingResume {
 protected:
  void change(VerticalManifest& manifest) const override {
    VerticalRingResume::change(manifest);
    manifest.trees.label_party_first = true;
    manifest.trees.goss = {.top_rate = 0.3, .other_rate = 0.3};
  }
};

TEST_F(VerticalSampledRingResume, ThreePartiesEndWithTheSameModelWhoeverIsKilled) { expect_same_models(); }

TEST_F(VerticalRegressionResume, AJournalServesTheSameTableAlone) {
  auto coordinator = start_coordinator();
  submit_and_approve();
  auto label = party("label"), feature = party("feature");
  wait_for_unit("feature", 16);
  kill(feature);
  const Result<Bytes> table = os::read_file(directory_ / "feature.csv", 1 << 20);
  ASSERT_OK(table);
  write("feature.csv", std::string(as_text(*table)) + "another,3\n");
  EXPECT_EQ(vertical("party", "feature"), 1);
  EXPECT_NE(said_.find("journal_differs"), std::string::npos) << said_;
  write("feature.csv", std::string(as_text(*table)));
  // A party that has lost its journal is another one.
  std::filesystem::remove_all(directory_ / "feature_results/journal");
  EXPECT_EQ(vertical("party", "feature"), 1);
  EXPECT_EQ(label->wait(), 1);
  EXPECT_NE(label->errors().find("journal_differs"), std::string::npos) << label->errors();
  EXPECT_EQ(status()["reason"], "journal_differs");
}

// One job's file in the coordinator's folder is damaged: that job fails by name, and the coordinator stays.
TEST_F(VerticalRegressionResume, AJobWhoseDealingIsDamagedFailsAlone) {
  auto coordinator = start_coordinator();
  submit_and_approve();
  write("jobs/" + to_hex(kJob) + ".dealer", "short");
  auto label = party("label"), feature = party("feature");
  EXPECT_EQ(label->wait(), 1);
  EXPECT_EQ(feature->wait(), 1);
  EXPECT_NE(label->errors().find("job is over: failed (dealer_lost)"), std::string::npos) << label->errors();
  EXPECT_EQ(status()["reason"], "dealer_lost");
  EXPECT_FALSE(os::exists(directory_ / "label_results/journal/run"));
}

TEST_F(VerticalResume, TreesGoOnBehindTheirMatching) {
  auto coordinator = start_coordinator();
  submit_and_approve();
  auto label = party("label"), feature = party("feature");
  ASSERT_TRUE(feature->wait_for_path(directory_ / "feature_results/journal/matching"));
  kill(feature);
  ASSERT_TRUE(label->wait_for("waiting to go on")) << label->errors() << label->output();
  feature = party("feature");
  EXPECT_EQ(label->wait(), 0) << label->errors();
  EXPECT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_NE(feature->output().find("matching: done before"), std::string::npos) << feature->output();
  EXPECT_EQ(status()["state"], "done");
  EXPECT_FALSE(model("label").empty() || model("feature").empty());
}

// Trainings whose every meeting draws other keys, which change no model.
class VerticalKeysResume : public VerticalResume {
 protected:
  void write_tables(int people, int threshold) const {
    std::string label = "id,label,x\n", feature = "id,y\n";
    for (int i = 0; i < people; ++i) {
      const std::string id = "p" + std::to_string(i);
      const int x = i * 37 % 61, y = i * 23 % 59;
      label += id + "," + std::to_string(2 * y + x > threshold && i % 9 != 0) + "," + std::to_string(x) + "\n";
      feature += id + "," + std::to_string(y) + "\n";
    }
    write("label.csv", label);
    write("feature.csv", feature);
  }

  // The feature party, the label party and the coordinator die in turn, behind so many units.
  void expect_same_model(const std::array<uint32_t, 3>& units, const std::string& unit_name) {
    auto coordinator = start_coordinator();
    submit_and_approve();
    auto label = party("label"), feature = party("feature");
    ASSERT_TRUE(label->wait_for_path(directory_ / "label_results/journal/matching")) << label->errors();
    ASSERT_TRUE(feature->wait_for_path(directory_ / "feature_results/journal/matching")) << feature->errors();
    for (auto* process : {&label, &feature, &coordinator}) kill(*process);
    ASSERT_TRUE(os::make_directories(directory_ / "saved"));
    copy("", "saved/");

    coordinator = start_coordinator();
    label = party("label"), feature = party("feature");
    ASSERT_EQ(label->wait(), 0) << label->errors();
    ASSERT_EQ(feature->wait(), 0) << feature->errors();
    const Bytes label_model = model("label"), feature_model = model("feature");
    kill(coordinator);

    // The rows are in the same order.
    copy("saved/", "");
    coordinator = start_coordinator();
    label = party("label"), feature = party("feature");
    wait_for_unit("feature", units[0]);
    kill(feature);
    feature = party("feature");
    wait_for_unit("label", units[1]);
    kill(label);
    label = party("label");
    wait_for_unit("feature", units[2]);
    kill(coordinator);
    ASSERT_TRUE(label->wait_for("waiting to go on")) << label->errors() << label->output();
    ASSERT_TRUE(feature->wait_for("waiting to go on")) << feature->errors() << feature->output();
    coordinator = start_coordinator();
    ASSERT_EQ(label->wait(), 0) << label->errors();
    ASSERT_EQ(feature->wait(), 0) << feature->errors();
    EXPECT_NE(label->output().find("goes on behind " + unit_name), std::string::npos) << label->output();
    EXPECT_EQ(status()["state"], "done");
    EXPECT_EQ(to_hex(model("label")), to_hex(label_model));
    EXPECT_EQ(to_hex(model("feature")), to_hex(feature_model));
  }
};

// The secret order decides between splits that gain the same, and each run has another: none gain the same here.
class VerticalTreesResume : public VerticalKeysResume {
 protected:
  void SetUp() override {
    VerticalKeysResume::SetUp();
    write_tables(60, 70);
  }
  void change(VerticalManifest& manifest) const override {
    manifest.trees.rounds = 5;
    manifest.trees.depth = 2;
  }
};

TEST_F(VerticalTreesResume, EndsWithTheSameModelWhoeverIsKilled) {
  // Within the first tree, behind the second one, and within the fourth.
  expect_same_model({1, 4, 7}, "level");
}

class VerticalExactResume : public VerticalKeysResume {
 protected:
  void SetUp() override {
    VerticalKeysResume::SetUp();
    write_tables(130, 90);  // some 104 are trained on, and one column needs 81
  }
  void change(VerticalManifest& manifest) const override {
    manifest.model = VerticalModel::logistic;
    manifest.mode = RegressionMode::exact;
    manifest.logistic = {.epochs = 40, .batch = 1024, .rate = 0.5};
  }
};

TEST_F(VerticalExactResume, EndsWithTheSameModelWhoeverIsKilled) { expect_same_model({4, 8, 16}, "step"); }

// A matching of some ninety buckets, and a training that takes no time.
class VerticalMatchingResume : public VerticalResume {
 protected:
  void SetUp() override {
    VerticalResume::SetUp();
    std::string label = "id,label,x\n", feature = "id,y\n";
    for (int i = 0; i < 3'000; ++i) {
      const std::string id = "p" + std::to_string(i);
      label += id + "," + std::to_string(i % 2) + "," + std::to_string(i * 37 % 61) + "\n";
      feature += id + "," + std::to_string(i * 23 % 59) + "\n";
    }
    write("label.csv", label);
    write("feature.csv", feature);
  }
  void change(VerticalManifest& manifest) const override {
    manifest.matching.bucket_items = 32;
    manifest.model = VerticalModel::split;
    manifest.split = {.hidden = 2, .cut = 2, .top = 2, .epochs = 1, .batch = 512};
  }
  // Until what a party has matched in buckets takes so many bytes.
  void wait_for_buckets(const std::string& name, uint64_t bytes) const {
    const std::string results = directory_ / (name + "_results");
    for (;;) {
      for (const char* file : {"/journal/matching", "/report.json"}) {
        ASSERT_FALSE(os::exists(results + file)) << "it was over before";
      }
      const Result<Bytes> buckets = os::read_file(results + "/journal/buckets", 1 << 20);
      if (buckets && buckets->size() >= bytes) return;
      ::sched_yield();
    }
  }
};

TEST_F(VerticalMatchingResume, EndsWithTheSameModelWhoeverIsKilled) {
  auto coordinator = start_coordinator();
  submit_and_approve();
  auto label = party("label"), feature = party("feature");
  wait_for_buckets("feature", 1);
  for (auto* process : {&label, &feature, &coordinator}) kill(*process);
  ASSERT_TRUE(os::make_directories(directory_ / "saved"));
  copy("", "saved/");

  coordinator = start_coordinator();
  label = party("label"), feature = party("feature");
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_NE(label->output().find("matching: goes on behind bucket"), std::string::npos) << label->output();
  const Bytes label_model = model("label"), feature_model = model("feature");
  kill(coordinator);

  copy("saved/", "");
  coordinator = start_coordinator();
  label = party("label"), feature = party("feature");
  wait_for_buckets("feature", 1'500);
  kill(feature);
  feature = party("feature");
  wait_for_buckets("label", 3'000);
  kill(label);
  label = party("label");
  wait_for_buckets("feature", 4'500);
  kill(coordinator);
  ASSERT_TRUE(label->wait_for("waiting to go on")) << label->errors() << label->output();
  ASSERT_TRUE(feature->wait_for("waiting to go on")) << feature->errors() << feature->output();
  coordinator = start_coordinator();
  ASSERT_EQ(label->wait(), 0) << label->errors();
  ASSERT_EQ(feature->wait(), 0) << feature->errors();
  EXPECT_EQ(to_hex(model("label")), to_hex(label_model));
  EXPECT_EQ(to_hex(model("feature")), to_hex(feature_model));
}

}  // namespace
}  // namespace coterie::integration
