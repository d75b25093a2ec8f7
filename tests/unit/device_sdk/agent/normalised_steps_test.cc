// FedNova's lengths beside the paper's closed forms, and a round of it on quadratics beside numbers worked out by
// others.
#include "device_sdk/agent/normalised_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace coterie {
namespace {

TrainingSettings settings(float momentum, float rate = 0.1f, float mu = 0) {
  TrainingSettings settings;
  settings.optimizer.momentum = momentum;
  settings.optimizer.learning_rate = rate;
  settings.proximal_mu = mu;
  return settings;
}

ModelGraph graph_of(int64_t parameters, int64_t states) {
  ModelGraph graph;
  graph.tensors.push_back({.name = "w", .role = TensorRole::parameter, .shape = {parameters}});
  graph.tensors.push_back({.name = "s",
                           .role = TensorRole::state,
                           .shape = {states},
                           .payload_offset = static_cast<uint64_t>(parameters) * sizeof(float)});
  return graph;
}

TEST(StepLength, IsThePapers) {
  for (const uint64_t steps : {0u, 1u, 7u, 100u}) {
    EXPECT_EQ(step_length(settings(0), steps), static_cast<double>(steps));
    const double k = static_cast<double>(steps), rho = static_cast<double>(0.9f);
    const double a = (k - rho * (1 - std::pow(rho, k)) / (1 - rho)) / (1 - rho);
    EXPECT_NEAR(step_length(settings(0.9f), steps), a, 1e-9 * (1 + a));
    double sum = 0;
    for (uint64_t j = 0; j < steps; ++j) sum += std::pow(1 - static_cast<double>(0.1f) * 2, static_cast<double>(j));
    EXPECT_NEAR(step_length(settings(0, 0.1f, 2), steps), sum, 1e-9);
  }
  // aggregation_oracle.json, fednova_a1_tau7_rho0.9; the momentum of a job is a float
  EXPECT_NEAR(step_length(settings(0.9f), 7), 23.04672100000001, 1e-5);
}

TEST(NormaliseSteps, ScalesParametersAndNothingElse) {
  TrainingSettings training = settings(0);
  std::vector<float> delta = {10, -20, 3};
  normalise_steps(training, 5, parameter_values(graph_of(2, 1)), delta);
  EXPECT_EQ(delta, (std::vector<float>{10, -20, 3})) << "not asked for";
  training.normalised_steps = 2;
  normalise_steps(training, 5, parameter_values(graph_of(2, 1)), delta);
  EXPECT_EQ(delta, (std::vector<float>{4, -8, 3}));
  normalise_steps(training, 0, parameter_values(graph_of(2, 1)), delta);
  EXPECT_EQ(delta, (std::vector<float>{4, -8, 3})) << "of no steps";
}

// Three quadratics, 10, 30 and 60 examples, 1, 5 and 10 steps at rate 0.1; tau_eff = 7.6 is the mean of the steps by
// examples. aggregation_oracle.json, fednova, is where its rounds end.
TEST(NormaliseSteps, EndsWhereFedNovaDoes) {
  const double a[3][2][2] = {{{1, 0}, {0, 4}}, {{3, 1}, {1, 2}}, {{0.5, 0}, {0, 0.25}}};
  const double c[3][2] = {{1, -2}, {-3, 1}, {4, 4}};
  const double examples[3] = {0.1, 0.3, 0.6};
  const uint64_t steps[3] = {1, 5, 10};
  TrainingSettings training = settings(0);
  training.normalised_steps = 7.6f;
  std::vector<double> x = {0, 0};
  for (int round = 0; round < 500; ++round) {
    std::vector<double> mean = {0, 0};
    for (size_t device = 0; device < 3; ++device) {
      std::vector<double> w = x;
      for (uint64_t step = 0; step < steps[device]; ++step) {
        const double e0 = w[0] - c[device][0], e1 = w[1] - c[device][1];
        w[0] -= 0.1 * (a[device][0][0] * e0 + a[device][0][1] * e1);
        w[1] -= 0.1 * (a[device][1][0] * e0 + a[device][1][1] * e1);
      }
      std::vector<float> delta = {static_cast<float>(w[0] - x[0]), static_cast<float>(w[1] - x[1])};
      normalise_steps(training, steps[device], parameter_values(graph_of(2, 0)), delta);
      for (size_t i = 0; i < 2; ++i) mean[i] += examples[device] * static_cast<double>(delta[i]);
    }
    for (size_t i = 0; i < 2; ++i) x[i] += mean[i];
  }
  EXPECT_NEAR(x[0], -0.3021915713460097, 1e-6);
  EXPECT_NEAR(x[1], -0.1698746688964828, 1e-6);
}

}  // namespace
}  // namespace coterie
