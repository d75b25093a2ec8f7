#include "fl_server/core/round_cohorts.h"

#include <algorithm>

#include "base/assert.h"

namespace coterie {
namespace {

using Phase = CohortMachine::Phase;

Error closed(const std::string& why) { return Error(ErrorCode::round_closed, "secure aggregation: " + why); }

// Adverts that close the rosters of cohorts 0 to index - 1. Differences of these are goals that differ by 1 at most and
// add up to adverts_goal.
uint32_t filled_before(const RoundCohortsSettings& settings, uint64_t index) {
  return static_cast<uint32_t>(settings.adverts_goal * index / settings.cohort_count);
}

}  // namespace

Result<RoundCohorts> RoundCohorts::make(const secagg::SessionParameters& parameters,
                                        const RoundCohortsSettings& settings, std::span<const uint64_t> ring_seeds,
                                        const secagg::CertificateCheck& certificate_is_good, Instant now) {
  COT_ASSERT(settings.cohort_count >= 1 && settings.adverts_enough <= settings.adverts_goal);
  COT_ASSERT(ring_seeds.size() == settings.cohort_count);
  std::vector<Cohort> cohorts;
  for (size_t i = 0; i < ring_seeds.size(); ++i) {
    CohortSettings own = settings.cohort;
    own.adverts_goal = filled_before(settings, i + 1) - filled_before(settings, i);
    if (settings.cohort_count == 1 && settings.adverts_least > 0) {
      own.adverts_least = std::min(own.adverts_goal, std::max(settings.adverts_least, parameters.survivors_min));
    }
    COT_ASSIGN(CohortMachine machine, CohortMachine::make(parameters, own, ring_seeds[i], certificate_is_good, now));
    cohorts.push_back({std::move(machine)});
  }
  return RoundCohorts(std::move(cohorts), settings, now);
}

// ---- Who is where

Result<CohortMachine*> RoundCohorts::cohort_of(const DeviceId& device) {
  const auto placed = placed_.find(device);
  if (placed == placed_.end()) return closed("this device is not in a cohort");
  if (cohorts_[placed->second].is_left_out) return closed("this device's cohort is not in the sum");
  return &cohorts_[placed->second].machine;
}

// If no cohort takes adverts any more: the last one, which says why.
size_t RoundCohorts::next_to_fill() const {
  const auto open = std::ranges::find_if(cohorts_, [](const Cohort& cohort) {
    return !cohort.machine.failure() && cohort.machine.session().phase() == Phase::advertising;
  });
  return open == cohorts_.end() ? cohorts_.size() - 1 : static_cast<size_t>(open - cohorts_.begin());
}

Status RoundCohorts::receive(const DeviceId& device, const Bytes& public_key, const CohortMessage& message,
                             Instant now) {
  if (!std::holds_alternative<KeyAdvert>(message) || placed_.contains(device)) {
    COT_ASSIGN(CohortMachine * cohort, cohort_of(device));
    return cohort->receive(device, public_key, message, now);
  }
  time_passed(now);  // a cohort whose time is over takes no more adverts
  const size_t index = next_to_fill();
  COT_TRY(cohorts_[index].machine.receive(device, public_key, message, now));
  placed_.emplace(device, index);
  shorten_wait(now);
  if (step_check_.is_due(placed_.size())) check();
  return {};
}

// Looked at with each advert: once there are enough, others have as long again.
void RoundCohorts::shorten_wait(Instant now) {
  const uint32_t enough = settings_.adverts_enough;
  const PhasePatience patience{.planned = enough, .least = enough, .min = settings_.cohort.patience_min};
  const auto wait = patience.after(static_cast<uint32_t>(placed_.size()), now - began_);
  if (!wait) return;
  for (Cohort& cohort : cohorts_) cohort.machine.advertise_until(now + *wait);
}

Result<CohortReply> RoundCohorts::ask(const DeviceId& device, CohortQuestion question, Instant now) {
  COT_ASSIGN(CohortMachine * cohort, cohort_of(device));
  return cohort->ask(device, question, now);
}

Status RoundCohorts::input_arrived(const DeviceId& device, const MaskedInput& input, Instant now) {
  COT_ASSIGN(CohortMachine * cohort, cohort_of(device));
  return cohort->input_arrived(device, input, now);
}

Status RoundCohorts::input_accepted(const DeviceId& device, const MaskedInput& input, Instant now) {
  COT_ASSIGN(CohortMachine * cohort, cohort_of(device));
  return cohort->input_accepted(device, input, now);
}

// ---- What the round hears

// The sum over all cohorts that have not failed; nothing if one of them does not know yet.
std::optional<uint32_t> RoundCohorts::total_of(std::optional<uint32_t> (CohortMachine::*what)() const) const {
  std::optional<uint32_t> total;
  for (const Cohort& cohort : cohorts_) {
    if (cohort.machine.failure()) continue;
    const std::optional<uint32_t> own = (cohort.machine.*what)();
    if (!own) return std::nullopt;
    total = total.value_or(0) + *own;
  }
  return total;
}

std::optional<uint32_t> RoundCohorts::inputs_due() const { return total_of(&CohortMachine::inputs_due); }

std::optional<uint32_t> RoundCohorts::updates_expected() const { return total_of(&CohortMachine::updates_expected); }

void RoundCohorts::freeze(const std::vector<DeviceId>& accepted, Instant now) {
  if (is_frozen_ || failure()) return;
  is_frozen_ = true;
  std::vector<std::vector<DeviceId>> by_cohort(cohorts_.size());
  for (const DeviceId& device : accepted) {
    const auto placed = placed_.find(device);
    if (placed == placed_.end()) {
      failure_ = closed("the sum holds updates that this session does not know; the server was started anew meanwhile");
      return;
    }
    by_cohort[placed->second].push_back(device);
  }
  if (accepted.empty()) failure_ = closed("the sum holds no update");
  for (size_t i = 0; i < cohorts_.size(); ++i) {
    cohorts_[i].is_left_out = by_cohort[i].empty();  // it has nothing in the sum, so its masks are not missed
    if (!cohorts_[i].is_left_out) cohorts_[i].machine.freeze(by_cohort[i], now);
  }
  if (step_check_.is_due(placed_.size())) check();
}

std::optional<Error> RoundCohorts::failure() const {
  if (failure_) return failure_;
  std::optional<Error> first;
  bool is_any_alive = false;
  for (const Cohort& cohort : cohorts_) {
    if (cohort.is_left_out) continue;
    if (!cohort.machine.failure()) is_any_alive = true;
    else if (!first) first = cohort.machine.failure();
  }
  // Before the freeze the sum does without a cohort that failed. Behind it that cohort's masks are in the sum.
  return is_frozen_ || !is_any_alive ? first : std::nullopt;
}

bool RoundCohorts::is_ready() const {
  return is_frozen_ && !failure_ && std::ranges::all_of(cohorts_, [](const Cohort& cohort) {
           return cohort.is_left_out || cohort.machine.is_ready();
         });
}

std::vector<const secagg::Server*> RoundCohorts::sessions() const {
  std::vector<const secagg::Server*> sessions;
  for (const Cohort& cohort : cohorts_) {
    if (!cohort.is_left_out && !cohort.machine.failure()) sessions.push_back(&cohort.machine.session());
  }
  return sessions;
}

std::vector<Error> RoundCohorts::left_out() const {
  std::vector<Error> reasons;
  for (const Cohort& cohort : cohorts_) {
    if (cohort.is_left_out && cohort.machine.failure()) reasons.push_back(*cohort.machine.failure());
  }
  return reasons;
}

uint32_t RoundCohorts::progress() const {
  constexpr uint32_t kPhases = 8;
  uint32_t progress = 0;
  for (const Cohort& cohort : cohorts_) {
    progress += cohort.machine.failure() ? kPhases : static_cast<uint32_t>(cohort.machine.session().phase());
  }
  return progress;
}

// ---- Time

void RoundCohorts::time_passed(Instant now) {
  for (Cohort& cohort : cohorts_) {
    if (!cohort.is_left_out) cohort.machine.time_passed(now);
  }
  if (step_check_.is_due(placed_.size())) check();
}

std::optional<Instant> RoundCohorts::next_deadline() const {
  std::optional<Instant> next;
  for (const Cohort& cohort : cohorts_) {
    if (cohort.is_left_out) continue;
    if (const auto at = cohort.machine.next_deadline()) next = next ? std::min(*next, *at) : *at;
  }
  return next;
}

void RoundCohorts::check() const {
  COT_INVARIANT(!cohorts_.empty(), "a round has one cohort at least");
  for (const auto& [device, index] : placed_) {
    COT_INVARIANT(index < cohorts_.size(), "every device is placed in a cohort of the round");
  }
  for (const Cohort& cohort : cohorts_) {
    cohort.machine.check();
    COT_INVARIANT(!cohort.is_left_out || is_frozen_, "a cohort is left out when the round is frozen");
    COT_INVARIANT(cohort.is_left_out || !is_frozen_ || failure_ || cohort.machine.failure() ||
                      cohort.machine.session().phase() > Phase::masking,
                  "a frozen round has frozen its cohorts");
  }
}

}  // namespace coterie
