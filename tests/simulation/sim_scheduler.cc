#include "tests/simulation/sim_scheduler.h"

#include <algorithm>
#include <set>

#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"

namespace coterie::simulation {
namespace {

constexpr Millis kTick{400};
constexpr Millis kSettle{300};
constexpr Millis kSilenceMax{5'000};
constexpr Millis kRestartMax{3'000};
const LeaseSettings kLease{.ttl = Millis(2'000), .renew_every = Millis(500), .retry_delay = Millis(200)};

std::string text_of(const TicketShares& shares) {
  std::string text;
  for (const auto& [life, share] : shares) text += " " + life + "=" + std::to_string(share);
  return text;
}

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
  tally_.reset();
  view_.reset();
  write_from_.reset();
  early_.reset();
  told_accepted_.clear();
  still_until_ = {};
  armed_.reset();
  written_.clear();
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
  if (const auto other = machine_ ? machine_->next_deadline() : std::nullopt)
    next = next ? std::min(*next, *other) : *other;
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = *next;
  world_.queue().at(*next, guard([this, armed = *next] {
    if (armed_ != armed) return;  // an earlier one was armed since
    armed_.reset();
    const Instant now = world_.queue().now();
    if (const auto due = keeper_->next_deadline(); due && *due <= now) run(keeper_->time_passed(now));
    if (!machine_) return arm();
    if (const auto due = machine_->next_deadline(); due && *due <= now) step(TimePassed{});
    else arm();
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
  const std::string holder = "scheduler" + std::to_string(index_) + "/" + std::to_string(incarnation_);
  using Answer = Result<LeaseAnswer>;
  world_.ask_store<Answer>(
      reached_from_,
      [&w = world_, holder]() -> Answer {
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
      [](Error error) { return Answer(std::move(error)); },
      [this, serial, incarnation = incarnation_](Answer answer) {
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
  tally_.emplace(kSilenceMax);
  write_from_ = world_.queue().now() + kSettle;  // rounds that go on have to be heard of first
  if (world_.options().mutant == Mutant::orphans_at_once) remove_orphans();
  machine_.emplace(world_.job());
  run(machine_->start());
  tick();
}

// What must not be: a batch on its way to the store names such a sum in a moment.
void SimScheduler::remove_orphans() {
  std::set<std::string> known;
  const auto progress = world_.store().load_progress(world_.job());
  if (progress->latest) {
    const auto partials = world_.store().list_partials(progress->latest->key);
    for (const PartialRecord& partial : *partials) known.insert(partial.id);
  }
  std::erase_if(world_.blobs(), [&](const auto& blob) { return !known.contains(blob.first); });
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

void SimScheduler::tick() {
  using Answer = Result<std::vector<NodeRow>>;
  world_.ask_store<Answer>(
      reached_from_,
      [&w = world_]() -> Answer {
        std::vector<NodeRow> rows;
        for (const auto& [node, said] : w.fleet().nodes) {
          NodeRow row;
          row.report = *said.first;
          row.age = std::chrono::duration_cast<Millis>(w.queue().now() - said.second);
          rows.push_back(std::move(row));
        }
        return rows;
      },
      [](Error error) { return Answer(std::move(error)); },
      [this, incarnation = incarnation_](const Answer& rows) {
        if (incarnation != incarnation_ || !rows) return;
        guard([this, rows = *rows] { hear(rows); })();
      });
  world_.queue().after(kTick + world_.some_delay(kTick), guard([this] { tick(); }));
}

void SimScheduler::hear(const std::vector<NodeRow>& rows) {
  tally_->hear(rows);
  tally_->check();
  step(PoolChanged{tally_->waiting(Population("default")), tally_->nodes()});
  if (machine_ && view_) {
    const RoundKey key = view_->key;
    step(TicketsIssued{key, tally_->issued(key)});
    if (machine_ && view_ && view_->key == key &&
        std::exchange(told_accepted_[key], tally_->accepted(key)) != tally_->accepted(key)) {
      step(UpdatesAccepted{key, tally_->accepted(key)});
    }
  }
  write_board();
}

void SimScheduler::write_board() {
  if (!write_from_ || world_.queue().now() < *write_from_) return;
  FleetTables::Board board;
  board.round = view_;
  if (view_) board.shares = tally_->shares(view_->key);
  const std::string text =
      view_ ? std::to_string(view_->key.round.value()) + "." + std::to_string(view_->key.attempt.value()) + " " +
                  std::to_string(static_cast<int>(view_->state)) + " " +
                  std::to_string(view_->deadline.time_since_epoch().count()) + text_of(board.shares)
            : "none";
  if (text == written_) return;
  using Answer = Result<bool>;
  world_.ask_store<Answer>(
      reached_from_, fenced<bool>([&w = world_, board]() -> Answer {
        FleetTables::Board next = board;
        next.revision = w.fleet().board->revision + 1;
        w.fleet().board = std::make_shared<const FleetTables::Board>(std::move(next));
        return true;
      }),
      [](Error error) { return Answer(std::move(error)); },
      [this, text, incarnation = incarnation_](const Answer& written) {
        if (incarnation == incarnation_ && written) written_ = text;
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
      const RoundView& view = published->view;
      if (view.state == RoundState::selecting) continue;  // nothing to do for nodes
      if (view_ && view_->key != view.key) tally_->withdraw(view_->key);
      view_ = view;
      tally_->serve(view.key, view.population, view.ticket_count);
      write_board();
    } else {
      const RoundKey key = std::get<WithdrawRound>(effect).key;
      if (!view_ || view_->key != key) continue;
      tally_->withdraw(key);
      view_.reset();
      write_board();
    }
  }
  arm();
}

template <typename Answer, typename Value>
void SimScheduler::ask_store(uint64_t serial, std::function<Result<Value>()> work) {
  world_.ask_store<Result<Value>>(
      reached_from_, fenced<Value>(std::move(work)), [](Error error) { return Result<Value>(std::move(error)); },
      [this, serial, incarnation = incarnation_](Result<Value> value) {
        if (incarnation != incarnation_) return;
        guard([this, serial, value = std::move(value)] { step(Answer{serial, value}); })();
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
      if (e.to == RoundState::failed && won && *won) ++world.oracle().verdict().retries;
      return won;
    });
  } else if (const auto* finalizing = std::get_if<FinalizeRound>(&request)) {
    finalize(serial, *finalizing);
  } else if (const auto* commit = std::get_if<CommitRound>(&request)) {
    ask_store<RoundCommitted, JobProgress>(serial, [&store, &world, e = *commit] {
      Result<JobProgress> progress = store.commit_round(world.job(), e, world.queue().wall());
      if (progress) world.round_committed(e.round.key);
      return progress;
    });
  } else if (const auto* fail = std::get_if<FailJob>(&request)) {
    world_.oracle().problem(&Verdict::stuck, "the job has failed: " + fail->reason);
  }
}

// The finalizer's arithmetic and its check, on blobs in memory.
void SimScheduler::finalize(uint64_t serial, const FinalizeRound& request) {
  const RoundKey key = request.round.key;
  const uint64_t devices = world_.options().devices;
  const auto work = [&w = world_, key, devices, request, early = early_]() -> Result<FinalizedRound> {
    COT_ASSIGN(std::vector<PartialRecord> partials, w.store().list_partials(key));
    if (early)
      std::erase_if(partials, [&](const PartialRecord& p) { return std::ranges::find(*early, p) == early->end(); });
    COT_ASSIGN(const uint64_t accepted, w.store().count_accepted(key));
    FinalizedRound finalized{.key = key, .model = request.base, .totals = {}};
    std::vector<uint64_t> sum(devices);
    for (const PartialRecord& partial : partials) {
      finalized.totals += partial.totals;
      if (w.blobs().contains(partial.id)) add_lanes(w.blobs().at(partial.id), sum);
    }
    if (finalized.totals.updates != accepted && w.options().mutant == Mutant::none) {
      return Error(ErrorCode::data_loss, "partials and rows differ");
    }
    for (uint64_t& lane : sum) lane >>= w.fixed_point().fraction_bits;
    w.finalized()[key] = sum;
    finalized.model.version = ModelVersion(request.base.version.value() + 1);
    const std::string name = "model " + std::to_string(finalized.model.version.value());
    finalized.model.digest = content_digest(as_bytes(name));
    return finalized;
  };
  ask_store<RoundFinalized, FinalizedRound>(serial, work);
}

}  // namespace coterie::simulation
