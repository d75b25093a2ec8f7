// What the desk notes of each device that asks in an attempt: gate_accounts.h.
#include "proto/messages/device_gate.h"
#include "scheduler/selection/checkin_desk.h"
#include "scheduler/selection/gate_accounts.h"

namespace coterie {

// One that is counted, and did not ask here, is in the account of whoever gave it its ticket.
void CheckinDesk::asks_in(const Round& round, const Waiter& waiter) {
  if (round.accepted.contains(waiter.device)) return;
  const bool rests = round.resting.contains(waiter.device);
  const DeviceGate gate = rests                       ? DeviceGate::resting
                          : round.is_known_to(waiter) ? DeviceGate::waiting
                                                      : DeviceGate::unsupported;
  gates_->note(round.notice.key, waiter.device, {gate});
}

void CheckinDesk::asks(const Waiter& waiter) {
  for (const auto& [key, round] : rounds_) {
    if (collects_for(round, waiter)) asks_in(round, waiter);
  }
}

// The others do not get it.
void CheckinDesk::is_taken(const Round& round, const Waiter& waiter, DeviceGate ticket) {
  for (const auto& [key, other] : rounds_) {
    if (!collects_for(other, waiter)) continue;
    const bool is_this = key == round.notice.key;
    gates_->note(key, waiter.device, {is_this ? ticket : DeviceGate::other_round});
  }
}

// How it left a round that it waited for: it went by itself, was sent away as others are, or came too late.
void CheckinDesk::leaves(const Waiter& waiter, DeviceGate gate) {
  if (gate == DeviceGate::replaced || gate >= kFirstWithTicket) return;
  const bool is_own = gate == DeviceGate::gone || gate == DeviceGate::desk_full || gate == DeviceGate::stopping;
  for (const auto& [key, round] : rounds_) {
    if (collects_for(round, waiter)) gates_->left(key, waiter.device, is_own ? gate : DeviceGate::no_place);
  }
}

void CheckinDesk::met(const RoundKey& key, const DeviceId& device, const GateCode& code) {
  gates_->note(key, device, code);
}

void CheckinDesk::fetched(const DeviceId& device, const Digest& name) {
  for (const auto& [key, round] : rounds_) {
    const Assignment& assignment = round.notice.assignment;
    const bool is_of_round = assignment.plan == name || assignment.model == name;
    if (is_of_round && round.holders.contains(device)) gates_->note(key, device, {DeviceGate::downloaded});
  }
}

}  // namespace coterie
