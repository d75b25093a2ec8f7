// A simulated scheduler's attempts with secure aggregation, as round_scheduler_cohorts.cc has them: performs what their
// machines decide (attempt_machine.h), and hands the calls of devices to them.
#include <algorithm>
#include <utility>

#include "fl_server/core/attempt_terms.h"
#include "tests/simulation/mutants.h"
#include "tests/simulation/sim_scheduler.h"

namespace coterie::simulation {
namespace {

constexpr Millis kHold{1'000};

Error no_leader() { return Error(ErrorCode::unavailable, "this scheduler does not lead"); }

Answer answer_of(const Result<CohortReply>& reply) {
  if (!reply) return reply.error();
  return std::visit(
      [](const auto& said) -> Answer {
        if constexpr (std::is_same_v<std::decay_t<decltype(said)>, NotYet>) return said;
        else return ServerMessage(said);
      },
      *reply);
}

}  // namespace

// ---- Stepping

void SimScheduler::step_attempt(const RoundKey& key, AttemptEvent event) {
  const auto attempt = attempts_.find(key);
  if (attempt == attempts_.end()) return;
  AttemptMachine& machine = attempt->second.machine;
  alter(world_.options().mutant, event);
  AttemptEffects effects = machine.step(event, world_.queue().now());
  machine.check();
  alter(world_.options().mutant, effects);
  run(key, std::move(effects));
  arm();
}

// Nothing here steps a machine in this call: what the round is to hear comes in the next turn of the loop.
void SimScheduler::run(const RoundKey& key, AttemptEffects effects) {
  struct Visitor {
    SimScheduler& self;
    const RoundKey& key;
    const LiveAttempt& attempt;

    void operator()(const AnswerTaken& e) { std::get<Taken>(self.take(e.call))(e.taken); }
    void operator()(const AnswerAsked& e) { std::get<Asked>(self.take(e.call))(e.reply); }
    void operator()(const AnnounceDue& e) {
      self.post([&s = self, due = PostDue{key, e.total}] { s.step(LeadEvent(due)); });
    }
    void operator()(const AnnounceExpected& e) { tell(UpdatesExpected{key, e.total}); }
    void operator()(const ListSurvivors& e) {
      self.ask_accepted(key, [&s = self, key = key, serial = e.serial](const Result<std::vector<DeviceId>>& accepted) {
        s.step_attempt(key, SurvivorsListed{serial, accepted});
      });
    }
    void operator()(const OpenSum& e) { self.finalize(e.serial, *attempt.finalize, e); }
    void operator()(const TellNotFinalized& e) { tell(RoundFinalized{e.serial, e.why}); }
    void operator()(const LoseAttempt& e) { tell(AttemptLost{key, e.reason}); }
    void operator()(const NoteRefused& e) {
      self.world_.oracle().problem(&Verdict::stuck, "no session: " + e.why.message());
    }
    void operator()(const NoteFailed&) {}
    void operator()(const NoteUnknownInput&) {}

    void tell(RoundEvent event) {
      self.post([&s = self, event = std::move(event)] { s.step(event); });
    }
  };
  for (const AttemptEffect& effect : effects) std::visit(Visitor{*this, key, attempts_.at(key)}, effect);
}

void SimScheduler::end_attempt(const RoundKey& key) {
  step_attempt(key, AttemptWithdrawn{});
  attempts_.erase(key);
  COT_INVARIANT(std::ranges::none_of(calls_, [&](const auto& call) { return call.second.key == key; }),
                "an attempt that ends answers whom it holds");
}

// ---- The round

void SimScheduler::begin_cohorts(const RoundNotice& notice, const AttemptRules& rules, bool has_accepted) {
  const AttemptTerms terms = terms_of(notice);
  if (!terms.session) return;
  const AttemptMachine& machine = attempts_[notice.key].machine;
  const bool has_begun = machine.is_aggregating();
  std::vector<uint64_t> ring_seeds(rules.cohort_count);
  std::ranges::generate(ring_seeds, [this] { return world_.prng().next(); });
  step_attempt(notice.key, BeginCohorts{*terms.session, rules, notice.goal_count, has_accepted, std::move(ring_seeds),
                                        [](const DeviceIdentity&) { return Status(); }});
  if (!has_begun && machine.is_aggregating()) world_.oracle().sessions_began(notice.key, has_accepted);
}

void SimScheduler::finalize_cohorts(uint64_t serial, const FinalizeRound& finalize) {
  attempts_[finalize.round.key].finalize = finalize;
  step_attempt(finalize.round.key, FinalizeAsked{serial});
}

void SimScheduler::look_at_accepted(const RoundKey& key) {
  const auto attempt = attempts_.find(key);
  if (attempt == attempts_.end() || !attempt->second.machine.is_aggregating()) return;
  ask_accepted(key, [this, key](const Result<std::vector<DeviceId>>& accepted) {
    if (!accepted) return;  // looked at again
    for (const DeviceId& device : *accepted) step_attempt(key, MaskedInputAccepted{device});
    const bool opens_early = world_.options().mutant == Mutant::unmasked_before_freeze;
    if (opens_early && accepted->size() > 1) step_attempt(key, SurvivorsListed{std::nullopt, accepted});
  });
}

void SimScheduler::ask_accepted(const RoundKey& key, std::function<void(Result<std::vector<DeviceId>>)> answer) {
  using Returned = Result<std::vector<DeviceId>>;
  world_.ask_store<Returned>(
      reached_from_, [&store = world_.store(), key] { return store.list_accepted(key); },
      [](Error error) { return Returned(std::move(error)); },
      [this, answer = std::move(answer), incarnation = incarnation_](const Returned& accepted) {
        if (incarnation == incarnation_) guard([answer, accepted] { answer(accepted); })();
      });
}

// ---- Devices

CohortCall SimScheduler::expect(const RoundKey& key, std::variant<Taken, Asked> answer) {
  const CohortCall call(++last_call_);
  calls_.emplace(call, Call{key, std::move(answer)});
  return call;
}

std::variant<SimScheduler::Taken, SimScheduler::Asked> SimScheduler::take(CohortCall call) {
  const auto entry = calls_.find(call);
  COT_INVARIANT(entry != calls_.end(), "a call of a device is answered once");
  return std::move(calls_.extract(entry).mapped().answer);
}

// As a node asks for a device: the message first, and the question once it is taken.
void SimScheduler::exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key,
                            std::optional<CohortMessage> told, std::optional<CohortQuestion> asked, Reply reply) {
  const auto ask = [this, key, device, asked, reply] {
    if (!asked) return reply(Heard{});
    if (!attempts_.contains(key)) return reply(attempt_has_no_session());
    const CohortCall call = expect(key, [reply](const Result<CohortReply>& said) { reply(answer_of(said)); });
    step_attempt(key, CohortAsked{call, device, *asked, kHold});
  };
  guard([this, key, device, public_key, told = std::move(told), ask, reply] {
    if (!lead_) return reply(no_leader());
    if (!told) return ask();
    if (!attempts_.contains(key)) return reply(attempt_has_no_session());
    const CohortCall call = expect(key, [this, ask, reply](const Status& taken) {
      if (taken) post(ask);
      else reply(taken.error());
    });
    step_attempt(key, CohortMessageCame{call, device, public_key, *told});
  })();
}

void SimScheduler::arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input,
                           std::function<void(Status)> reply) {
  guard([this, key, device, input, reply = std::move(reply)] {
    if (!lead_) return reply(no_leader());
    if (!attempts_.contains(key)) return reply(attempt_has_no_session());
    step_attempt(key, MaskedInputCame{expect(key, reply), device, input});
  })();
}

}  // namespace coterie::simulation
