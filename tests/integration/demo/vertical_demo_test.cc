// Two real parties over mutual TLS: the model is the one that one table would have given.
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/os/file.h"
#include "tests/integration/demo/demo_process.h"
#include "tests/integration/demo/vertical_job.h"
#include "tests/support/matchers.h"
#include "tools/vertical/manifest.h"

namespace coterie::integration {
namespace {

class VerticalDemo : public DemoTest {
 protected:
  nlohmann::json file(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / "run/" + name, 1 << 20);
    EXPECT_TRUE(bytes) << name;
    return bytes ? nlohmann::json::parse(as_text(*bytes)) : nlohmann::json();
  }
  // What the coordinator has kept of the job says the same of each stage as the parties do.
  void expect_told_stages(uint32_t training_units) const {
    const nlohmann::json metrics = file("metrics.json");
    const nlohmann::json job = file("coordinator/jobs/" + file("manifest.json")["job"].get<std::string>() + ".job");
    for (const std::string party : {"label_party", "feature_party"}) {
      const nlohmann::json& stages = job[party]["stages"];
      ASSERT_EQ(stages.size(), 3u) << party;
      for (const auto& stage : metrics["stages"]) {
        const nlohmann::json& told = stages[stage["name"].get<std::string>()];
        EXPECT_EQ(told["over"], true) << party;
        EXPECT_EQ(told["sent_bytes"], stage[party + "_bytes_sent"]) << party;
        EXPECT_EQ(told["units"], told["units_all"]) << party;
      }
      EXPECT_EQ(stages["training"]["units_all"], training_units) << party;
    }
    EXPECT_EQ(job["leakage"], file("manifest.json")["leakage_ack"]);
    EXPECT_EQ(job["kind"], file("manifest.json")["kind"]);
  }
};

TEST_F(VerticalDemo, EqualsOneTableAndSaysWhatWasLearned) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--trees", "1", "--bins", "8", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["matched"], 534);
  EXPECT_EQ(metrics["trained"].get<int>() + metrics["held_out"].get<int>(), 534);
  EXPECT_EQ(metrics["scores_equal_to_pooled"], metrics["held_out"]);
  EXPECT_EQ(metrics["together"], metrics["pooled"]);
  EXPECT_GT(metrics["together"]["auc"], 0.9);
  EXPECT_EQ(metrics["stages"].size(), 3u);
  // A ciphertext a trained person went to the feature party.
  EXPECT_GT(metrics["stages"][1]["label_party_bytes_sent"], metrics["trained"].get<int>() * 512);
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kVerticalLeakage[i]);
  EXPECT_EQ(file("label_party/ledger.json"), ledger);
  EXPECT_EQ(file("feature_party/ledger.json"), ledger);
  // The coordinator carried all frames, and what TLS adds.
  EXPECT_EQ(metrics["job_state"], "done");
  int sent = 0;
  for (const auto& stage : metrics["stages"]) sent += stage["label_party_bytes_sent"].get<int>();
  EXPECT_GT(metrics["label_party_bytes_relayed"].get<int>(), sent);
  expect_told_stages(3);  // levels
  EXPECT_NE(demo.output().find("The coordinator carried"), std::string::npos) << demo.output();
  for (const char* name : {"label_party/model.part", "feature_party/model.part", "label_party/scores.csv"}) {
    EXPECT_TRUE(os::exists(directory_ / "run/" + name)) << name;
  }
  EXPECT_FALSE(os::exists(directory_ / "run/certificates"));
  EXPECT_FALSE(os::exists(directory_ / "run/feature_party/scores.csv"));
  EXPECT_NE(demo.output().find("bit for bit"), std::string::npos) << demo.output();
  // A party refuses a manifest that is not the one it approved, before it calls anybody.
  nlohmann::json manifest = file("manifest.json");
  manifest["trees"]["rounds"] = 2;
  ASSERT_TRUE(os::write_file_atomically(directory_ / "run/manifest.json", as_bytes(manifest.dump())));
  DemoProcess party(directory_.path(), {"vertical", "party", "--config", run() + "/feature_party/config.json"});
  EXPECT_EQ(party.wait(), 1);
  EXPECT_NE(party.errors().find("manifest_not_approved"), std::string::npos) << party.errors();
}

TEST_F(VerticalDemo, ASampleOfPeopleEqualsOneTableThatSamplesAlike) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--trees", "2", "--bins", "4", "--goss", "0.1,0.05",
                                       "--cipher", "okamoto_uchiyama", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["scores_equal_to_pooled"], metrics["held_out"]);
  EXPECT_EQ(metrics["goss"]["top_rate"], 0.1);
  EXPECT_EQ(metrics["cipher"], "okamoto_uchiyama");
  // Ciphertexts of 256 bytes of 15 people in a hundred, and little else, for each of two trees.
  EXPECT_LT(metrics["stages"][1]["label_party_bytes_sent"], metrics["trained"].get<int>() * 256 / 2);
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), kSampledTreesLeakage.size());
  for (size_t i = 0; i < ledger.size(); ++i) EXPECT_EQ(ledger[i]["id"], kSampledTreesLeakage[i]);
  EXPECT_TRUE(os::exists(directory_ / "run/label_party/sample.seed"));
  EXPECT_FALSE(os::exists(directory_ / "run/feature_party/sample.seed"));
  for (const char* rates : {"0.8", "0.1,0.2,0.3", "0.8,0.4"}) {
    DemoProcess wrong(directory_.path(), {"vertical", "demo", "--goss", rates});
    EXPECT_EQ(wrong.wait(), 2) << rates;
    EXPECT_NE(wrong.errors().find("goss"), std::string::npos) << wrong.errors();
  }
  expect_told_stages(6);
}

TEST_F(VerticalDemo, ThreePartiesHaveTheScoresOfOneTable) {
  DemoProcess demo(directory_.path(),
                   {"vertical", "demo", "--parties", "3", "--trees", "2", "--bins", "8", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["matched"], 534);
  EXPECT_EQ(metrics["party_ids"], (std::vector<int>{549, 554, 554}));
  EXPECT_EQ(metrics["scores_equal_to_pooled"], metrics["held_out"]);
  EXPECT_EQ(metrics["job_state"], "done");
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kRingTreesLeakage[i]);
  EXPECT_TRUE(ledger[0].contains("coordinator")) << "it compares";
  for (const std::string party : {"label_party", "feature_party", "feature_party_2"}) {
    EXPECT_EQ(file(party + "/ledger.json"), ledger);
    EXPECT_TRUE(os::exists(directory_ / ("run/" + party + "/model.part"))) << party;
    EXPECT_FALSE(os::exists(directory_ / ("run/" + party + "/journal/run"))) << party;
  }
  const nlohmann::json job = file("coordinator/jobs/" + file("manifest.json")["job"].get<std::string>() + ".job");
  EXPECT_GT(job["feature_party_2"]["relayed_bytes"], 0);
  std::istringstream lines(demo.output());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  DemoProcess mixed(directory_.path(), {"vertical", "demo", "--model", "split", "--parties", "3"});
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.errors().find("--parties"), std::string::npos) << mixed.errors();
}

TEST_F(VerticalDemo, ARegressionIsAsGoodAsOneTable) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--model", "logistic", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["model"], "logistic");
  const auto gap = [&metrics](const char* what) {
    return std::abs(metrics["together"][what].get<double>() - metrics["pooled"][what].get<double>());
  };
  EXPECT_LE(gap("log_loss"), 0.003);
  EXPECT_LE(gap("auc"), 0.002);
  EXPECT_LT(metrics["together"]["log_loss"], metrics["label_party_alone"]["log_loss"]);
  // The dealer's words: 200 bytes for each person and epoch to the feature party, 8 to the label party.
  const int trained = metrics["trained"];
  EXPECT_GT(metrics["feature_party_bytes_dealt"].get<int>(), 200 * trained * 200);
  EXPECT_GT(metrics["label_party_bytes_dealt"].get<int>(), 200 * trained * 8);
  EXPECT_EQ(metrics["job_state"], "done");
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kRegressionLeakage[i]);
  EXPECT_TRUE(ledger[1].contains("coordinator"));
  EXPECT_EQ(file("feature_party/ledger.json"), ledger);
  for (const char* name : {"label_party/model.part", "feature_party/model.part", "label_party/scores.csv"}) {
    EXPECT_TRUE(os::exists(directory_ / "run/" + name)) << name;
  }
  EXPECT_FALSE(os::exists(directory_ / "run/feature_party/scores.csv"));
  EXPECT_NE(demo.output().find("It dealt"), std::string::npos) << demo.output();
  // Neither of two parties may deal.
  nlohmann::json alone = file("feature_party/config.json");
  alone.erase("coordinator");
  alone["connect"] = "127.0.0.1:1";
  ASSERT_TRUE(os::write_file_atomically(directory_ / "run/feature_party/config.json", as_bytes(alone.dump())));
  DemoProcess party(directory_.path(), {"vertical", "party", "--config", run() + "/feature_party/config.json"});
  EXPECT_EQ(party.wait(), 2);
  EXPECT_NE(party.errors().find("dealer_missing"), std::string::npos) << party.errors();
  DemoProcess mixed(directory_.path(), {"vertical", "demo", "--model", "logistic", "--trees", "3"});
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.errors().find("--trees"), std::string::npos) << mixed.errors();
}

TEST_F(VerticalDemo, AnExactRegressionHasTheScoresOfOneTableWithoutADealer) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--model", "logistic", "--mode", "exact", "--epochs", "4",
                                       "--rate", "1", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_LE(metrics["score_gap"], 1e-3);
  EXPECT_NEAR(metrics["together"]["log_loss"], metrics["pooled"]["log_loss"], 1e-4);
  EXPECT_NEAR(metrics["together"]["auc"], metrics["pooled"]["auc"], 1e-3);
  EXPECT_LT(metrics["together"]["log_loss"], metrics["label_party_alone"]["log_loss"]);
  expect_told_stages(4);
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kExactLeakage[i]);
  EXPECT_FALSE(metrics.contains("label_party_bytes_dealt"));
  EXPECT_EQ(demo.output().find("It dealt"), std::string::npos) << demo.output();
  // Fewer people a step than 20 columns need: the feature party says so before it calls anybody.
  DemoProcess few(directory_.path(), {"vertical", "demo", "--model", "logistic", "--mode", "exact", "--batch", "411"});
  EXPECT_EQ(few.wait(), 1);
  EXPECT_NE(few.errors().find("expected at least 412"), std::string::npos) << few.errors();
  EXPECT_NE(few.errors().find("batch_reveals_labels"), std::string::npos) << few.errors();
  DemoProcess mixed(directory_.path(), {"vertical", "demo", "--mode", "exact"});
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.errors().find("--mode"), std::string::npos) << mixed.errors();
}

TEST_F(VerticalDemo, ALinearRegressionHasTheScoresOfOneTable) {
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--model", "linear", "--lambda", "0.003", "--out", run()});
  ASSERT_EQ(demo.wait(), 0) << demo.errors() << demo.output();
  const nlohmann::json metrics = file("metrics.json");
  EXPECT_EQ(metrics["model"], "linear");
  EXPECT_LE(metrics["score_gap"], 1e-6);
  expect_told_stages(0);  // one product
  EXPECT_NEAR(metrics["together"]["rmse"], metrics["pooled"]["rmse"], 1e-7);
  EXPECT_LT(metrics["together"]["rmse"], metrics["label_party_alone"]["rmse"]);
  EXPECT_EQ(metrics["job_state"], "done");
  const nlohmann::json ledger = file("ledger.json");
  ASSERT_EQ(ledger.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ledger[i]["id"], kLinearLeakage[i]);
  EXPECT_TRUE(ledger[1].contains("coordinator"));
  EXPECT_EQ(file("feature_party/ledger.json"), ledger);
  EXPECT_EQ(file("manifest.json")["linear"]["lambda"], 0.003);
  DemoProcess mixed(directory_.path(), {"vertical", "demo", "--model", "linear", "--epochs", "3"});
  EXPECT_EQ(mixed.wait(), 2);
  EXPECT_NE(mixed.errors().find("--epochs"), std::string::npos) << mixed.errors();
}

TEST_F(VerticalCoordinator, LeadsAJobOverItsOwnDeath) {
  auto coordinator = start_coordinator();
  ASSERT_EQ(vertical("submit", "label"), 0) << said_;
  coordinator->signal(SIGKILL);
  coordinator->wait();
  coordinator = start_coordinator();
  ASSERT_EQ(vertical("status", "feature", {"--json"}), 0) << said_;
  EXPECT_EQ(nlohmann::json::parse(said_)["state"], "created");

  ASSERT_EQ(vertical("approve", "label"), 0) << said_;
  EXPECT_EQ(vertical("party", "label"), 1);
  EXPECT_NE(said_.find("not_approved"), std::string::npos) << said_;
  ASSERT_EQ(vertical("approve", "feature"), 0) << said_;
  DemoProcess feature(directory_.path(), {"vertical", "party", "--config", "feature.json"});
  EXPECT_EQ(vertical("party", "label"), 0) << said_;
  EXPECT_EQ(feature.wait(), 0) << feature.errors();
  EXPECT_TRUE(os::exists(directory_ / "label_results/scores.csv"));

  ASSERT_EQ(vertical("status", "label", {"--json"}), 0) << said_;
  const nlohmann::json job = nlohmann::json::parse(said_);
  EXPECT_EQ(job["state"], "done");
  EXPECT_GT(job["label_party"]["relayed_bytes"], 0);
  EXPECT_EQ(vertical("cancel", "label"), 1);
  EXPECT_NE(said_.find("job_over"), std::string::npos) << said_;
  coordinator->signal(SIGTERM);
  EXPECT_EQ(coordinator->wait(), 130) << coordinator->errors();
}

TEST_F(VerticalDemo, NamesTheLineOfABadTable) {
  ASSERT_TRUE(os::write_file_atomically(directory_ / "l.csv", as_bytes("id,x,label\na,1,1\nb,one,0\n")));
  DemoProcess demo(directory_.path(), {"vertical", "demo", "--label-table", "l.csv", "--feature-table", "l.csv"});
  EXPECT_EQ(demo.wait(), 2);
  EXPECT_NE(demo.errors().find("l.csv: line 3, column x"), std::string::npos) << demo.errors();
  EXPECT_FALSE(os::exists(directory_ / "runs"));
}

}  // namespace
}  // namespace coterie::integration
