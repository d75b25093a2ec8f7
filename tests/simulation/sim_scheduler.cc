#include "tests/simulation/sim_scheduler.h"

#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"
#include "tests/simulation/sim_node.h"

namespace coterie::simulation {
namespace {

constexpr Millis kPublishEvery{400};

}  // namespace

void SimScheduler::boot() {
  ++incarnation_;
  machine_.emplace(world_.job());
  run(machine_->start());
  publish_again();
}

void SimScheduler::crash() {
  if (!machine_) return;
  ++world_.oracle().verdict().crashes;
  ++incarnation_;
  machine_.reset();
  view_.reset();
  armed_.reset();
  world_.queue().after(world_.some_delay(Millis(3'000)), [this] { boot(); });
}

// What nodes would learn by polling the store: the newest view again and again, lost or not.
void SimScheduler::publish_again() {
  world_.queue().after(kPublishEvery, [this, incarnation = incarnation_] {
    if (incarnation != incarnation_) return;
    for (uint32_t i = 0; i < world_.nodes().size(); ++i) node_wants_rounds(i);
    publish_again();
  });
}

void SimScheduler::node_wants_rounds(uint32_t node) {
  if (!view_) return;
  world_.send([&w = world_, node, view = *view_] {
    if (w.nodes()[node]->alive()) w.nodes()[node]->publish(view);
  });
}

void SimScheduler::pool_changed(uint32_t node, uint64_t waiting) {
  waiting_[node] = waiting;
  uint64_t total = 0;
  for (const auto& [index, count] : waiting_) total += count;
  step(PoolChanged{total});
}

void SimScheduler::updates_accepted(const RoundKey& key, uint64_t total) {
  // Each node knows what it accepted itself: a lower bound, good enough for a hint.
  step(UpdatesAccepted{key, total});
}

void SimScheduler::step(const RoundEvent& event) {
  if (!machine_) return;
  run(machine_->step(event, world_.queue().now()));
}

void SimScheduler::arm() {
  const std::optional<Instant> next = machine_ ? machine_->next_deadline() : std::nullopt;
  if (!next || (armed_ && *armed_ <= *next && *armed_ > world_.queue().now())) return;
  armed_ = *next;
  world_.queue().at(*next, [this, incarnation = incarnation_] {
    if (incarnation == incarnation_) step(TimePassed{});
  });
}

void SimScheduler::run(RoundEffects effects) {
  for (RoundEffect& effect : effects) {
    if (auto* asked = std::get_if<AskRound>(&effect)) {
      ask(asked->serial, asked->request);
    } else if (auto* published = std::get_if<PublishRound>(&effect)) {
      view_ = published->view;
      for (uint32_t i = 0; i < world_.nodes().size(); ++i) node_wants_rounds(i);
    } else {
      const RoundKey key = std::get<WithdrawRound>(effect).key;
      if (view_ && view_->key == key) view_.reset();
      for (const auto& node : world_.nodes()) {
        world_.send([&n = *node, key] {
          if (n.alive()) n.withdraw(key);
        });
      }
    }
  }
  arm();
}

template <typename Answer, typename Value>
void SimScheduler::ask_store(uint64_t serial, std::function<Result<Value>()> work) {
  world_.ask_store<Result<Value>>(std::move(work), [](Error error) { return Result<Value>(std::move(error)); },
                                  [this, serial, incarnation = incarnation_](Result<Value> value) {
                                    if (incarnation == incarnation_) step(Answer{serial, std::move(value)});
                                  });
}

void SimScheduler::ask(uint64_t serial, const RoundRequest& request) {
  MemoryRoundStore& store = world_.store();
  World& world = world_;
  if (std::holds_alternative<LoadProgress>(request)) {
    ask_store<ProgressLoaded, JobProgress>(serial, [&store, &world] { return store.load_progress(world.job()); });
  } else if (const auto* open = std::get_if<OpenRound>(&request)) {
    ask_store<RoundOpened, RoundRecord>(
        serial, [&store, &world, e = *open] { return store.open_round(world.job(), e, world.queue().wall()); });
  } else if (const auto* count = std::get_if<CountAccepted>(&request)) {
    ask_store<AcceptedCounted, uint64_t>(serial, [&store, e = *count] { return store.count_accepted(e.key); });
  } else if (const auto* move = std::get_if<MoveRound>(&request)) {
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
  const auto work = [&w = world_, key, devices, request]() -> Result<FinalizedRound> {
    COT_ASSIGN(const std::vector<PartialRecord> partials, w.store().list_partials(key));
    COT_ASSIGN(const uint64_t accepted, w.store().count_accepted(key));
    FinalizedRound finalized{.key = key, .model = request.base, .totals = {}};
    std::vector<uint64_t> sum(devices);
    for (const PartialRecord& partial : partials) {
      finalized.totals += partial.totals;
      add_lanes(w.blobs().at(partial.id), sum);
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
