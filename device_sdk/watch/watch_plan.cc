#include "device_sdk/watch/watch_plan.h"

#include <cmath>

namespace coterie {
namespace {

constexpr uint32_t kEvery = 50;
// A weight that began at zero moves by more than itself at first.
constexpr uint64_t kWarmUpSteps = 20;
constexpr double kSettled = 0.98;
constexpr uint64_t kLastingSteps = 100;  // what a step or two may show in a training without a fault

WatchedCheck watched(std::string_view name) { return WatchedCheck(*find_check(name)); }

// Where float32 has nothing left of a slope: MindInsight's limits.
WatchedCheck saturated(const char* op, double start, double end) {
  WatchedCheck check = watched("activation_range");
  check.op = op;
  check.set("range_start", start);
  check.set("range_end", end);
  check.set("percent_below", 0.1);
  return check;
}

}  // namespace

WatchPlan recommended_watch() {
  WatchPlan plan{.every = kEvery, .checks = {}};
  for (const char* name : {"operator_overflow", "tensor_overflow", "weight_overflow", "gradient_exploding"}) {
    plan.checks.push_back(watched(name));
  }
  for (const char* name : {"tensor_all_zero", "weight_unchanged", "gradient_vanishing"}) {
    plan.checks.push_back(watched(name));
    plan.checks.back().steps = kLastingSteps;
  }
  plan.checks.push_back(watched("weight_initial"));
  WatchedCheck change = watched("weight_change_too_large");
  change.set("ratio_above", 1);
  change.from_step = kWarmUpSteps;
  plan.checks.push_back(std::move(change));
  const double tanh_end = std::tanh(8.8), sigmoid_start = 1 / (1 + std::exp(16.2)), sigmoid_end = 1 - sigmoid_start;
  plan.checks.push_back(saturated("tanh", -tanh_end, tanh_end));
  plan.checks.push_back(saturated("sigmoid", sigmoid_start, sigmoid_end));
  plan.checks.push_back(watched("dead_relu"));
  // Where labels are not decided by what the model sees, no loss comes to half of where it began.
  WatchedCheck loss = watched("loss_not_decreasing");
  loss.set("settled_below", kSettled);
  plan.checks.push_back(std::move(loss));
  plan.checks.push_back(watched("label_drift"));
  return plan;
}

}  // namespace coterie
