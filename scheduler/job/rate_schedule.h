// RateSchedule: how a learning rate changes from round to round. A job has one for its devices' rate
// (`training.schedule`) and one for the server's (`strategy.schedule`). Pure: the rate of a round follows from the job
// and the round's number alone, so that a retried attempt, another server of the fleet and a simulation have the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/problem.h"

namespace coterie {

enum class RateScheduleKind : uint8_t { constant, step, exponential, cosine };
std::string_view to_string(RateScheduleKind kind);
// In the order of the enumerators.
std::span<const std::string_view> rate_schedule_names();

// The rate of round r of R (from 1) is the job's rate times a factor. With W = warmup_rounds:
//
//   r <= W       r / W                                          linear warm-up: Goyal et al. 2017, section 2.2
//   then, with s = r - W - 1 rounds behind the warm-up, of S = R - W:
//   constant     1
//   step         gamma^floor(s / period)
//   exponential  gamma^s
//   cosine       min + (1 - min) (1 + cos(pi s / S)) / 2        Loshchilov and Hutter 2017, equation 5, one period
//
// Names and formulas are those of device_sdk/runtime/schedule.h, whose schedules are over the steps of one training.
struct RateSchedule {
  RateScheduleKind kind = RateScheduleKind::constant;
  uint32_t warmup_rounds = 0;
  uint32_t period = 0;  // step: rounds that have one rate
  double gamma = 0;     // step, exponential: in (0, 1]
  double min = 0;       // cosine: in [0, 1), what it falls to, as a share of the job's rate
  bool is_constant() const { return kind == RateScheduleKind::constant && warmup_rounds == 0; }
  friend bool operator==(const RateSchedule&, const RateSchedule&) = default;
};

struct RateSchedules {
  RateSchedule device, server;
  bool are_constant() const { return device.is_constant() && server.is_constant(); }
  friend bool operator==(const RateSchedules&, const RateSchedules&) = default;
};

// Rates below are no rates: they come of a schedule that was meant for fewer rounds.
inline constexpr float kScheduledRateMin = 1e-30f;

// The rate of round `number` of `rounds`; beyond them as in the last. Exactly `rate` where the schedule is constant.
// Precondition: the schedule has no problems, number >= 1.
float scheduled_rate(float rate, const RateSchedule& schedule, uint64_t number, uint64_t rounds);

// What is wrong with a schedule for this rate and so many rounds; `pointer` is the schedule's own.
Problems problems_of(const RateSchedule& schedule, float rate, uint64_t rounds, const std::string& pointer);

}  // namespace coterie
