#include "device_sdk/agent/plan_watch.h"

#include <algorithm>

#include "base/assert.h"
#include "base/random.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"
#include "device_sdk/runtime/trainer.h"

namespace coterie {
namespace {

// A bias that is zero in the first version moves by more than itself at first.
constexpr uint64_t kWarmUpSteps = 5;
constexpr uint32_t kHitsMax = kWatchHitsMax;

}  // namespace

WatchPlan watch_plan_of(const WatchSettings& settings, uint64_t seed) {
  WatchPlan plan{.every = settings.every, .hits_max = kHitsMax, .checks = {}};
  plan.first = static_cast<uint32_t>(Prng(seed).below(settings.every));
  const WatchPlan recommended = recommended_watch();
  for (const std::string& name : settings.checks) {
    const size_t before = plan.checks.size();
    for (const WatchedCheck& check : recommended.checks) {
      if (check.check->name == name) plan.checks.push_back(check);
    }
    if (plan.checks.size() == before) plan.checks.emplace_back(*find_check(name));
    for (size_t i = before; i < plan.checks.size(); ++i) {
      plan.checks[i].steps = 0;
      plan.checks[i].from_step = std::min(plan.checks[i].from_step, kWarmUpSteps);
    }
  }
  return plan;
}

Result<std::unique_ptr<PlanWatch>> PlanWatch::create(const Model& model, const Plan& plan, const TrainOptions& options,
                                                     uint64_t examples, const TrainingSummary& from) {
  COT_ASSERT(plan.training.watch.has_value());
  const WatchSettings& settings = *plan.training.watch;
  COT_ASSIGN(const std::vector<bool> is_trained, trainable_tensors(model.graph(), options));
  const uint64_t steps_an_epoch = std::max<uint64_t>(1, (examples + options.batch_size - 1) / options.batch_size);
  return std::unique_ptr<PlanWatch>(
      new PlanWatch(model, settings, watch_plan_of(settings, options.seed), is_trained, steps_an_epoch, from));
}

Status PlanWatch::step(Trainer& trainer) {
  COT_TRY(trainer.step(&watch_));
  watch_.end_step(trainer);
  return {};
}

std::vector<float> PlanWatch::lanes() const {
  std::vector<float> lanes(watch_lane_count(settings_));
  lanes[0] = watch_.looks() > 0 ? 1.0f : 0.0f;
  for (const WatchHit& hit : watch_.hits().hits()) {
    const auto check = std::ranges::find(settings_.checks, hit.check);
    COT_ASSERT(check != settings_.checks.end());
    const size_t first = watch_lane(settings_, static_cast<size_t>(check - settings_.checks.begin()));
    lanes[first + (hit.layer.empty() ? 0 : groups_.of_op(hit.layer))] = 1;
  }
  return lanes;
}

}  // namespace coterie
