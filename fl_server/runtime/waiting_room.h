// WaitingRoom: the shell around a node's check-in desk (checkin_desk.h): whose answer belongs to which waiter, the
// tickets of those who are drawn, and what is counted of it.
//
// Threading: the core's thread, but for what says otherwise. Answers are called on it and must only hand on.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "fl_server/core/round_intake.h"
#include "fl_server/runtime/fleet_link.h"
#include "fl_server/settings/device_plane_settings.h"
#include "fl_server/telemetry/metrics.h"
#include "fl_server/telemetry/round_probe.h"
#include "proto/messages/checkin.h"
#include "proto/messages/device_gate.h"
#include "scheduler/selection/checkin_desk.h"
#include "scheduler/selection/told_gates.h"
#include "secure/crypto/mac.h"

namespace coterie {

class WaitingRoom {
 public:
  using Answer = std::function<void(std::variant<Assignment, RetryWindow>)>;

  // `ticket_key`, `metrics` and `probe` outlive this; a null probe: nobody hears who is drawn.
  WaitingRoom(const DevicePlaneSettings& settings, const MacKey& ticket_key, Metrics& metrics,
              RoundProbe* probe = nullptr);
  // How an attempt's devices stand, from time to time and at its end.
  using GatesTold = std::function<void(const ToldGates&)>;
  // Before anything else; `events` outlives this. `tell` may be empty.
  void start(NodeEvents& events, GatesTold tell = {}) {
    events_ = &events;
    tell_gates_ = std::move(tell);
  }

  // ---- Devices. `answer` is called once, unless the check-in is cancelled or this ends. `known`: of plans, by it.
  void check_in(WaiterId waiter, const DeviceId& device, const Population& population, Millis hold, PlanFeatures known,
                std::optional<HeldUpdate> held, Answer answer);
  void cancel(WaiterId waiter);
  void undelivered(const RoundKey& key, const DeviceId& device) { run(desk_.undelivered(key, device)); }
  // Sends all who wait away, and all who come later.
  void dismiss();
  // For metrics and the log: a device refuses a plan, or what held it back without one. Any thread.
  void note_refusal(const DeviceId& device, const Refusal& refusal);
  // CheckinDesk::fetched and CheckinDesk::met.
  void fetched(const DeviceId& device, const Digest& name) { desk_.fetched(device, name); }
  void met(const RoundKey& key, const DeviceId& device, const GateCode& code) { desk_.met(key, device, code); }

  // ---- Rounds
  void publish(const RoundNotice& notice, const Listed& devices);
  void withdraw(const RoundKey& key);
  void accepted(const NoteAccepted& noted);

  // ---- The fleet
  // Has events say tickets_lacking() for each round, and devices_steered() for each population.
  void count_lacking();
  void fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes) {
    desk_.fleet_knows(std::move(populations), nodes);
  }

  void time_passed();
  std::optional<Instant> next_deadline() const { return desk_.next_deadline(); }
  // CheckinDesk::steered, as of a moment ago. Any thread.
  uint64_t devices_steered() const { return devices_steered_; }

 private:
  void run(DeskEffects effects);
  void perform(const GiveTicket& effect);
  void perform(const GiveHeldUp&);
  void perform(const Dismiss& effect);
  void perform(const ReportPool& effect);
  void perform(const ReportTickets& effect);
  void perform(const TellGates& effect);
  void note_outcomes();
  Answer take(WaiterId waiter);  // empty: it was cancelled

  const MacKey& ticket_key_;
  Metrics& metrics_;
  RoundProbe* const probe_;
  NodeEvents* events_ = nullptr;
  GatesTold tell_gates_;

  CheckinDesk desk_;
  CheckinCounts counted_ = {};  // of the desk's, as the metrics have them
  std::map<Population, uint64_t> waiting_;
  std::map<RoundKey, RoundNotice> rounds_;
  std::unordered_map<WaiterId, Answer> waiters_;
  std::atomic<uint64_t> devices_steered_{0};
  bool draining_ = false;
};

}  // namespace coterie
