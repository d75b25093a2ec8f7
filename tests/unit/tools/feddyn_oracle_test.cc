// FedDyn on three quadratics whose optimum is known in closed form: the server's row, and the device's state, each as
// it ships, around local problems that are solved exactly, in double.
//
// Device i has f_i(w) = 1/2 (w - c_i)' A_i (w - c_i), and minimises f_i(w) - <h, w> + alpha / 2 |w - given|^2. FedAvg
// with exact local solutions ends at the mean of the c_i; FedDyn at the optimum of the mean of the f_i
// (aggregation_oracle.json: uniform_optimum, feddyn_exact_a0.5).
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "aggregation/strategy/strategy_settings.h"
#include "base/random.h"
#include "device_sdk/agent/drift_state.h"
#include "tools/simulate/device_states.h"

namespace coterie {
namespace {

constexpr size_t kDevices = 3;
constexpr std::array<double, 2> kOptimum = {-0.8571428571428571, -1.1428571428571428};
constexpr double kA[kDevices][2][2] = {{{1, 0}, {0, 4}}, {{3, 1}, {1, 2}}, {{0.5, 0}, {0, 0.25}}};
constexpr double kC[kDevices][2] = {{1, -2}, {-3, 1}, {4, 4}};
constexpr float kAlpha = 0.5f;

ModelGraph two_values() {
  ModelGraph graph;
  graph.tensors.push_back({.name = "w", .role = TensorRole::parameter, .shape = {2}});
  return graph;
}

// (A + alpha) w = A c + h + alpha given
std::vector<float> local_delta(size_t device, std::span<const float> given, const std::vector<float>& h) {
  const auto& a = kA[device];
  const double alpha = static_cast<double>(kAlpha);
  double right[2];
  for (size_t i = 0; i < 2; ++i) {
    right[i] = a[i][0] * kC[device][0] + a[i][1] * kC[device][1] + alpha * static_cast<double>(given[i]) +
               (h.empty() ? 0 : static_cast<double>(h[i]));
  }
  const double p = a[0][0] + alpha, q = a[0][1], r = a[1][0], s = a[1][1] + alpha, det = p * s - q * r;
  return {static_cast<float>((s * right[0] - q * right[1]) / det - static_cast<double>(given[0])),
          static_cast<float>((p * right[1] - r * right[0]) / det - static_cast<double>(given[1]))};
}

struct World {
  StrategySettings strategy = StrategySettings::of("feddyn").with("alpha", kAlpha).with("population_size", kDevices);
  ModelGraph graph = two_values();
  std::vector<float> weights = {0, 0}, drift = {0, 0};
  DeviceStates states;

  // A round of these devices; the updates of `lost` never arrive. `early_commit`: a device keeps its new state as soon
  // as it has trained.
  void round(const std::set<uint32_t>& drawn, const std::set<uint32_t>& lost = {}, bool early_commit = false) {
    const DriftCorrection correction{CorrectionKind::feddyn, kAlpha};
    std::vector<double> sum = {0, 0};
    uint64_t counted = 0;
    for (const uint32_t device : drawn) {
      const std::vector<float> h = states.of(device);
      const std::vector<float> delta = local_delta(device, weights, h);
      const bool is_lost = lost.contains(device);
      if (!is_lost || early_commit) states.stage(device, next_state(correction, parameter_values(graph), h, delta));
      if (is_lost) continue;
      ++counted;
      for (size_t i = 0; i < 2; ++i) sum[i] += static_cast<double>(delta[i]);
    }
    states.commit();
    if (counted == 0) return;
    const std::vector<float> mean = {static_cast<float>(sum[0] / static_cast<double>(counted)),
                                     static_cast<float>(sum[1] / static_cast<double>(counted))};
    const std::array<std::span<float>, 1> state = {std::span(drift)};
    strategy.rule->apply(
        {.mean = mean, .settings = strategy.values, .state = state, .weights = weights, .updates = counted});
  }
  // How far the server's state is from the mean of the devices' own: 0 but for rounding.
  double mismatch() const {
    double worst = 0;
    for (size_t i = 0; i < 2; ++i) {
      double mean = 0;
      for (uint32_t device = 0; device < kDevices; ++device) {
        const std::vector<float> h = states.of(device);
        mean += h.empty() ? 0 : static_cast<double>(h[i]) / kDevices;
      }
      worst = std::max(worst, std::abs(mean + static_cast<double>(kAlpha) * static_cast<double>(drift[i])));
    }
    return worst;
  }
  double distance() const {
    return std::hypot(static_cast<double>(weights[0]) - kOptimum[0], static_cast<double>(weights[1]) - kOptimum[1]);
  }
};

TEST(FedDynOracle, EndsAtTheOptimumOfTheMeanOfAllProblems) {
  World world;
  for (int round = 0; round < 400; ++round) world.round({0, 1, 2});
  EXPECT_NEAR(world.weights[0], kOptimum[0], 1e-6 * 1.5);
  EXPECT_NEAR(world.weights[1], kOptimum[1], 1e-6 * 1.5);
  EXPECT_LT(world.mismatch(), 1e-5);
}

// FedAvg's end, with the same local solutions, is elsewhere.
TEST(FedDynOracle, IsAnotherEndThanWithoutState) {
  World world;
  world.strategy = StrategySettings::of("fedavg");
  world.drift = {};
  for (int round = 0; round < 400; ++round) {
    std::vector<float> mean = {0, 0};
    for (uint32_t device = 0; device < kDevices; ++device) {
      const std::vector<float> delta = local_delta(device, world.weights, {});
      for (size_t i = 0; i < 2; ++i) mean[i] += delta[i] / kDevices;
    }
    world.strategy.rule->apply(
        {.mean = mean, .settings = world.strategy.values, .state = {}, .weights = world.weights});
  }
  EXPECT_GT(world.distance(), 0.1);
}

TEST(FedDynOracle, EndsThereWithSomeOfTheDevicesInARoundAndWithLosses) {
  World world;
  Prng chance(3);
  for (int round = 0; round < 600; ++round) {
    const auto away = static_cast<uint32_t>(chance.below(kDevices));
    std::set<uint32_t> drawn = {0, 1, 2}, lost;
    drawn.erase(away);
    if (chance.chance(0.2)) lost.insert(*drawn.begin());
    world.round(drawn, lost);
    ASSERT_LT(world.mismatch(), 1e-5) << "round " << round;
  }
  EXPECT_LT(world.distance(), 1e-5);
}

// The broken variant: what the devices keep is then no longer what the server holds of them, and the model ends
// elsewhere.
TEST(FedDynOracle, WouldNotWithAnEarlyCommit) {
  World world;
  Prng chance(3);
  for (int round = 0; round < 200; ++round) {
    const std::set<uint32_t> lost = chance.chance(0.3) ? std::set<uint32_t>{2} : std::set<uint32_t>{};
    world.round({0, 1, 2}, lost, true);
  }
  EXPECT_GT(world.mismatch(), 0.01);
}

}  // namespace
}  // namespace coterie
