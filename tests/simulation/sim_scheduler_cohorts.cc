// A simulated scheduler's attempts with secure aggregation, as CohortKeeper has them: performs what is decided about
// them (live_attempts.h), and hands the calls of devices on.
#include <algorithm>
#include <utility>

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

// Nothing here steps a round's machine in this call: what the round is to hear comes in the next turn of the loop.
void SimScheduler::step(LiveEvent event) {
  struct Visitor {
    SimScheduler& self;

    void operator()(const AnswerTaken& e) { std::get<Taken>(self.take(e.call))(e.taken); }
    void operator()(const AnswerAsked& e) { std::get<Asked>(self.take(e.call))(e.reply); }
    void operator()(const TellNodesDue& e) {
      self.post([&s = self, due = PostDue{e.key, e.total}] { s.step(LeadEvent(due)); });
    }
    void operator()(const TellJob& e) { self.tell(e); }
    void operator()(const ListRows& e) { self.list_rows(e.key); }
    void operator()(const ListForSum& e) {
      self.ask_accepted(e.key, [&s = self, e](const Result<std::vector<DeviceId>>& accepted) {
        s.step(LiveEvent(SurvivorsOf{e.key, {e.serial, accepted}}));
      });
    }
    void operator()(const FinalizeNow& e) { self.finalize(e); }
    void operator()(const NoteNotBegun& e) {
      self.world_.oracle().problem(&Verdict::stuck, "no session: " + e.why.message());
    }
    void operator()(const NoteFailed&) {}
    void operator()(const NoteUnknownInput&) {}
  };
  if (!attempts_) return;
  alter(world_.options().mutant, event);
  LiveEffects effects = attempts_->step(event, world_.queue().now());
  attempts_->check();
  alter(world_.options().mutant, effects);
  for (const LiveEffect& effect : effects) std::visit(Visitor{*this}, effect);
  arm();
}

// ---- The round

void SimScheduler::begin_cohorts(const ServePublished& served) {
  const RoundKey key = served.round.notice.key;
  const bool has_begun = attempts_->is_aggregating(key);
  std::vector<uint64_t> ring_seeds(LiveAttempts::seeds_needed(served));
  std::ranges::generate(ring_seeds, [this] { return world_.prng().next(); });
  step(LiveEvent(AttemptServed{served, std::move(ring_seeds), [](const DeviceIdentity&) { return Status(); }}));
  if (!has_begun && attempts_->is_aggregating(key)) world_.oracle().sessions_began(key, served.has_accepted);
}

void SimScheduler::list_rows(const RoundKey& key) {
  ask_accepted(key, [this, key](const Result<std::vector<DeviceId>>& accepted) {
    step(LiveEvent(RowsListed{key, accepted}));
    const bool opens_early = world_.options().mutant == Mutant::unmasked_before_freeze;
    if (opens_early && accepted && accepted->size() > 1) {
      step(LiveEvent(SurvivorsOf{key, {std::nullopt, accepted}}));
    }
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

CohortCall SimScheduler::expect(std::variant<Taken, Asked> answer) {
  const CohortCall call(++last_call_);
  calls_.emplace(call, std::move(answer));
  return call;
}

std::variant<SimScheduler::Taken, SimScheduler::Asked> SimScheduler::take(CohortCall call) {
  const auto entry = calls_.find(call);
  COT_INVARIANT(entry != calls_.end(), "a call of a device is answered once");
  return std::move(calls_.extract(entry).mapped());
}

// As a node asks for a device: the message first, and the question once it is taken.
void SimScheduler::exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key,
                            std::optional<CohortMessage> told, std::optional<CohortQuestion> asked, Reply reply) {
  const auto ask = [this, key, device, asked, reply] {
    if (!asked) return reply(Heard{});
    const CohortCall call = expect([reply](const Result<CohortReply>& said) { reply(answer_of(said)); });
    step(LiveEvent(DeviceCalled{key, CohortAsked{call, device, *asked, kHold}}));
  };
  guard([this, key, device, public_key, told = std::move(told), ask, reply] {
    if (!lead_) return reply(no_leader());
    if (!told) return ask();
    const CohortCall call = expect([this, ask, reply](const Status& taken) {
      if (taken) post(ask);
      else reply(taken.error());
    });
    step(LiveEvent(DeviceCalled{key, CohortMessageCame{call, device, public_key, *told}}));
  })();
}

void SimScheduler::arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input,
                           std::function<void(Status)> reply) {
  guard([this, key, device, input, reply = std::move(reply)] {
    if (!lead_) return reply(no_leader());
    step(LiveEvent(DeviceCalled{key, MaskedInputCame{expect(reply), device, input}}));
  })();
}

}  // namespace coterie::simulation
