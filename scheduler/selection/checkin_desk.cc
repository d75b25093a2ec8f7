#include "scheduler/selection/checkin_desk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "proto/messages/device_gate.h"
#include "scheduler/selection/gate_accounts.h"
#include "scheduler/selection/selection_registry.h"

namespace coterie {
namespace {

constexpr Millis kLookForEndedEvery{60'000};

bool remembers_devices(const RoundNotice& notice) { return notice.selection.rule->memory != SelectionMemory::nothing; }

}  // namespace

CheckinDesk::CheckinDesk(DeskLimits limits, PaceSettings pace, uint64_t seed, bool draws_by_device)
    : limits_(limits),
      pace_(pace),
      seed_(seed),
      draws_by_device_(draws_by_device),
      prng_(seed),
      gates_(std::make_unique<GateAccounts>()),
      counts_(std::make_unique<CheckinCounts>()) {}

CheckinDesk::~CheckinDesk() = default;

DeskEffects CheckinDesk::check_in(WaiterId waiter, const DeviceId& device, const Population& population, Millis hold,
                                  Instant now, std::optional<HeldUpdate> held, PlanFeatures known) {
  ++asked_;
  gates_->time_is(now);
  forget_ended_jobs(now);
  Room& room = rooms_[population];
  if (const auto older = room.by_device.find(device); older != room.by_device.end()) {
    const WaiterId replaced = older->second;
    const uint64_t others = steered(population, room, now);
    remove(replaced, DeviceGate::replaced);
    effects_.push_back(Dismiss{replaced, retry_window(others, Millis(0), pace_, sentence_of(DeviceGate::replaced))});
  }
  COT_INVARIANT(!waiters_.contains(waiter), "a check-in that is held has its own id");
  const bool full = waiters_.size() >= limits_.waiters_max;
  const Instant until = now + std::clamp(hold, Millis(0), limits_.hold_max);
  waiters_.emplace(
      waiter,
      Waiter{.device = device, .population = population, .hold_until = until, .held = std::move(held), .known = known});
  by_deadline_.emplace(until, waiter);
  room.by_device.emplace(device, waiter);
  give_up_late(waiter_of(waiter));
  asks(waiter_of(waiter));
  if (Round* round = round_for(waiter_of(waiter)); round != nullptr) {
    const bool is_served = serve(waiter, *round);
    COT_INVARIANT(is_served, "a round that wants a device gives it a ticket");
    return finish();  // even at a full desk: who has a ticket does not wait
  }
  if (full) dismiss(waiter, DeviceGate::desk_full, now);
  else if (until <= now) dismiss(waiter, why_not_served(waiter_of(waiter)), now);
  return finish();
}

DeskEffects CheckinDesk::cancel(WaiterId waiter) {
  if (waiters_.contains(waiter)) remove(waiter, DeviceGate::gone);
  return finish();
}

DeskEffects CheckinDesk::undelivered(const RoundKey& key, const DeviceId& device) {
  const auto found = rounds_.find(key);
  // Not a holder any more: it is accepted, so its ticket was used after all.
  if (found == rounds_.end() || found->second.holders.erase(device) == 0) return {};
  COT_INVARIANT(found->second.issued > 0, "a ticket that comes back was issued");
  --found->second.issued;
  gates_->ticket_came_back(key, device);
  if (remembers_devices(found->second.notice)) reports_.asked_in_vain(found->second.notice.job, device);
  draw(found->second);
  return finish();
}

void CheckinDesk::accepted(const RoundKey& key, const DeviceId& device, TrainedReport report) {
  gates_->note(key, device, {DeviceGate::counted});
  const auto found = rounds_.find(key);
  if (found == rounds_.end()) return;
  found->second.holders.erase(device);
  lost_joins_.accepted(found->second.notice.job, key, device);
  if (!found->second.accepted.insert(device).second) return;
  const RoundNotice& notice = found->second.notice;
  report.version = notice.assignment.model_version.value();
  switch (notice.selection.rule->memory) {
    case SelectionMemory::nothing: return;
    case SelectionMemory::participation: return reports_.counted(notice.job, device);
    case SelectionMemory::training: return reports_.trained(notice.job, device, report);
  }
}

DeskEffects CheckinDesk::publish(const RoundNotice& notice, std::span<const DeviceId> accepted,
                                 std::span<const DeviceId> resting) {
  // A newer attempt or round of the job replaces the older one.
  std::erase_if(rounds_, [&](const auto& entry) {
    if (entry.second.notice.job != notice.job || entry.first == notice.key) return false;
    gates_->ended(entry.first);
    return true;
  });
  Round& round = rounds_[notice.key];
  round.notice = notice;
  round.features = features_of(notice.plan);
  round.accepted.insert(accepted.begin(), accepted.end());
  round.resting.insert(resting.begin(), resting.end());
  lost_joins_.goes_on_with(notice.job, notice.key.round);
  begin_turn(notice);
  if (notice.state == RoundState::collecting) {
    gates_->begin(notice.key);
    for (const auto& [device, waiter] : rooms_[notice.population].by_device) asks_in(round, waiter_of(waiter));
  } else {
    gates_->closed(notice.key);
  }
  draw(round);
  rooms_[notice.population].reported = UINT64_MAX;  // whoever published wants to know the pool, changed or not
  return finish();
}

DeskEffects CheckinDesk::withdraw(const RoundKey& key) {
  rounds_.erase(key);
  gates_->ended(key);
  return finish();
}

DeskEffects CheckinDesk::time_passed(Instant now) {
  gates_->time_is(now);
  while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
    const WaiterId waiter = by_deadline_.begin()->second;
    dismiss(waiter, why_not_served(waiter_of(waiter)), now);
  }
  return finish();
}

DeskEffects CheckinDesk::dismiss_all(Instant now) {
  while (!by_deadline_.empty()) dismiss(by_deadline_.begin()->second, DeviceGate::stopping, now);
  return finish();
}

void CheckinDesk::fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes) {
  fleet_populations_ = std::move(populations);
  fleet_nodes_ = std::max(1u, nodes);
}

// What this desk sees may be news to the fleet.
uint64_t CheckinDesk::steered(const Population& population, Room& room, Instant now) {
  const uint64_t here = room.by_device.size() + 2 * room.away.away(now);
  const auto known = fleet_populations_.find(population);
  const uint64_t everywhere = std::max(here, known == fleet_populations_.end() ? 0 : known->second);
  return (everywhere + fleet_nodes_ - 1) / fleet_nodes_;
}

std::map<Population, uint64_t> CheckinDesk::steered_here(Instant now) {
  std::map<Population, uint64_t> steered;
  for (auto& [population, room] : rooms_) steered[population] = room.by_device.size() + 2 * room.away.away(now);
  return steered;
}

uint64_t CheckinDesk::steered(Instant now) {
  uint64_t all = 0;
  for (auto& [population, room] : rooms_) all += steered(population, room, now);
  return all;
}

std::optional<Instant> CheckinDesk::next_deadline() const {
  const std::optional<Instant> tells = gates_->next_deadline();
  if (by_deadline_.empty()) return tells;
  return std::min(by_deadline_.begin()->first, tells.value_or(Instant::max()));
}

uint64_t CheckinDesk::waiting(const Population& population) const {
  const auto room = rooms_.find(population);
  return room == rooms_.end() ? 0 : room->second.by_device.size();
}

std::map<RoundKey, uint64_t> CheckinDesk::lacking() const {
  std::map<RoundKey, uint64_t> lacking;
  for (const auto& [key, round] : rounds_) {
    if (round.notice.state != RoundState::collecting) continue;
    uint64_t& count = lacking[key];
    const auto room = rooms_.find(round.notice.population);
    if (round.has_tickets() || room == rooms_.end()) continue;
    for (const auto& [device, id] : room->second.by_device) {
      const Waiter& waiter = must_find(waiters_, id, "who has a place in a room is a waiter");
      if (waiter.held) continue;
      count += round.wants(waiter) && !round.holders.contains(device);
    }
  }
  return lacking;
}

// A job that had no round here waited for nobody: it is not served before those who did.
void CheckinDesk::begin_turn(const RoundNotice& notice) {
  double least = INFINITY;
  std::erase_if(served_, [&](const auto& entry) {
    return std::none_of(rounds_.begin(), rounds_.end(),
                        [&](const auto& r) { return r.second.notice.job == entry.first; });
  });
  for (const auto& [key, round] : rounds_) {
    const auto served = served_.find(round.notice.job);
    if (round.notice.population == notice.population && served != served_.end())
      least = std::min(least, served->second);
  }
  served_.try_emplace(notice.job, std::isinf(least) ? 0.0 : least);
}

double& CheckinDesk::tickets_of(const JobId& job) {
  return must_find(served_, job, "every job with a round has its count of tickets");
}

// The round whose turn it is to be given this device, or null if none wants it.
CheckinDesk::Round* CheckinDesk::round_for(const Waiter& waiter) {
  if (waiter.held) return round_to_join(waiter);
  const DeviceId& device = waiter.device;
  Round* next = nullptr;
  for (auto& [key, round] : rounds_) {
    if (round.notice.population != waiter.population || round.notice.state != RoundState::collecting) continue;
    if (!round.wants(waiter)) continue;
    if (round.holders.contains(device)) return &round;  // it has the right already
    if (!round.has_tickets()) continue;
    if (next == nullptr || tickets_of(round.notice.job) < tickets_of(next->notice.job)) next = &round;
  }
  return next;
}

// Precondition: the waiter holds an update.
bool CheckinDesk::may_join(const Waiter& waiter, const Round& round) const {
  const RoundNotice& notice = round.notice;
  const bool is_last = lost_joins_.before(notice.job, notice.key, waiter.device) >= kLostJoinsMax;
  if (is_last && notice.extensions == 0) return false;
  return round.notice.job == waiter.held->job && round.notice.state == RoundState::collecting &&
         round.notice.key != waiter.held->left && !round.is_before(*waiter.held) && round.wants(waiter);
}

// The round of its job that is to count a held update, or null.
CheckinDesk::Round* CheckinDesk::round_to_join(const Waiter& waiter) {
  for (auto& [key, round] : rounds_) {
    if (round.notice.population == waiter.population && may_join(waiter, round)) return &round;
  }
  return nullptr;
}

// Its device is one of those that may be asked for new work, and draws the same conclusion (ParticipantMachine).
void CheckinDesk::give_up_late(Waiter& waiter) {
  if (!waiter.held) return;
  for (const auto& [key, round] : rounds_) {
    if (round.notice.job != waiter.held->job || !round.is_too_late(*waiter.held)) continue;
    waiter.too_late = std::exchange(waiter.held, std::nullopt);
    return;
  }
}

// Lets those in who hold an update for the round. Then gives its remaining tickets to those of the others whom its rule
// chooses.
void CheckinDesk::draw(Round& round) {
  if (round.notice.state != RoundState::collecting) return;
  const Room& room = rooms_[round.notice.population];
  std::vector<WaiterId> candidates;
  candidates.reserve(room.by_device.size());
  for (const auto& [device, waiter] : room.by_device) candidates.push_back(waiter);
  std::sort(candidates.begin(), candidates.end());  // the map's order is not the same on every machine
  put_in_order(candidates, round.notice.key);
  for (WaiterId candidate : candidates) {
    Waiter& waiter = waiter_of(candidate);
    give_up_late(waiter);
    if (waiter.held && may_join(waiter, round)) serve(candidate, round);
  }
  const bool was_open = round.has_tickets();
  for (WaiterId candidate : round.notice.selection.is_uniform() ? candidates : chosen_of(candidates, round)) {
    if (!round.has_tickets()) break;
    const auto waiter = waiters_.find(candidate);
    if (waiter != waiters_.end() && !waiter->second.held) serve(candidate, round);
  }
  for (WaiterId candidate : candidates) {
    const auto waiter = waiters_.find(candidate);
    if (waiter == waiters_.end() || waiter->second.held || !round.wants(waiter->second)) continue;
    waiter->second.passed_over = waiter->second.passed_over || was_open;
    if (was_open) gates_->note(round.notice.key, waiter->second.device, {DeviceGate::not_drawn});
  }
}

// Those who have a ticket already, and those whom the round's rule gives one. `candidates` are in random order.
std::vector<WaiterId> CheckinDesk::chosen_of(const std::vector<WaiterId>& candidates, const Round& round) {
  std::vector<WaiterId> chosen, open;
  std::vector<const TrainedReport*> reports;
  for (const WaiterId candidate : candidates) {
    const auto waiter = waiters_.find(candidate);
    if (waiter == waiters_.end() || waiter->second.held || !round.wants(waiter->second)) continue;
    if (round.holders.contains(waiter->second.device)) {
      chosen.push_back(candidate);
      continue;
    }
    open.push_back(candidate);
    reports.push_back(reports_.find(round.notice.job, waiter->second.device));
  }
  if (!round.has_tickets()) return chosen;
  Prng chance = draws_by_device_ ? Prng(seed_of(round.notice.key)) : Prng(prng_.next());
  const RoundNotice& notice = round.notice;
  for (const uint32_t index : notice.selection.choose(reports, notice.ticket_count - round.issued,
                                                      notice.assignment.model_version.value(), chance)) {
    chosen.push_back(open[index]);
  }
  return chosen;
}

uint64_t CheckinDesk::seed_of(const RoundKey& key) const {
  return Prng::derived(Prng::derived(seed_, key.round.value()).next(), key.attempt.value()).next();
}

void CheckinDesk::put_in_order(std::vector<WaiterId>& candidates, const RoundKey& key) {
  if (!draws_by_device_) return prng_.shuffle(candidates);
  const uint64_t attempt_seed = seed_of(key);
  const auto place_of = [&](WaiterId waiter) {
    const DeviceId& device = waiter_of(waiter).device;
    uint64_t name = 0;
    std::memcpy(&name, device.bytes.data(), sizeof name);
    return std::pair(Prng::derived(attempt_seed, name).next(), device);
  };
  std::sort(candidates.begin(), candidates.end(), [&](WaiterId a, WaiterId b) { return place_of(a) < place_of(b); });
}

bool CheckinDesk::serve(WaiterId id, Round& round) {
  const DeviceId device = waiter_of(id).device;
  if (!round.wants(waiter_of(id))) return false;
  if (std::optional<HeldUpdate> held = waiter_of(id).held) {
    lost_joins_.joined(round.notice.job, round.notice.key, device);
    is_taken(round, waiter_of(id), DeviceGate::joined);
    remove(id, DeviceGate::joined);
    effects_.push_back(GiveTicket{id, device, round.notice.key, std::move(held)});
    return true;
  }
  const bool is_again = round.holders.contains(device);
  if (!is_again) {
    if (!round.has_tickets()) return false;
    ++round.issued;
    tickets_of(round.notice.job) += 1.0 / std::max(1u, round.notice.weight);
    round.holders.insert(device);
    // Now, and not with its update: one that never comes must leave a trace.
    const RoundNotice& notice = round.notice;
    if (remembers_devices(notice)) reports_.asked(notice.job, device, notice.assignment.model_version.value());
  }
  is_taken(round, waiter_of(id), DeviceGate::ticket);
  if (auto& too_late = waiter_of(id).too_late) effects_.push_back(GiveHeldUp{*too_late});
  remove(id, is_again ? DeviceGate::ticket_again : DeviceGate::ticket);
  effects_.push_back(GiveTicket{id, device, round.notice.key});
  effects_.push_back(ReportTickets{round.notice.key, round.issued});
  return true;
}

void CheckinDesk::remove(WaiterId id, DeviceGate outcome) {
  const auto waiter = waiters_.find(id);
  COT_INVARIANT(waiter != waiters_.end(), "a waiter is let go once");
  leaves(waiter->second, outcome);
  rooms_[waiter->second.population].by_device.erase(waiter->second.device);
  by_deadline_.erase({waiter->second.hold_until, id});
  waiters_.erase(waiter);
  ++(*counts_)[static_cast<size_t>(outcome)];
}

void CheckinDesk::dismiss(WaiterId id, DeviceGate outcome, Instant now) {
  const Population population = waiter_of(id).population;
  Room& room = rooms_[population];
  const RetryWindow window = retry_window(steered(population, room, now), Millis(0), pace_, sentence_of(outcome));
  room.away.told(window, now);
  remove(id, outcome);
  effects_.push_back(Dismiss{id, window});
}

// Says why no round took the device: the gate of the round that came nearest to it.
DeviceGate CheckinDesk::why_not_served(const Waiter& waiter) const {
  if (waiter.passed_over) return DeviceGate::not_drawn;
  DeviceGate why = DeviceGate::no_round;
  for (const auto& [key, round] : rounds_) {
    if (round.notice.population != waiter.population || round.notice.state != RoundState::collecting) continue;
    if (round.wants(waiter)) return DeviceGate::no_place;
    if (round.may_ask(waiter.device)) {
      why = DeviceGate::unsupported;
      continue;
    }
    if (why == DeviceGate::unsupported) continue;
    why = round.accepted.contains(waiter.device) ? DeviceGate::counted : DeviceGate::resting;
  }
  return why;
}

// Nobody tells a node that a job has ended: its rounds are withdrawn, and none follows.
void CheckinDesk::forget_ended_jobs(Instant now) {
  if (now < look_for_ended_) return;
  look_for_ended_ = now + kLookForEndedEvery;
  reports_.time_passed(now, [&](const JobId& job) {
    return std::ranges::any_of(rounds_, [&](const auto& entry) { return entry.second.notice.job == job; });
  });
}

DeskEffects CheckinDesk::finish() {
  for (auto& [population, room] : rooms_) {
    if (room.reported == room.by_device.size()) continue;
    room.reported = room.by_device.size();
    effects_.push_back(ReportPool{population, room.reported});
  }
  for (ToldGates& told : gates_->take_due()) {
    effects_.push_back(TellGates{std::make_shared<const ToldGates>(std::move(told))});
  }
  if (step_check_.is_due(waiters_.size())) check();
  return std::exchange(effects_, {});
}

void CheckinDesk::check() const {
  COT_INVARIANT(waiters_.size() <= limits_.waiters_max, "no more devices are held than the limit");
  COT_INVARIANT(std::reduce(counts_->begin(), counts_->end(), uint64_t{0}) + waiters_.size() == asked_,
                "every device that asked waits, or has one code for what came of it");
  gates_->check();
  COT_INVARIANT(by_deadline_.size() == waiters_.size(), "every waiter has one deadline, and every deadline a waiter");
  size_t in_rooms = 0;
  for (const auto& [population, room] : rooms_) in_rooms += room.by_device.size();
  COT_INVARIANT(in_rooms == waiters_.size(), "every device in a room is a waiter");
  for (const auto& [id, waiter] : waiters_) {
    COT_INVARIANT(by_deadline_.contains({waiter.hold_until, id}),
                  "every waiter's deadline is the end of its hold time");
    const Room& room = must_find(rooms_, waiter.population, "every waiter's population has a room");
    const WaiterId place = must_find(room.by_device, waiter.device, "every waiter has a place in its room");
    COT_INVARIANT(place == id, "a device has one place in the room");
  }
  std::set<JobId> jobs;
  for (const auto& [key, round] : rounds_) {
    COT_INVARIANT(round.notice.key == key, "a round is kept under its own key");
    COT_INVARIANT(jobs.insert(round.notice.job).second, "a job has one round");
    COT_INVARIANT(served_.contains(round.notice.job), "every job with a round has its count of tickets");
    COT_INVARIANT(round.holders.size() <= round.issued, "whoever holds a ticket was given one");
    const auto rests = [&](const DeviceId& device) { return round.resting.contains(device); };
    COT_INVARIANT(round.resting.empty() || std::ranges::none_of(round.holders, rests),
                  "nobody who rests holds a ticket");
  }
}

}  // namespace coterie
