// A prediction with the parts of a model that two parties trained before: the scores are the training's own.
#include <algorithm>
#include <map>
#include <sstream>

#include "tests/integration/demo/demo_process.h"
#include "tests/integration/demo/vertical_job.h"
#include "tests/support/matchers.h"
#include "tools/vertical/manifest.h"

namespace coterie::integration {
namespace {

class VerticalPredict : public VerticalCoordinator {
 protected:
  std::string text_of(const std::string& name) const {
    const Result<Bytes> bytes = os::read_file(directory_ / name, 1 << 20);
    EXPECT_OK(bytes);
    return bytes ? std::string(as_text(*bytes)) : std::string();
  }
  nlohmann::json config_of(const std::string& party) const { return nlohmann::json::parse(text_of(party + ".json")); }

  void run_job(const std::string& command, const std::string& label, const std::string& feature) {
    ASSERT_EQ(vertical("submit", label), 0) << said_;
    ASSERT_EQ(vertical("approve", label), 0) << said_;
    ASSERT_EQ(vertical("approve", feature), 0) << said_;
    DemoProcess other(directory_.path(), {"vertical", command, "--config", feature + ".json"});
    EXPECT_EQ(vertical(command, label), 0) << said_;
    EXPECT_EQ(other.wait(), 0) << other.errors();
  }

  // The prediction's manifest and both parties' configurations, predict_label.json and predict_feature.json.
  void write_prediction(VerticalModel model) {
    VerticalManifest manifest{.job = {}, .matching = {}, .parties = {"label", "feature"}, .model = model};
    manifest.job[0] = 10;
    manifest.matching.intersection_min = 10;
    manifest.predicts = manifest_digest(manifest_);
    const std::string text = write_manifest(manifest);
    write("prediction.json", text);
    for (const std::string party : {"label", "feature"}) {
      nlohmann::json config = config_of(party);
      config["manifest"] = "prediction.json";
      config["approved"] = manifest_digest(text).hex();
      config["model"] = party + "_results/model.part";
      config["table"] = "new_" + party + ".csv";
      config["out"] = party + "_predictions";
      write("predict_" + party + ".json", config.dump());
    }
    // The same people and more, without labels; the columns in another order, and one that the model does not know.
    std::string label = "x,id,other\n", feature = "id,y\n";
    for (int i = 0; i < 80; ++i) {
      const std::string id = "p" + std::to_string(i);
      label += std::to_string(i) + "," + id + ",5\n";
      if (i % 10 != 9) feature += id + "," + std::to_string(i % 7) + "\n";
    }
    write("new_label.csv", label);
    write("new_feature.csv", feature);
  }

  // Rows of a file of scores, by id.
  std::map<std::string, std::string> scores_in(const std::string& name, size_t fields) const {
    std::map<std::string, std::string> scores;
    std::istringstream lines(text_of(name));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      EXPECT_EQ(std::ranges::count(line, ','), static_cast<long>(fields) - 1) << line;
      scores[line.substr(0, line.find(','))] = line.substr(line.rfind(',') + 1);
    }
    return scores;
  }

  void expect_the_trainings_scores() const {
    const auto trained = scores_in("label_results/scores.csv", 3),
               predicted = scores_in("label_predictions/scores.csv", 2);
    EXPECT_EQ(predicted.size(), 72u) << "all whom both tables have";
    size_t compared = 0;
    for (const auto& [id, score] : trained) {
      const auto found = predicted.find(id);
      if (found == predicted.end()) continue;
      EXPECT_EQ(found->second, score) << id;
      ++compared;
    }
    EXPECT_GE(compared, 5u);
    EXPECT_FALSE(os::exists(directory_ / "feature_predictions/scores.csv"));
    EXPECT_FALSE(os::exists(directory_ / "label_predictions/model.part"));
    EXPECT_FALSE(os::exists(directory_ / "label_predictions/journal/run"));
    const auto ledger = nlohmann::json::parse(text_of("label_predictions/ledger.json"));
    EXPECT_EQ(nlohmann::json::parse(text_of("feature_predictions/ledger.json")), ledger);
    ASSERT_EQ(ledger.size(), 2u);
    EXPECT_EQ(ledger[0]["id"], "L1");
    EXPECT_EQ(ledger[1]["feature_party_learns"], "which 72 people are scored");
  }

  // The exit status of a party whose configuration has another value.
  int predict_with(const std::string& party, const char* key, const nlohmann::json& value) {
    nlohmann::json config = config_of("predict_" + party);
    config[key] = value;
    if (value.is_null()) config.erase(key);
    write("changed.json", config.dump());
    return vertical("predict", "changed");
  }
};

TEST_F(VerticalPredict, TreesGiveTheTrainingsOwnScores) {
  auto coordinator = start_coordinator();
  run_job("party", "label", "feature");
  write_prediction(VerticalModel::trees);
  run_job("predict", "predict_label", "predict_feature");
  expect_the_trainings_scores();

  // What does not fit is said by name, before anybody is called.
  EXPECT_EQ(vertical("party", "predict_label"), 2);
  EXPECT_NE(said_.find("kind_differs"), std::string::npos) << said_;
  EXPECT_EQ(vertical("predict", "label"), 2);
  EXPECT_NE(said_.find("kind_differs"), std::string::npos) << said_;
  EXPECT_EQ(predict_with("label", "model", nullptr), 2);
  EXPECT_NE(said_.find("model_missing"), std::string::npos) << said_;
  EXPECT_EQ(predict_with("label", "model", "feature_results/model.part"), 1) << "the other party's part";
  EXPECT_NE(said_.find("model_differs"), std::string::npos) << said_;
  EXPECT_EQ(predict_with("label", "out", "label_results"), 1) << "where the training's results are";
  EXPECT_NE(said_.find("out_in_use"), std::string::npos) << said_;
  EXPECT_EQ(predict_with("label", "table", "new_feature.csv"), 2);
  EXPECT_NE(said_.find("columns_differ"), std::string::npos) << said_;
  EXPECT_NE(said_.find("column x"), std::string::npos) << said_;
}

class VerticalRegressionPredict : public VerticalPredict {
 protected:
  void change(VerticalManifest& manifest) const override {
    manifest.model = VerticalModel::logistic;
    manifest.logistic = {.epochs = 3, .batch = 16, .rate = 0.1};
  }
};

TEST_F(VerticalRegressionPredict, GivesTheTrainingsOwnScores) {
  auto coordinator = start_coordinator();
  run_job("party", "label", "feature");
  write_prediction(VerticalModel::logistic);
  run_job("predict", "predict_label", "predict_feature");
  expect_the_trainings_scores();
}

class VerticalLinearPredict : public VerticalPredict {
 protected:
  // Any numbers as labels.
  void SetUp() override {
    VerticalPredict::SetUp();
    std::string label = "id,label,x\n";
    for (int i = 0; i < 60; ++i) {
      label += "p" + std::to_string(i) + "," + std::to_string(3 * i - 20 * (i % 7)) + ".5," + std::to_string(i) + "\n";
    }
    write("label.csv", label);
  }
  void change(VerticalManifest& manifest) const override { manifest.model = VerticalModel::linear; }
};

TEST_F(VerticalLinearPredict, GivesTheTrainingsOwnScores) {
  auto coordinator = start_coordinator();
  run_job("party", "label", "feature");
  write_prediction(VerticalModel::linear);
  run_job("predict", "predict_label", "predict_feature");
  expect_the_trainings_scores();
}

}  // namespace
}  // namespace coterie::integration
