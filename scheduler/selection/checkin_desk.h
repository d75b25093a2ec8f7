// CheckinDesk: one node's waiting room. Devices check in and are held; when a round collects, some are drawn at random
// and get tickets; nobody polls. Pure: who is chosen depends on the seed and the events alone.
//
// A device has at most one place in the room (its newest check-in; an older one is dismissed) and at most one ticket
// per attempt: asking again while its update is not accepted gives the same right again and costs no second place.
//
//   selecting   everybody waits
//   collecting  up to ticket_count devices are drawn, by the job's selection rule (selection_rule.h); whoever comes
//               later gets a ticket while there are any left
//   otherwise   everybody waits, until their own hold time is over: then a retry window by pace steering, as wide as
//               the population is large (the whole fleet's, if there is one: fleet_knows)
//
// A device that holds an update for a later round of its job (buffered rounds, ADR 114) gets a ticket of that round
// whoever else has one: its place was given when it was asked to train. It waits for no other job's round, unless its
// update has become too late for the job's. A device that has so joined kLostJoinsMax attempts of a round, which were
// lost or went on without it, is let into further ones of that round only when their deadline has moved, as too few
// others came (ADR 127).
//
// A device is asked for no plan that has features which it does not know (plan_features.h). It waits for others.
//
// Where several jobs collect from one population, whoever comes goes to the one that has had the fewest tickets for its
// weight (start-time fair queueing; Goyal et al. 1996). A job that begins, begins with the least of the others: what it
// did not want before is nobody's debt.
//
// Each device that asks in an attempt has one gate of it (gate_accounts.h), and so has each check-in.
//
// What selection rules read of devices is what this node has seen itself: who got a ticket here, and whose update was
// accepted here. A device that another node of the fleet has asked, or that this one has before it was restarted, is
// one of which nothing is known.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "proto/messages/plan_features.h"
#include "scheduler/round/round_notice.h"
#include "scheduler/selection/away_estimate.h"
#include "scheduler/selection/lost_joins.h"
#include "scheduler/selection/pace.h"
#include "scheduler/selection/trained_reports.h"

namespace coterie {

struct CheckinCounts;
enum class DeviceGate : uint8_t;
class GateAccounts;
struct GateCode;
struct ToldGates;

// A check-in request that is being held: chosen by the shell, unique while it is held.
using WaiterId = StrongId<struct WaiterTag, uint64_t>;

struct DeskLimits {
  size_t waiters_max = 50'000;
  Millis hold_max{60'000};
};

// Attempts of one round that a device may join in vain before it is let in last.
inline constexpr uint32_t kLostJoinsMax = 2;

// An update that no round counts yet: of which job, and from which of its models, as the server has handed it out.
// `left`: the attempt whose ticket the device shows. It has left that one for good, which with secure aggregation may
// go on without it.
struct HeldUpdate {
  JobId job;
  ModelVersion version;
  Digest model;
  RoundKey left = {};
};

// ---- Effects
// clang-format off
// held: of an update that joins the round.
struct GiveTicket { WaiterId waiter; DeviceId device; RoundKey key; std::optional<HeldUpdate> held = {}; };
struct GiveHeldUp { HeldUpdate held; };  // the update of a waiter is too late for every round to come
struct Dismiss { WaiterId waiter; RetryWindow window; };
struct ReportPool { Population population; uint64_t waiting; };
struct ReportTickets { RoundKey key; uint32_t total; };
struct TellGates { std::shared_ptr<const ToldGates> told; };  // told_gates.h
// clang-format on
using DeskEffect = std::variant<GiveTicket, GiveHeldUp, Dismiss, ReportPool, ReportTickets, TellGates>;
using DeskEffects = std::vector<DeskEffect>;

class CheckinDesk {
 public:
  // draws_by_device: for development. Who is drawn then follows from the seed, the attempt and the devices that wait,
  // in whatever order they came: whoever knows the seed can make a key that is drawn.
  CheckinDesk(DeskLimits limits, PaceSettings pace, uint64_t seed, bool draws_by_device = false);
  ~CheckinDesk();

  // `known`: what the device knows of plans.
  DeskEffects check_in(WaiterId waiter, const DeviceId& device, const Population& population, Millis hold, Instant now,
                       std::optional<HeldUpdate> held = {}, PlanFeatures known = kKnownFeatures);
  // The connection of a held check-in is gone.
  DeskEffects cancel(WaiterId waiter);
  // A ticket could not be handed over: its place is free again.
  DeskEffects undelivered(const RoundKey& key, const DeviceId& device);
  // This device is counted in this attempt: it is not asked again. `report` is what its update said of its training; of
  // the model's version the desk knows itself. It is kept, once, if the round's rule reads it.
  void accepted(const RoundKey& key, const DeviceId& device, TrainedReport report = {});
  // A round as the round machine published it, or changed; `accepted` are devices that are counted in it already,
  // `resting` those that may not be, as they were counted too short a time ago (AcceptStore::list_resting).
  // A device has begun to fetch what has this name: its plan or its model, if a round's is.
  void fetched(const DeviceId& device, const Digest& name);
  // What became of a device's plan or update (gate_accounts.h).
  void met(const RoundKey& key, const DeviceId& device, const GateCode& code);
  DeskEffects publish(const RoundNotice& notice, std::span<const DeviceId> accepted = {},
                      std::span<const DeviceId> resting = {});
  DeskEffects withdraw(const RoundKey& key);
  DeskEffects time_passed(Instant now);
  // Sends all who wait away.
  DeskEffects dismiss_all(Instant now);
  // What a fleet of so many nodes knows, among which devices come and go: the sum of steered_here() over the nodes.
  // A desk that was told nothing goes by what it sees itself, as one node.
  void fleet_knows(std::map<Population, uint64_t> populations, uint32_t nodes);
  std::optional<Instant> next_deadline() const;

  // Per population: devices that wait here + 2 x devices that this node sent away and that have not come back
  // (paced_window). fleet_knows() receives the sum over all nodes.
  std::map<Population, uint64_t> steered_here(Instant now);
  // The same for all populations together. In a fleet: one node's part of the sum over all nodes.
  uint64_t steered(Instant now);

  uint64_t waiting(const Population& population) const;
  // Devices that wait here and would take a ticket of each round that collects, and has none left here. Looks at all
  // who wait.
  std::map<RoundKey, uint64_t> lacking() const;

  // What became of all who asked so far.
  const CheckinCounts& counts() const { return *counts_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Waiter {
    DeviceId device;
    Population population;
    Instant hold_until;
    std::optional<HeldUpdate> held = {};
    std::optional<HeldUpdate> too_late = {};  // what it held; counted once new work goes out in its place
    bool passed_over = false;                 // it took part in a draw, and others were drawn
    PlanFeatures known = kKnownFeatures;
  };
  struct Room {
    std::unordered_map<DeviceId, WaiterId> by_device;
    AwayEstimate away;
    uint64_t reported = 0;
  };
  struct Round {
    RoundNotice notice;
    std::unordered_set<DeviceId> holders;  // have a ticket, are not accepted
    std::unordered_set<DeviceId> accepted;
    std::unordered_set<DeviceId> resting;
    uint32_t issued = 0;        // so many of the notice's tickets
    PlanFeatures features = 0;  // that its plan has
    bool may_ask(const DeviceId& device) const { return !accepted.contains(device) && !resting.contains(device); }
    bool is_known_to(const Waiter& waiter) const { return (features & ~waiter.known) == 0; }
    bool wants(const Waiter& waiter) const { return may_ask(waiter.device) && is_known_to(waiter); }
    // A round of before the update is one that this node has not heard the end of.
    bool is_before(const HeldUpdate& held) const { return notice.assignment.model_version < held.version; }
    bool is_too_late(const HeldUpdate& held) const {
      const uint64_t versions = notice.assignment.model_version.value() - held.version.value();
      return !is_before(held) && versions > notice.plan.staleness.versions_max;
    }
    bool has_tickets() const { return notice.state == RoundState::collecting && issued < notice.ticket_count; }
  };

  void begin_turn(const RoundNotice& notice);
  Round* round_for(const Waiter& waiter);
  bool may_join(const Waiter& waiter, const Round& round) const;
  Round* round_to_join(const Waiter& waiter);
  void give_up_late(Waiter& waiter);
  void draw(Round& round);
  uint64_t seed_of(const RoundKey& key) const;
  void put_in_order(std::vector<WaiterId>& candidates, const RoundKey& key);
  std::vector<WaiterId> chosen_of(const std::vector<WaiterId>& candidates, const Round& round);
  bool serve(WaiterId id, Round& round);
  void remove(WaiterId id, DeviceGate outcome);
  void dismiss(WaiterId id, DeviceGate outcome, Instant now);
  DeviceGate why_not_served(const Waiter& waiter) const;
  void asks_in(const Round& round, const Waiter& waiter);
  void asks(const Waiter& waiter);
  void is_taken(const Round& round, const Waiter& waiter, DeviceGate ticket);
  void leaves(const Waiter& waiter, DeviceGate gate);
  bool collects_for(const Round& round, const Waiter& waiter) const {
    return round.notice.state == RoundState::collecting && round.notice.population == waiter.population;
  }
  uint64_t steered(const Population& population, Room& room, Instant now);
  void forget_ended_jobs(Instant now);
  DeskEffects finish();
  double& tickets_of(const JobId& job);
  Waiter& waiter_of(WaiterId id) { return must_find(waiters_, id, "a waiter that is served or dismissed is held"); }

  DeskLimits limits_;
  PaceSettings pace_;
  uint64_t seed_;
  bool draws_by_device_;
  Prng prng_;
  DeskEffects effects_;

  std::map<WaiterId, Waiter> waiters_;
  std::set<std::pair<Instant, WaiterId>> by_deadline_;
  std::map<Population, Room> rooms_;
  std::map<RoundKey, Round> rounds_;
  std::map<Population, uint64_t> fleet_populations_;
  uint32_t fleet_nodes_ = 1;
  std::map<JobId, double> served_;  // of jobs with rounds: the tickets that a job got, divided by its weight
  TrainedReports reports_;
  Instant look_for_ended_{};
  LostJoins lost_joins_;
  std::unique_ptr<GateAccounts> gates_;
  uint64_t asked_ = 0;
  std::unique_ptr<CheckinCounts> counts_;  // by DeviceGate; with those who wait they are all who asked
  StepCheck step_check_;
};

}  // namespace coterie
