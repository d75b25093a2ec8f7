#include "fl_server/core/round_cohorts.h"

#include <algorithm>

#include "base/assert.h"
#include "fl_server/core/waiting_adverts.h"

namespace coterie {
namespace {

using Phase = CohortMachine::Phase;

Error closed(const std::string& why) { return Error(ErrorCode::round_closed, "secure aggregation: " + why); }

// Longer than any round: cohorts that are drawn end their advertising when their devices are placed.
constexpr Millis kUntilPlaced = std::chrono::hours(24 * 3650);

// Adverts that close the rosters of cohorts 0 to index - 1. Differences of these are goals that differ by 1 at most and
// add up to adverts_goal.
uint32_t filled_before(const RoundCohortsSettings& settings, uint64_t index) {
  return static_cast<uint32_t>(settings.adverts_goal * index / settings.cohort_count);
}

}  // namespace

RoundCohorts::RoundCohorts(std::vector<Cohort> cohorts, const RoundCohortsSettings& settings, uint32_t survivors_min,
                           Instant now)
    : cohorts_(std::move(cohorts)),
      settings_(settings),
      survivors_min_(survivors_min),
      began_(now),
      place_at_(now + settings.cohort.advertising_max) {}
RoundCohorts::RoundCohorts(RoundCohorts&&) noexcept = default;
RoundCohorts& RoundCohorts::operator=(RoundCohorts&&) noexcept = default;
RoundCohorts::~RoundCohorts() = default;

Result<RoundCohorts> RoundCohorts::make(const secagg::SessionParameters& parameters,
                                        const RoundCohortsSettings& settings, std::span<const uint64_t> ring_seeds,
                                        const secagg::CertificateCheck& certificate_is_good, Instant now) {
  COT_ASSERT(settings.cohort_count >= 1 && settings.adverts_enough <= settings.adverts_goal);
  COT_ASSERT(ring_seeds.size() == settings.cohort_count);
  std::vector<Cohort> cohorts;
  for (size_t i = 0; i < ring_seeds.size(); ++i) {
    CohortSettings own = settings.cohort;
    if (settings.draw) own.advertising_max = kUntilPlaced;
    // Drawn cohorts are closed as soon as they are placed: fewer ones may be larger than they were planned.
    own.adverts_goal =
        settings.draw ? settings.adverts_goal : filled_before(settings, i + 1) - filled_before(settings, i);
    if (settings.cohort_count == 1 && settings.adverts_least > 0) {
      own.adverts_least = std::min(own.adverts_goal, std::max(settings.adverts_least, parameters.survivors_min));
    }
    COT_ASSIGN(CohortMachine machine, CohortMachine::make(parameters, own, ring_seeds[i], certificate_is_good, now));
    cohorts.push_back({std::move(machine)});
  }
  RoundCohorts round(std::move(cohorts), settings, parameters.survivors_min, now);
  if (settings.draw) round.waiting_ = std::make_unique<WaitingAdverts>(parameters, certificate_is_good);
  return round;
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
  const auto* const advert = std::get_if<KeyAdvert>(&message);
  // A cohort whose time is over takes no more adverts; and whoever waits may be placed by it.
  if (advert != nullptr && !placed_.contains(device)) time_passed(now);
  if (advert != nullptr && !placed_.contains(device)) return receive_advert(device, public_key, *advert, now);
  COT_ASSIGN(CohortMachine * cohort, cohort_of(device));
  return cohort->receive(device, public_key, message, now);
}

Status RoundCohorts::receive_advert(const DeviceId& device, const Bytes& public_key, const KeyAdvert& advert,
                                    Instant now) {
  if (waiting_) {
    COT_TRY(waiting_->receive(device, public_key, advert));
  } else {
    const size_t index = next_to_fill();
    COT_TRY(cohorts_[index].machine.receive(device, public_key, advert, now));
    placed_.emplace(device, index);
  }
  shorten_wait(now);
  if (waiting_ && waiting_->size() >= settings_.adverts_goal) place_waiting(now);
  if (step_check_.is_due(device_count())) check();
  return {};
}

// What they advertised was looked at when it came: a machine that refuses it now, as a certificate has ended meanwhile,
// goes on without its device. Fewer cohorts than planned leave the last ones empty, which fail by themselves.
void RoundCohorts::place_waiting(Instant now) {
  const std::unique_ptr<const WaitingAdverts> waiting = std::move(waiting_);
  const std::vector<std::vector<DeviceId>> drawn =
      secagg::drawn_cohorts(*settings_.draw, waiting->devices(), settings_.cohort_count, survivors_min_);
  for (size_t index = 0; index < cohorts_.size(); ++index) {
    CohortMachine& machine = cohorts_[index].machine;
    if (index < drawn.size()) {
      for (const DeviceId& device : drawn[index]) {
        const WaitingAdverts::Entry& entry = waiting->of(device);
        if (machine.receive(device, entry.public_key, entry.advert, now)) placed_.emplace(device, index);
      }
    }
    machine.advertise_until(now);
    machine.time_passed(now);
  }
}

// Looked at with each advert: once there are enough, others have as long again.
void RoundCohorts::shorten_wait(Instant now) {
  const uint32_t enough = settings_.adverts_enough;
  const PhasePatience patience{.planned = enough, .least = enough, .min = settings_.cohort.patience_min};
  const auto wait = patience.after(static_cast<uint32_t>(device_count()), now - began_);
  if (!wait) return;
  place_at_ = std::min(place_at_, now + *wait);
  if (waiting_) return;  // the cohorts' time begins when they are placed
  for (Cohort& cohort : cohorts_) cohort.machine.advertise_until(now + *wait);
}

Result<CohortReply> RoundCohorts::ask(const DeviceId& device, CohortQuestion question, Instant now) {
  if (waiting_ && now >= place_at_) place_waiting(now);
  if (waiting_ && waiting_->contains(device)) return CohortReply(NotYet{waiting_->size()});
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

size_t RoundCohorts::device_count() const { return placed_.size() + (waiting_ ? waiting_->size() : 0); }

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
  if (waiting_ && now >= place_at_) place_waiting(now);
  for (Cohort& cohort : cohorts_) {
    if (!cohort.is_left_out) cohort.machine.time_passed(now);
  }
  if (step_check_.is_due(placed_.size())) check();
}

std::optional<Instant> RoundCohorts::next_deadline() const {
  if (waiting_) return place_at_;  // the cohorts have begun nothing
  std::optional<Instant> next;
  for (const Cohort& cohort : cohorts_) {
    if (cohort.is_left_out) continue;
    if (const auto at = cohort.machine.next_deadline()) next = next ? std::min(*next, *at) : *at;
  }
  return next;
}

void RoundCohorts::check() const {
  COT_INVARIANT(!cohorts_.empty(), "a round has one cohort at least");
  COT_INVARIANT(!waiting_ || placed_.empty(), "devices wait until all are placed");
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
