// Five rounds of federated training, compared with the weights of a reference simulator that shares no code with this
// one. The devices' side is written out here in double; the server's side is the strategy.
//
// The reference lies beside the repository (COTERIE_AGGREGATION_VECTORS); without it the test is skipped.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "aggregation/strategy/strategy_settings.h"
#include "tools/data/digits.h"

namespace coterie {
namespace {

constexpr size_t kPixels = 64, kClasses = 10, kWeights = kPixels * kClasses + kClasses;
constexpr size_t kRounds = 5, kEpochs = 2, kBatch = 16;
constexpr double kRate = 0.1;
using Weights = std::vector<double>;  // [pixel][class], then the biases

struct Example {
  std::array<double, kPixels> pixels;
  size_t label;
};

// Four of five rows, in the file's order; the fifth is held out.
std::vector<Example> training_examples() {
  const LabelledImages digits = built_in_digits();
  std::vector<Example> examples;
  for (size_t i = 0; i < digits.labels.size(); ++i) {
    if (i % 5 == 4) continue;
    Example example{{}, static_cast<size_t>(digits.labels[i])};
    for (size_t j = 0; j < kPixels; ++j) example.pixels[j] = digits.pixels[i * kPixels + j] / 16.0;
    examples.push_back(example);
  }
  return examples;
}

// Gradient of softmax cross entropy, averaged over the batch, subtracted at kRate.
void step(std::span<const Example* const> batch, Weights& w) {
  Weights gradient(kWeights);
  for (const Example* example : batch) {
    std::array<double, kClasses> p{};
    double top = -INFINITY, sum = 0;
    for (size_t c = 0; c < kClasses; ++c) {
      p[c] = w[kPixels * kClasses + c];
      for (size_t i = 0; i < kPixels; ++i) p[c] += example->pixels[i] * w[i * kClasses + c];
      top = std::max(top, p[c]);
    }
    for (double& value : p) sum += value = std::exp(value - top);
    for (size_t c = 0; c < kClasses; ++c) {
      const double error = p[c] / sum - (c == example->label ? 1 : 0);
      for (size_t i = 0; i < kPixels; ++i) gradient[i * kClasses + c] += error * example->pixels[i];
      gradient[kPixels * kClasses + c] += error;
    }
  }
  for (size_t i = 0; i < kWeights; ++i) w[i] -= kRate * gradient[i] / static_cast<double>(batch.size());
}

Weights trained(Weights w, const std::vector<const Example*>& own) {
  for (size_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (size_t at = 0; at < own.size(); at += kBatch) {
      step(std::span(own).subspan(at, std::min(kBatch, own.size() - at)), w);
    }
  }
  return w;
}

// The global model after kRounds, by examples.
std::vector<float> federated(const StrategySettings& strategy, const std::vector<std::vector<const Example*>>& clients,
                             double v_start) {
  std::vector<float> weights(kWeights);
  std::vector<std::vector<float>> state(strategy.rule->state_vectors, std::vector<float>(kWeights));
  if (state.size() == 2) state[1].assign(kWeights, static_cast<float>(v_start));
  std::vector<std::span<float>> carried(state.begin(), state.end());
  for (size_t round = 0; round < kRounds; ++round) {
    std::vector<double> sum(kWeights);
    size_t examples = 0;
    for (const std::vector<const Example*>& own : clients) {
      const Weights after = trained(Weights(weights.begin(), weights.end()), own);
      examples += own.size();
      for (size_t i = 0; i < kWeights; ++i) {
        sum[i] += static_cast<double>(own.size()) * (after[i] - static_cast<double>(weights[i]));
      }
    }
    std::vector<float> mean(kWeights);
    for (size_t i = 0; i < kWeights; ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(examples));
    strategy.rule->apply({.mean = mean, .settings = strategy.values, .state = carried, .weights = weights});
  }
  return weights;
}

TEST(DigitsTrajectories, EndAtTheWeightsOfTheReference) {
  std::ifstream file(COTERIE_AGGREGATION_VECTORS "/digits_trajectories.json");
  if (!file) GTEST_SKIP() << "no reference at " COTERIE_AGGREGATION_VECTORS;
  const nlohmann::json reference = nlohmann::json::parse(file);
  const std::vector<Example> examples = training_examples();
  ASSERT_EQ(examples.size(), 1438u);
  std::vector<std::vector<const Example*>> clients;
  for (const auto& rows : reference["clients"]) {
    clients.emplace_back();
    for (const size_t row : rows) clients.back().push_back(&examples.at(row));
  }
  const auto with = [](const char* name, std::vector<float> values) {
    StrategySettings settings = StrategySettings::of(name);
    settings.values = std::move(values);
    return settings;
  };
  struct Row {
    const char* result;
    StrategySettings strategy;
    double v_start;
  };
  const Row rows[] = {{"fedavg", with("fedavg", {1}), 0},
                      {"fedavgm", with("fedavgm", {1, .9f}), 0},
                      {"fedadam", with("fedadam", {.1f, .9f, .99f, .001f}), 1e-6},
                      {"fedadam_v0_zero", with("fedadam", {.1f, .9f, .99f, .001f}), 0},
                      {"fedadagrad", with("fedadagrad", {.1f, 0, .001f}), 1e-6},
                      {"fedlion", with("fedlion", {.01f, .9f, .99f}), 0}};
  for (const Row& row : rows) {
    const std::vector<double> expected = reference["results"][row.result]["weights"];
    const std::vector<float> got = federated(row.strategy, clients, row.v_start);
    double worst = 0, size = 0;
    for (size_t i = 0; i < kWeights; ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - expected[i]));
      size = std::max(size, std::abs(expected[i]));
    }
    EXPECT_LT(worst, 2e-5 * size) << row.result;
    RecordProperty(row.result, std::to_string(worst / size));
  }
}

}  // namespace
}  // namespace coterie
