#include "tests/simulation/sim_scheduler.h"

#include <algorithm>

#include "fl_server/finalize/orphan_partials.h"
#include "fl_server/finalize/sum_masks.h"
#include "fl_server/fleet/fleet_text.h"
#include "secure/identity/manifest.h"
#include "tests/simulation/mutants.h"

namespace coterie::simulation {
namespace {

constexpr Millis kRestartMax{3'000};
const LeaseSettings kLease{.ttl = Millis(2'000), .renew_every = Millis(500), .retry_delay = Millis(200)};

constexpr Millis kTicketLeeway{10'000};
constexpr Millis kOrphanAgeMin{3'600'000};  // as the server's

// What the server's open_masks does with many threads. A session of a sum that is opened has shares enough.
Result<SumMasks> open_masks(const OpenSum& sum, Oracle& oracle) {
  std::vector<MaskSum> masks;
  std::vector<secagg::SummedSession> summed;
  for (const secagg::Server* session : sum.cohorts->sessions()) {
    const Result<secagg::OpenedMasks> opened = session->opening().open();
    if (!opened) {
      oracle.problem(&Verdict::lost, "a masked sum cannot be opened: " + opened.error().message());
      return opened.error();
    }
    if (!opened->blamed.empty()) oracle.problem(&Verdict::lost, "shares of honest devices are wrong");
    COT_ASSIGN(MaskSum own, secagg::to_mask_sum(sum.parameters.suite, opened->masks));
    masks.push_back(std::move(own));
    summed.push_back({session->session(), session->survivors().size()});
  }
  return SumMasks{sum.parameters, std::move(summed), std::move(masks)};
}

Result<Plan> no_plan(const Assignment&) { return Error(ErrorCode::not_found, "every board here has its plans"); }

}  // namespace

// ---- Life

void SimScheduler::boot() {
  alive_ = true;
  ++incarnation_;
  keeper_.emplace(kLease);
  run(keeper_->start(world_.queue().now()));
  arm();
}

void SimScheduler::crash() {
  if (!alive_) return;
  ++world_.oracle().verdict().crashes;
  die(kRestartMax);
}

void SimScheduler::die(Millis rest_max) {
  alive_ = false;
  ++incarnation_;
  keeper_.reset();
  epoch_.reset();
  machine_.reset();
  lead_.reset();
  attempts_.reset();
  calls_.clear();
  served_.reset();
  early_.clear();
  still_until_ = {};
  armed_.reset();
  world_.queue().after(world_.some_delay(rest_max), [this, incarnation = incarnation_] {
    if (incarnation == incarnation_) boot();
  });
}

void SimScheduler::stand_still(Millis time) { still_until_ = world_.queue().now() + time; }

std::function<void()> SimScheduler::guard(std::function<void()> event) {
  return [this, incarnation = incarnation_, event = std::move(event)] {
    if (incarnation != incarnation_ || !alive_) return;
    if (world_.queue().now() >= still_until_) return event();
    world_.queue().at(still_until_ + world_.some_delay(Millis(5)), guard(event));
  };
}

void SimScheduler::arm() {
  if (keeper_) keeper_->check();
  std::optional<Instant> next = keeper_ ? keeper_->next_deadline() : std::nullopt;
  const auto consider = [&](std::optional<Instant> at) {
    if (at) next = next ? std::min(*next, *at) : *at;
  };
  if (machine_) consider(machine_->next_deadline());
  if (served_) consider(served_->next_deadline());
  if (lead_) consider(lead_->next_deadline());
  if (attempts_) consider(attempts_->next_deadline());
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = *next;
  world_.queue().at(*next, guard([this, armed = *next] {
    if (armed_ != armed) return;  // an earlier one was armed since
    armed_.reset();
    const Instant now = world_.queue().now();
    const auto is_due = [&](std::optional<Instant> at) { return at && *at <= now; };
    if (is_due(keeper_->next_deadline())) run(keeper_->time_passed(now));
    if (machine_ && is_due(machine_->next_deadline())) step(TimePassed{});
    if (served_ && is_due(served_->next_deadline())) step(ServingEvent(ServingTime{}));
    if (lead_ && is_due(lead_->next_deadline())) step(LeadEvent(LeadTime{}));
    if (attempts_ && is_due(attempts_->next_deadline())) step(LiveEvent(AttemptTime{}));
    if (alive_) arm();
  }));
}

// ---- The lead

void SimScheduler::run(const LeaseEffects& effects) {
  for (const LeaseEffect& effect : effects) {
    if (const auto* ask = std::get_if<AskLease>(&effect)) ask_for_lease(ask->serial);
    else if (const auto* held = std::get_if<LeaseHeld>(&effect)) lead(held->epoch);
    else if (std::holds_alternative<LeaseLost>(effect)) return die(Millis(200));  // its supervisor starts it again
  }
}

void SimScheduler::ask_for_lease(uint64_t serial) {
  const std::string holder = url();
  using Returned = Result<LeaseAnswer>;
  world_.ask_store<Returned>(
      reached_from_,
      [&w = world_, holder]() -> Returned {
        FleetTables::Lease& lease = w.fleet().lease;
        const Instant now = w.queue().now();
        if (lease.holder != holder && lease.expires > now) {
          return LeaseAnswer{false, LeaseEpoch(lease.epoch), lease.holder,
                             std::chrono::duration_cast<Millis>(lease.expires - now)};
        }
        if (lease.holder != holder) ++lease.epoch;
        lease.holder = holder;
        lease.expires = now + kLease.ttl;
        return LeaseAnswer{true, LeaseEpoch(lease.epoch), holder, kLease.ttl};
      },
      [](Error error) { return Returned(std::move(error)); },
      [this, serial, incarnation = incarnation_](Returned answer) {
        if (incarnation != incarnation_) return;
        guard([this, serial, answer = std::move(answer)] {
          run(keeper_->answered(serial, answer, world_.queue().now()));
          arm();
        })();
      });
}

void SimScheduler::lead(LeaseEpoch epoch) {
  ++world_.oracle().verdict().leaders;
  epoch_ = epoch;
  // What must not be at once: a batch on its way to the store names such a sum in a moment.
  const Millis age_min = world_.options().mutant == Mutant::orphans_at_once ? Millis(0) : kOrphanAgeMin;
  const auto jobs = world_.store().list_jobs();
  COT_ASSERT(jobs.has_value());
  COT_ASSERT(remove_orphan_partials(*jobs, world_.store(), world_.store(), world_.partials(), age_min).has_value());
  const Millis poll_every = Millis(400) + world_.some_delay(Millis(400));
  lead_.emplace(LeadSettings{.poll_every = poll_every, .settle = Millis(300)}, url(), world_.queue().now());
  served_.emplace();
  attempts_.emplace();
  machine_.emplace(world_.job());
  run(machine_->start());
}

template <typename Value>
std::function<Result<Value>()> SimScheduler::fenced(std::function<Result<Value>()> work) {
  return [&w = world_, epoch = *epoch_, work = std::move(work)]() -> Result<Value> {
    if (w.fleet().lease.epoch != epoch.value())
      return Error(ErrorCode::conflict, "this scheduler does not lead any more");
    return work();
  };
}

// ---- The nodes

void SimScheduler::step(LeadEvent event) {
  alter(world_.options().mutant, event);
  LeadEffects effects = lead_->step(event, world_.queue().now());
  lead_->check();
  alter(world_.options().mutant, effects);
  for (const LeadEffect& effect : effects) perform(effect);
  arm();
}

void SimScheduler::perform(const LeadEffect& effect) {
  struct Visitor {
    SimScheduler& self;
    void operator()(const HearNodes&) { self.hear(); }
    void operator()(const ForgetNodes& e) {
      const Instant now = self.world_.queue().now();
      std::erase_if(self.world_.fleet().nodes,
                    [&](const auto& node) { return node.second.when + e.silent_for <= now; });
    }
    void operator()(const TellNodes& e) { self.step(ServingEvent(NodesCounted{e.nodes})); }
    void operator()(const TellPool& e) { self.step(ServingEvent(PoolHeard{e.population, e.waiting})); }
    void operator()(const TellIssued& e) { self.step(ServingEvent(TicketsHeard{e.key, e.total})); }
    void operator()(const TellAccepted& e) { self.step(ServingEvent(AcceptedHeard{e.key, e.total})); }
    void operator()(const LookAtAccepted& e) { self.step(LiveEvent(RowsMayBeThere{e.key})); }
    void operator()(const WriteBoard& e) { self.write(e.board); }
  };
  std::visit(Visitor{*this}, effect);
}

void SimScheduler::hear() {
  using Returned = Result<std::vector<NodeRow>>;
  world_.ask_store<Returned>(
      reached_from_,
      [&w = world_]() -> Returned {
        std::vector<NodeRow> rows;
        for (const auto& [name, node] : w.fleet().nodes) {
          rows.push_back({node.report, {}, std::chrono::duration_cast<Millis>(w.queue().now() - node.when)});
        }
        return rows;
      },
      [](Error error) { return Returned(std::move(error)); },
      [this, incarnation = incarnation_](const Returned& rows) {
        if (incarnation != incarnation_) return;
        guard([this, rows] { step(LeadEvent(NodesHeard{rows})); })();
      });
}

void SimScheduler::write(const PostedBoard& board) {
  world_.ask_store<Result<bool>>(
      reached_from_, fenced<bool>([&w = world_, board]() -> Result<bool> {
        Result<PostedBoard> posted = board_from_text(to_text(board), no_plan);
        COT_ASSERT(posted.has_value());
        w.fleet().board = {w.fleet().board.revision + 1, std::make_shared<const PostedBoard>(std::move(*posted))};
        return true;
      }),
      [](Error error) { return Result<bool>(std::move(error)); },
      [this, incarnation = incarnation_](const Result<bool>& written) {
        if (incarnation != incarnation_) return;
        guard([this, done = written ? Status() : Status(written.error())] { step(LeadEvent(BoardWritten{done})); })();
      });
}

// ---- Rounds

void SimScheduler::step(const RoundEvent& event) {
  if (!machine_) return;
  RoundEffects effects = machine_->step(event, world_.queue().now());
  machine_->check();
  run(std::move(effects));
}

void SimScheduler::run(RoundEffects effects) {
  for (RoundEffect& effect : effects) {
    if (auto* asked = std::get_if<AskRound>(&effect)) {
      ask(asked->serial, asked->request);
    } else if (auto* published = std::get_if<PublishRound>(&effect)) {
      step(LiveEvent(*published));
      step(ServingEvent(*published));
    } else {
      step(ServingEvent(std::get<WithdrawRound>(effect)));
    }
  }
  arm();
}

void SimScheduler::tell(const TellJob& told) {
  post([this, event = told.event] { step(event); });
}

void SimScheduler::step(const ServingEvent& event) {
  struct Visitor {
    SimScheduler& self;
    void operator()(const TellJob& e) { self.tell(e); }
    void operator()(const AskBeforeServing& e) { self.ask_before_serving(e); }
    void operator()(const ServePublished& e) { self.serve(e); }
    void operator()(const StopServing& e) {
      self.step(LeadEvent(UnpostRound{e.key}));
      self.step(LiveEvent(e));
    }
    void operator()(const SignAgain&) { self.world_.oracle().problem(&Verdict::stuck, "no clock was set here"); }
    void operator()(const NoteUpdates&) {}
  };
  const ServingEffects effects = served_->step(event, world_.queue().now());
  served_->check();
  for (const ServingEffect& effect : effects) std::visit(Visitor{*this}, effect);
  arm();
}

// No world has a ledger: its attempts have the job's plan.
void SimScheduler::ask_before_serving(const AskBeforeServing& asked) {
  using Returned = Result<uint64_t>;
  world_.ask_store<Returned>(
      reached_from_, [&store = world_.store(), key = asked.notice.key] { return store.count_accepted(key); },
      [](Error error) { return Returned(std::move(error)); },
      [this, asked, incarnation = incarnation_](const Returned& accepted) {
        if (incarnation != incarnation_) return;
        const Assignment& assignment = asked.notice.assignment;
        const Result<ReadyRound> ready =
            accepted ? Result<ReadyRound>(ReadyRound{*accepted > 0, assignment.plan, assignment.plan_bytes})
                     : Result<ReadyRound>(accepted.error());
        guard([this, readied = RoundReadied{asked.serial, asked.notice.key, ready}] { step(ServingEvent(readied)); })();
      });
}

void SimScheduler::serve(const ServePublished& served) {
  RoundNotice notice = served.round.notice;
  const Now now{world_.queue().now(), world_.queue().wall()};
  notice.assignment.not_after = assignment_end(served.round.rules.deadline, kTicketLeeway, now);
  COT_ASSERT(sign_manifest(notice.assignment, world_.signer()).has_value());
  begin_cohorts(served);
  step(LeadEvent(PostRound{std::move(notice)}));
}

template <typename Returned, typename Value>
void SimScheduler::ask_store(uint64_t serial, std::function<Result<Value>()> work) {
  world_.ask_store<Result<Value>>(
      reached_from_, fenced<Value>(std::move(work)), [](Error error) { return Result<Value>(std::move(error)); },
      [this, serial, incarnation = incarnation_](Result<Value> value) {
        if (incarnation != incarnation_) return;
        guard([this, serial, value = std::move(value)] { step(Returned{serial, value}); })();
      });
}

void SimScheduler::ask(uint64_t serial, const RoundRequest& request) {
  MemoryTrainingStore& store = world_.store();
  World& world = world_;
  if (std::holds_alternative<LoadProgress>(request)) {
    ask_store<ProgressLoaded, JobProgress>(serial, [&store, &world] { return store.load_progress(world.job()); });
  } else if (const auto* open = std::get_if<OpenRound>(&request)) {
    ask_store<RoundOpened, RoundRecord>(
        serial, [&store, &world, e = *open] { return store.open_round(world.job(), e, world.queue().wall()); });
  } else if (const auto* count = std::get_if<CountAccepted>(&request)) {
    ask_store<AcceptedCounted, uint64_t>(serial, [&store, e = *count] { return store.count_accepted(e.key); });
  } else if (const auto* move = std::get_if<MoveRound>(&request)) {
    if (world.options().mutant == Mutant::early_partials && move->to == RoundState::frozen)
      early_ = *store.list_partials(move->key);
    ask_store<RoundMoved, bool>(serial, [&store, &world, e = *move] {
      const Result<bool> won = store.move_round(e, world.queue().wall());
      if (e.to == RoundState::failed && won && *won) world.oracle().failed(e.key, *store.count_accepted(e.key));
      return won;
    });
  } else if (const auto* finalizing = std::get_if<FinalizeRound>(&request)) {
    step(LiveEvent(FinalizeWanted{serial, *finalizing}));
  } else if (const auto* commit = std::get_if<CommitRound>(&request)) {
    ask_store<RoundCommitted, JobProgress>(serial, [&store, &world, e = *commit] {
      Result<JobProgress> progress = store.commit_round(world.job(), e, world.queue().wall());
      if (progress) world.round_committed(e.round);
      return progress;
    });
  } else if (const auto* fail = std::get_if<FailJob>(&request)) {
    world_.oracle().problem(&Verdict::stuck, "the job has failed: " + fail->reason);
  }
}

// The masks of a sum are opened first: after a while, as its cohorts change no more.
void SimScheduler::finalize(const FinalizeNow& asked) {
  using Returned = Result<FinalizedRound>;
  const auto work = [&w = world_, asked, early = early_]() -> Returned {
    std::optional<SumMasks> masks;
    if (asked.sum) {
      COT_ASSIGN(masks, open_masks(*asked.sum, w.oracle()));
    }
    if (w.options().mutant == Mutant::early_partials) w.store().show(&early);
    const FinalizeRound& request = asked.request;
    Returned round =
        w.finalizer().finalize(request.job, request.round, request.base, w.queue().wall(), masks ? &*masks : nullptr);
    w.store().show(nullptr);
    return round;
  };
  world_.ask_store<Returned>(
      reached_from_, fenced<FinalizedRound>(work), [](Error error) { return Returned(std::move(error)); },
      [this, asked, incarnation = incarnation_](const Returned& round) {
        if (incarnation != incarnation_) return;
        guard([this, asked, round] {
          const RoundKey& key = asked.request.round.key;
          // Nothing here damages what is stored: whoever is accepted is in the sum, and it can be opened.
          if (asked.sum && !round && round.error().code() == ErrorCode::data_loss)
            world_.oracle().sum_mismatched(key, round.error().message());
          step(LiveEvent(FinalizeDone{asked.serial, asked.request.job.id, key, asked.sum.has_value(), round}));
        })();
      });
}

}  // namespace coterie::simulation
