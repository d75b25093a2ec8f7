#include "fl_server/runtime/waiting_room.h"

#include <utility>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/runtime/ticket_terms.h"
#include "secure/crypto/random.h"
#include "secure/identity/ticket.h"

namespace coterie {

WaitingRoom::WaitingRoom(const DevicePlaneSettings& settings, const MacKey& ticket_key, Metrics& metrics,
                         RoundProbe* probe)
    : ticket_key_(ticket_key),
      metrics_(metrics),
      probe_(probe),
      desk_(settings.desk, settings.pace, settings.draw_seed ? *settings.draw_seed : random_u64(),
            settings.draw_seed.has_value()) {}

// ---- Devices

void WaitingRoom::check_in(WaiterId waiter, const DeviceId& device, const Population& population, Millis hold,
                           PlanFeatures known, std::optional<HeldUpdate> held, Answer answer) {
  waiters_.emplace(waiter, std::move(answer));
  const Millis until = draining_ ? Millis(0) : hold;
  run(desk_.check_in(waiter, device, population, until, os::monotonic_now(), std::move(held), known));
}

void WaitingRoom::cancel(WaiterId waiter) {
  waiters_.erase(waiter);
  run(desk_.cancel(waiter));
}

void WaitingRoom::dismiss() {
  draining_ = true;
  run(desk_.dismiss_all(os::monotonic_now()));
}

// No ticket is given back: the same device would be drawn again for the same plan.
void WaitingRoom::note_refusal(const DeviceId& device, const Refusal& refusal) {
  const std::string_view reason = refusal_reason::known(refusal.reason);
  if (refusal.round == RoundKey{}) {
    metrics_.device_held(reason);
    return log(LogLevel::info, "device_held", {{"device", device.short_hash()}, {"reason", reason}});
  }
  metrics_.plan_refused(reason);
  log(LogLevel::info, "plan_refused",
      {{"device", device.short_hash()},
       {"round", refusal.round.round.value()},
       {"attempt", refusal.round.attempt.value()},
       {"reason", reason}});
}

// ---- Rounds and the fleet

void WaitingRoom::publish(const RoundNotice& notice, const Listed& devices) {
  rounds_.insert_or_assign(notice.key, notice);
  run(desk_.publish(notice, devices.accepted, devices.resting));
}

void WaitingRoom::withdraw(const RoundKey& key) {
  run(desk_.withdraw(key));
  rounds_.erase(key);
}

// What its update said of its training is for the draw of later rounds; behind masks it is nothing.
void WaitingRoom::accepted(const NoteAccepted& noted) {
  const RoundTotals& said = noted.contribution;
  desk_.accepted(noted.key, noted.device, report_of(said.loss_sum, said.examples, said.train_ms, 0));
}

void WaitingRoom::count_lacking() {
  if (!rounds_.empty()) {
    for (const auto& [key, devices] : desk_.lacking()) events_->tickets_lacking(key, devices);
  }
  for (const auto& [population, count] : desk_.steered_here(os::monotonic_now()))
    events_->devices_steered(population, count);
}

void WaitingRoom::time_passed() { run(desk_.time_passed(os::monotonic_now())); }

// ---- What the desk says

// Counted before it is answered: who hears an answer finds it in the metrics.
void WaitingRoom::run(DeskEffects effects) {
  note_outcomes();
  for (const DeskEffect& effect : effects) std::visit([this](const auto& e) { perform(e); }, effect);
}

void WaitingRoom::note_outcomes() {
  const CheckinCounts& counts = desk_.counts();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == counted_[i]) continue;
    metrics_.checkins_ended(to_string(static_cast<DeviceGate>(i)), counts[i] - counted_[i]);
  }
  counted_ = counts;
}

WaitingRoom::Answer WaitingRoom::take(WaiterId waiter) {
  const auto entry = waiters_.extract(waiter);
  return entry ? std::move(entry.mapped()) : Answer();
}

void WaitingRoom::perform(const GiveTicket& effect) {
  const auto round = rounds_.find(effect.key);
  if (round == rounds_.end() || !waiters_.contains(effect.waiter)) return undelivered(effect.key, effect.device);
  Assignment assignment = round->second.assignment;
  assignment.ticket = seal_ticket(claims_of(round->second, effect), ticket_key_);
  metrics_.checkin_answered(true);
  if (probe_ != nullptr) probe_->device_at(effect.key, effect.device, DeviceStep::drawn);
  take(effect.waiter)(std::move(assignment));
}

void WaitingRoom::perform(const Dismiss& effect) {
  const Answer answer = take(effect.waiter);
  if (!answer) return;
  metrics_.checkin_answered(false);
  answer(effect.window);
  devices_steered_ = desk_.steered(os::monotonic_now());
}

void WaitingRoom::perform(const GiveHeldUp&) { metrics_.update_wasted("too_late"); }

void WaitingRoom::perform(const ReportTickets& effect) { events_->tickets_issued(effect.key, effect.total); }

void WaitingRoom::perform(const TellGates& effect) {
  if (tell_gates_) tell_gates_(*effect.told);
}

void WaitingRoom::perform(const ReportPool& effect) {
  waiting_[effect.population] = effect.waiting;
  uint64_t total = 0;
  for (const auto& [population, count] : waiting_) total += count;
  metrics_.set_devices_waiting(total);
  events_->pool_changed(effect.population, effect.waiting);
}

}  // namespace coterie
