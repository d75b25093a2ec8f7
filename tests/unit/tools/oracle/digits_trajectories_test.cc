// digits_trajectories.json: five rounds of softmax regression on the built-in digits by 12 algorithms, and the weights
// that a reference simulator in double, which shares no code with this one, ends at. What ships comes to the same.
#include <gtest/gtest.h>

#include "device_sdk/runtime/model_builder.h"
#include "tests/support/matchers.h"
#include "tests/unit/tools/oracle/oracle_federation.h"
#include "tests/unit/tools/oracle/vector_file.h"
#include "tools/data/digits.h"

namespace coterie::test {
namespace {

using nlohmann::json;

constexpr size_t kPixels = 64, kClasses = 10, kRounds = 5;
constexpr uint32_t kEpochs = 2;

Model softmax_regression() {
  ModelBuilder build("digits", {kPixels}, 1);
  Result<Bytes> file = build.finish(build.dense(build.input(), kClasses));
  EXPECT_OK(file);
  Result<Model> model = Model::load(std::move(*file));
  EXPECT_OK(model);
  return *model;
}

TrainingSettings plain_training() {
  TrainingSettings training;
  training.batch_size = 16;
  training.optimizer.learning_rate = 0.1f;
  return training;
}

// Four of five rows, in the file's order; the fifth is held out.
std::vector<StoredOrder::Row> training_rows() {
  const LabelledImages digits = built_in_digits();
  std::vector<StoredOrder::Row> rows;
  for (size_t i = 0; i < digits.labels.size(); ++i) {
    if (i % 5 == 4) continue;
    StoredOrder::Row row{std::vector<float>(kPixels), 0, digits.labels[i]};
    for (size_t j = 0; j < kPixels; ++j) row.features[j] = static_cast<float>(digits.pixels[i * kPixels + j]) / 16;
    rows.push_back(std::move(row));
  }
  return rows;
}

class DigitsTrajectories : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<json> file = read_vectors("digits_trajectories.json");
    if (!file) GTEST_SKIP() << "no reference at " COTERIE_AGGREGATION_VECTORS;
    file_ = *file;
  }

  std::vector<OracleDevice> devices(Weights weights, const std::vector<uint32_t>& epochs = {}) const {
    const std::vector<StoredOrder::Row> rows = training_rows();
    EXPECT_EQ(rows.size(), 1438u);
    std::vector<OracleDevice> all;
    for (const json& own : file_["clients"]) {
      OracleDevice device;
      for (const size_t row : own) device.rows.push_back(rows.at(row));
      device.weight = weights == Weights::examples ? static_cast<uint32_t>(device.rows.size()) : 1;
      device.epochs = epochs.empty() ? kEpochs : epochs.at(all.size());
      all.push_back(std::move(device));
    }
    return all;
  }
  void expect(std::span<const float> weights, const char* key, double error) const {
    const double got = relative_error(weights, file_["results"][key]["weights"]);
    EXPECT_LT(got, error) << key;
    RecordProperty(key, std::to_string(got * 1e6) + "e-6");
  }
  void expect_rounds(const char* key, StrategySettings strategy, double error, Weights weights = Weights::examples,
                     const TrainingSettings& training = plain_training(), const std::vector<uint32_t>& epochs = {},
                     float v_start = 0) const {
    OracleFederation federation(softmax_regression(), training, std::move(strategy), devices(weights, epochs));
    if (v_start > 0) federation.start_state(1, v_start);
    for (size_t round = 0; round < kRounds; ++round) federation.round_of_all();
    expect(federation.weights(), key, error);
  }

  json file_;
};

StrategySettings with(const char* name, std::vector<float> values) {
  StrategySettings settings = StrategySettings::of(name);
  settings.values = std::move(values);
  return settings;
}

TEST_F(DigitsTrajectories, OfServersThatMoveByAMean) {
  expect_rounds("fedavg", with("fedavg", {1}), 1e-6);
  expect_rounds("uniform", with("fedavg", {1}), 1e-6, Weights::uniform);
  expect_rounds("fedavgm", with("fedavgm", {1, .9f}), 1e-6);
}

// They divide by what a mean comes to, so that where it is next to nothing rounding is all of it.
TEST_F(DigitsTrajectories, OfServersThatMoveByWhatAMeanIsAmong) {
  const auto rounds = [&](const char* key, const StrategySettings& strategy, float v_start) {
    expect_rounds(key, strategy, 2e-6, Weights::examples, plain_training(), {}, v_start);
  };
  rounds("fedadam", with("fedadam", {.1f, .9f, .99f, .001f}), 1e-6f);
  rounds("fedadam_v0_zero", with("fedadam", {.1f, .9f, .99f, .001f}), 0);
  rounds("fedadagrad", with("fedadagrad", {.1f, 0, .001f}), 1e-6f);
  rounds("fedlion", with("fedlion", {.01f, .9f, .99f}), 0);
}

TEST_F(DigitsTrajectories, OfDevicesThatCorrectTheirSteps) {
  TrainingSettings prox = plain_training();
  prox.proximal_mu = 1;
  expect_rounds("fedprox_mu1", with("fedavg", {1}), 1e-6, Weights::examples, prox);
  expect_rounds("scaffold_option2", StrategySettings::of("scaffold").with("population_size", 10), 1e-6);
}

TEST_F(DigitsTrajectories, OfDevicesWithEpochsOfTheirOwn) {
  const auto epochs = file_["results"]["fednova_epochs_1_to_5"]["settings"]["epochs"].get<std::vector<uint32_t>>();
  expect_rounds("fedavg_epochs_1_to_5", with("fedavg", {1}), 1e-6, Weights::examples, plain_training(), epochs);
  // The paper's tau_eff is the mean of the steps by examples: a job fixes it beforehand.
  double steps = 0, examples = 0;
  for (const OracleDevice& device : devices(Weights::examples, epochs)) {
    const double own = std::ceil(static_cast<double>(device.rows.size()) / plain_training().batch_size);
    steps += device.weight * own * device.epochs;
    examples += device.weight;
  }
  TrainingSettings nova = plain_training();
  nova.normalised_steps = static_cast<float>(steps / examples);
  expect_rounds("fednova_epochs_1_to_5", with("fedavg", {1}), 1e-6, Weights::examples, nova, epochs);
}

TEST_F(DigitsTrajectories, OfBufferedRounds) {
  constexpr size_t kBuffer = 4;
  const json& result = file_["results"]["fedbuff_k4"];
  OracleFederation federation(softmax_regression(), plain_training(), with("fedavg", {1}), devices(Weights::uniform));
  size_t count = 0;
  for (const json& update : result["schedule_client_version"]) {
    const size_t version = update[1];
    EXPECT_EQ(federation.version() - version, result["staleness"][count]) << count;
    federation.join(update[0], version, {.versions_max = 20, .exponent = 0.5f});
    if (++count % kBuffer == 0) federation.close();
  }
  EXPECT_EQ(count % kBuffer, 0u);
  expect(federation.weights(), "fedbuff_k4", 1e-6);
}

TEST_F(DigitsTrajectories, AreAllCompared) {
  expect_all_named(file_["results"],
                   {"fedavg", "uniform", "fedavgm", "fedadam", "fedadam_v0_zero", "fedadagrad", "fedlion",
                    "fedprox_mu1", "scaffold_option2", "fednova_epochs_1_to_5", "fedavg_epochs_1_to_5", "fedbuff_k4"},
                   {});
}

}  // namespace
}  // namespace coterie::test
