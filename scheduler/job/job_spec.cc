#include "scheduler/job/job_spec.h"

#include <algorithm>
#include <cmath>

namespace coterie {
namespace {

// Collects problems under one JSON pointer prefix.
class Checker {
 public:
  explicit Checker(Problems& problems) : problems_(problems) {}

  void require(bool condition, std::string pointer, std::string detail) {
    if (!condition) problems_.push_back({std::move(pointer), std::move(detail)});
  }
  template <typename T>
  void in_range(T value, T low, T high, std::string pointer) {
    require(value >= low && value <= high, std::move(pointer),
            "must be in [" + text(low) + ", " + text(high) + "], is " + text(value));
  }

 private:
  static std::string text(double value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (!digits.empty() && digits.back() == '.') digits.pop_back();
    return digits;
  }
  static std::string text(uint32_t value) { return std::to_string(value); }
  static std::string text(Millis value) { return std::to_string(value.count()); }

  Problems& problems_;
};

void check_rounds(const RoundSettings& rounds, Checker& check) {
  check.in_range<uint32_t>(rounds.count, 1, 1'000'000, "/rounds/count");
  check.in_range<uint32_t>(rounds.goal_count, 1, 1'000'000, "/rounds/goal_count");
  check.in_range<uint32_t>(rounds.goal_count_min, 1, 1'000'000, "/rounds/goal_count_min");
  check.require(rounds.goal_count_min <= rounds.goal_count, "/rounds/goal_count_min", "must be at most goal_count");
  check.in_range(rounds.over_selection, 1.0, 10.0, "/rounds/over_selection");
  check.in_range<uint32_t>(rounds.pool_min, 0, 10'000'000, "/rounds/pool_min");
  check.in_range(rounds.selecting_max, Millis(1), Millis(86'400'000), "/rounds/selecting_ms_max");
  check.in_range(rounds.collecting_max, Millis(1), Millis(86'400'000), "/rounds/collecting_ms_max");
  check.in_range(rounds.retry_delay, Millis(0), Millis(86'400'000), "/rounds/retry_delay_ms");
  check.in_range<uint32_t>(rounds.attempts_max, 1, 1000, "/rounds/attempts_max");
}

void check_training(const TrainingSettings& training, Checker& check) {
  const OptimizerSettings& optimizer = training.optimizer;
  check.in_range<uint32_t>(training.batch_size, 1, 4096, "/training/batch_size");
  check.in_range<uint32_t>(training.local_epochs, 1, 1000, "/training/local_epochs");
  check.require(std::isfinite(optimizer.learning_rate) && optimizer.learning_rate > 0 && optimizer.learning_rate <= 1e6f,
                "/training/optimizer/learning_rate", "must be in (0, 1e6]");
  check.in_range<double>(optimizer.momentum, 0, 1, "/training/optimizer/momentum");
  check.in_range<double>(optimizer.weight_decay, 0, 1e6, "/training/optimizer/weight_decay");
  // Adam's settings are part of every plan, and devices check the whole plan.
  check.require(optimizer.beta1 >= 0 && optimizer.beta1 < 1, "/training/optimizer/beta1", "must be in [0, 1)");
  check.require(optimizer.beta2 >= 0 && optimizer.beta2 < 1, "/training/optimizer/beta2", "must be in [0, 1)");
  const bool may_be_zero = optimizer.kind != OptimizerKind::adam;
  check.require((optimizer.epsilon > 0 || (may_be_zero && optimizer.epsilon == 0)) && optimizer.epsilon <= 1,
                "/training/optimizer/epsilon", may_be_zero ? "must be in [0, 1]" : "must be in (0, 1]");
}

void check_strategy(const StrategySettings& strategy, Checker& check) {
  check.require(std::isfinite(strategy.server_learning_rate) && strategy.server_learning_rate > 0,
                "/strategy/server_learning_rate", "must be finite and > 0");
  if (strategy.kind != ServerOptimizerKind::fedadam) return;
  check.require(strategy.beta1 >= 0 && strategy.beta1 < 1, "/strategy/beta1", "must be in [0, 1)");
  check.require(strategy.beta2 >= 0 && strategy.beta2 < 1, "/strategy/beta2", "must be in [0, 1)");
  check.require(strategy.tau > 0 && std::isfinite(strategy.tau), "/strategy/tau", "must be finite and > 0");
}

FixedPointSpec fixed_point_of(const JobSpec& spec) {
  // A round may accept more than its goal: everybody who holds a ticket, and stragglers that a restart let in twice.
  const uint32_t contributors = std::max<uint32_t>(1024, 4 * spec.rounds.ticket_count());
  return FixedPointSpec::finest(spec.update.value_abs_max, spec.update.weight_max, contributors);
}

}  // namespace

uint32_t RoundSettings::ticket_count() const {
  const double tickets = std::ceil(static_cast<double>(goal_count) * over_selection);
  return static_cast<uint32_t>(std::clamp(tickets, 1.0, 1e7));
}

Problems validate(const JobSpec& spec) {
  Problems problems;
  Checker check(problems);
  check.require(!spec.name.empty() && spec.name.size() <= 128, "/name", "must have 1 to 128 characters");
  check.require(!spec.population.value().empty() && spec.population.value().size() <= 64, "/population",
                "must have 1 to 64 characters");
  check_training(spec.training, check);
  check_rounds(spec.rounds, check);
  check_strategy(spec.strategy, check);
  check.in_range<double>(spec.update.clip_l2, 0, 1e9, "/update/clip_l2");
  const Problems before = problems;
  check.require(std::isfinite(spec.update.value_abs_max) && spec.update.value_abs_max > 0, "/update/value_abs_max",
                "must be finite and > 0");
  check.in_range<uint32_t>(spec.update.weight_max, 1, kWeightMax, "/update/weight_max");
  if (problems == before) {
    if (const Status fits = validate(fixed_point_of(spec)); !fits) {
      check.require(false, "/update", fits.error().message());
    }
  }
  return problems;
}

Plan plan_of(const JobSpec& spec, const JobId& job, uint64_t value_count) {
  return {.job = job,
          .training = spec.training,
          .update = {.encoding = UpdateEncoding::float32,
                     .value_count = value_count,
                     .clip_l2 = spec.update.clip_l2,
                     .fixed_point = fixed_point_of(spec)}};
}

}  // namespace coterie
