#include "scheduler/job/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.h"
#include "scheduler/job/settings_checker.h"
#include "secure/dp/account/number_words.h"

namespace coterie {
namespace {

constexpr std::string_view kNames[] = {"constant", "step", "exponential", "cosine"};
constexpr uint32_t kRoundsMax = 1'000'000;  // of a job

// By squaring: multiplications alone, whose results are the same on every machine.
double power(double base, uint64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

double factor(const RateSchedule& schedule, uint64_t number, uint64_t rounds) {
  const uint64_t warmup = schedule.warmup_rounds;
  // Linear from 1 / warmup in the first round to the whole rate in the last one of the warm-up.
  if (number <= warmup) return static_cast<double>(number) / static_cast<double>(warmup);
  const uint64_t since = number - warmup - 1;
  switch (schedule.kind) {
    case RateScheduleKind::constant: break;
    case RateScheduleKind::step: return power(schedule.gamma, since / schedule.period);
    case RateScheduleKind::exponential: return power(schedule.gamma, since);
    case RateScheduleKind::cosine: {
      const double part = static_cast<double>(since) / static_cast<double>(rounds - warmup);
      return schedule.min + (1 - schedule.min) * (1 + std::cos(std::numbers::pi * part)) / 2;
    }
  }
  return 1;
}

}  // namespace

std::string_view to_string(RateScheduleKind kind) { return kNames[static_cast<size_t>(kind)]; }
std::span<const std::string_view> rate_schedule_names() { return kNames; }

float scheduled_rate(float rate, const RateSchedule& schedule, uint64_t number, uint64_t rounds) {
  if (schedule.is_constant()) return rate;
  COT_ASSERT(number >= 1);
  return static_cast<float>(static_cast<double>(rate) * factor(schedule, std::min(number, rounds), rounds));
}

Problems problems_of(const RateSchedule& schedule, float rate, uint64_t rounds, const std::string& pointer) {
  Problems problems;
  SettingsChecker check(problems);
  const RateScheduleKind kind = schedule.kind;
  const bool has_gamma = kind == RateScheduleKind::step || kind == RateScheduleKind::exponential;
  const std::string absent = "must be absent with kind " + std::string(to_string(kind));
  if (has_gamma) {
    check.require(schedule.gamma > 0 && schedule.gamma <= 1, pointer + "/gamma",
                  "must be in (0, 1] with kind " + std::string(to_string(kind)));
  } else {
    check.require(schedule.gamma == 0, pointer + "/gamma", absent);
  }
  if (kind == RateScheduleKind::step) check.in_range<uint32_t>(schedule.period, 1, kRoundsMax, pointer + "/period");
  else check.require(schedule.period == 0, pointer + "/period", absent);
  if (kind == RateScheduleKind::cosine) {
    check.require(schedule.min >= 0 && schedule.min < 1, pointer + "/min", "must be in [0, 1) with kind cosine");
  } else {
    check.require(schedule.min == 0, pointer + "/min", absent);
  }
  check.require(
      schedule.warmup_rounds == 0 || schedule.warmup_rounds < rounds, pointer + "/warmup_rounds",
      "must be below the job's " + std::to_string(rounds) + " rounds, is " + std::to_string(schedule.warmup_rounds));
  if (!problems.empty() || schedule.is_constant() || rounds == 0) return problems;
  // It rises to the end of the warm-up and never again, so that one of these is the least.
  for (const uint64_t number : {uint64_t{1}, rounds}) {
    const float least = scheduled_rate(rate, schedule, number, rounds);
    check.require(!(rate > 0) || least >= kScheduledRateMin, pointer,
                  "takes the rate of round " + std::to_string(number) + " to " +
                      number_words(static_cast<double>(least)) + ", below 1e-30: let it fall more slowly");
    if (!problems.empty()) break;
  }
  return problems;
}

}  // namespace coterie
