#include "tests/simulation/world.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "proto/codec/codec.h"
#include "proto/codec/frame.h"
#include "scheduler/selection/selection_registry.h"
#include "secure/crypto/digest.h"
#include "tests/simulation/sim_device.h"
#include "tests/simulation/sim_node.h"
#include "tests/simulation/sim_scheduler.h"
#include "tests/simulation/verified_signatures.h"
#include "tests/support/plain_model.h"

namespace coterie::simulation {
namespace {

// Each rule of the draw has its worlds: who is drawn must be of no consequence to any guarantee.
SelectionSettings selection_of(const WorldOptions& options) {
  const SelectionRule& rule = *selection_rules()[options.seed % selection_rules().size()];
  const bool reads_updates = rule.memory == SelectionMemory::training;
  if (options.is_buffered || options.mutant != Mutant::none || (options.is_masked() && reads_updates)) return {};
  return SelectionSettings::of(rule.name);
}

JobSettings spec_of(const WorldOptions& options) {
  JobSettings spec;
  spec.common.name = "simulated";
  HorizontalSettings& settings = spec.horizontal();
  settings.privacy.level = options.level;
  settings.rounds.count = options.rounds;
  settings.rounds.goal_count = options.goal_count;
  settings.rounds.goal_count_min = std::max(1u, options.goal_count / 2);
  settings.rounds.over_selection = options.over_selection;
  settings.rounds.selecting_max = Millis(3'000);
  settings.rounds.collecting_max = Millis(options.is_masked() ? 40'000 : 20'000);
  settings.rounds.retry_delay = Millis(200);
  settings.rounds.attempts_max = 1000;
  settings.rounds.selection = selection_of(options);
  if (options.is_buffered) {
    settings.rounds.policy = RoundPolicyKind::buffered;
    settings.rounds.concurrency = options.concurrency;
    settings.rounds.staleness_max = kStalenessMax;  // no update is too late
  }
  if (!options.is_masked()) return spec;
  settings.rounds.goal_count_min = std::max(settings.rounds.goal_count_min, settings.privacy.cohort_min);
  settings.privacy.dropout_share = options.dropout_share;
  settings.privacy.cohort_max = options.cohort_max;
  settings.privacy.phase_max = Millis(6'000);
  return spec;
}

StoreDefects defects_of(Mutant mutant) {
  return {.forgets_partial_ids = mutant == Mutant::no_idempotence,
          .ignores_conflicts = mutant == Mutant::no_conflict_check,
          .ignores_round_state = mutant == Mutant::no_state_check};
}

}  // namespace

World::World(const WorldOptions& options)
    : options_(options), prng_(Prng::derived(options.seed, 1)), store_(defects_of(options.mutant)) {
  forget_verified_signatures();
  Bytes seed(32, 0x5a);
  signer_ = std::move(*make_signer(KeyAlgorithm::ed25519, seed));
  const JobSettings spec = spec_of(options_);
  Plan plan = plan_of(spec.horizontal(), job_, options_.devices);
  // Devices keep states, which stand for what was counted.
  if (!options.is_buffered) plan.training.correction = {CorrectionKind::feddyn, 1};
  fixed_point_ = plan.update.fixed_point;
  plan_bytes_ = encode(plan);

  JobRecord job;
  job.id = job_;
  job.spec = spec;
  job.plan = content_digest(plan_bytes_);
  job.plan_bytes = static_cast<uint32_t>(plan_bytes_.size());
  job.value_count = options_.devices;
  const Bytes model = test::plain_model(std::vector<float>(options_.devices));
  head_ = *models_.put(model);
  ModelRecord initial;
  initial.job = job_;
  initial.digest = head_;
  initial.bytes = model.size();
  COT_ASSERT(store_.create_job(job, initial).has_value());

  for (uint32_t i = 0; i < options_.schedulers; ++i) schedulers_.push_back(std::make_unique<SimScheduler>(*this, i));
  for (uint32_t i = 0; i < options_.nodes; ++i) nodes_.push_back(std::make_unique<SimNode>(*this, i));
  for (uint32_t i = 0; i < options_.devices; ++i) {
    devices_.push_back(std::make_unique<SimDevice>(*this, i));
    by_id_[devices_.back()->id()] = i;
  }
}

World::~World() = default;

void World::send(std::function<void()> arrive) {
  const bool faults = faults_are_on();
  if (faults && prng_.chance(options_.loss)) return;
  const int copies = faults && prng_.chance(options_.duplication) ? 2 : 1;
  if (copies == 2) queue_.after(some_delay(options_.delay_max), arrive);
  queue_.after(some_delay(options_.delay_max), std::move(arrive));
}

// A fault again and again, at exponentially distributed intervals, while faults are on.
void World::repeat(Millis mean, std::function<void()> fault) {
  if (mean.count() == 0) return;
  const double wait = -std::log(1.0 - prng_.uniform()) * static_cast<double>(mean.count());
  queue_.after(Millis(static_cast<int64_t>(wait) + 1), [this, mean, fault] {
    if (!faults_are_on()) return;
    fault();
    repeat(mean, fault);
  });
}

SimScheduler* World::scheduler_at(std::string_view url) {
  for (const auto& scheduler : schedulers_) {
    if (scheduler->alive() && scheduler->url() == url) return scheduler.get();
  }
  return nullptr;
}

const DeviceId& World::device_id(uint32_t index) const { return devices_[index]->id(); }

BlobStore& World::partials() {
  partials_.pass(std::chrono::duration_cast<Millis>(queue_.now() - std::exchange(partials_at_, queue_.now())));
  return partials_;
}

std::vector<float> World::weights_of(const Digest& model) {
  const Result<Frame> frame = parse_frame(models_.bytes_of(model), FrameKind::model);
  COT_ASSERT(frame.has_value());
  std::vector<float> weights(options_.devices);
  COT_ASSERT(frame->payload.size() == weights.size() * sizeof(float));
  std::memcpy(weights.data(), frame->payload.data(), frame->payload.size());
  return weights;
}

// The mean of the updates is what the model has moved by: with the weight that it was divided by it says how often each
// device was counted.
void World::round_committed(const FinalizedRound& round) {
  const Result<std::vector<DeviceId>> rows = store_.list_accepted(round.key);
  std::set<uint32_t> accepted;
  for (const DeviceId& device : *rows) accepted.insert(index_of(device));
  const std::vector<float> before = weights_of(std::exchange(head_, round.model.digest));
  const std::vector<float> after = weights_of(head_);
  std::vector<uint64_t> counts(before.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    const double moved = (static_cast<double>(after[i]) - before[i]) * static_cast<double>(round.totals.weight);
    counts[i] = static_cast<uint64_t>(std::max(0.0, std::round(moved)));
  }
  oracle_.committed(round.key, counts, accepted);
  is_last_round_done_ = completed();
}

bool World::completed() { return store_.get_job(job_)->state == JobState::completed; }

// What an operator is told of each round that is done: whoever it counts is among those that asked.
void World::judge_gates() {
  const auto rounds = store_.list_rounds(job_, {.limit = 10'000});
  for (const RoundRecord& round : *rounds) {
    if (round.state != RoundState::done) continue;
    std::vector<GateRow> rows;
    for (const auto& [life, row] : gates_[round.key]) rows.push_back(row);
    const RoundWhy why = why_of(rows, {round.totals.updates, true}, true);
    uint64_t sum = 0, counted = 0;
    for (const WhyLine& line : why.lines) {
      sum += line.devices;
      if (line.code == to_string(DeviceGate::counted)) counted += line.devices;
      if (line.code == to_string(DeviceGate::waiting)) counted = UINT64_MAX;
    }
    if (sum != why.asked || counted != round.totals.updates) {
      oracle_.problem(&Verdict::misaccounted, "round " + std::to_string(round.number) + " counts " +
                                                  std::to_string(round.totals.updates) + ", and says otherwise");
    }
    oracle_.verdict().asked += why.asked;
  }
}

Verdict World::run() {
  for (const auto& scheduler : schedulers_) scheduler->boot();
  for (const auto& device : devices_) queue_.after(some_delay(Millis(1'000)), [&d = *device] { d.act(); });
  repeat(options_.node_crash_every, [this] { nodes_[prng_.below(nodes_.size())]->crash(); });
  const auto some_scheduler = [this]() -> SimScheduler& { return *schedulers_[prng_.below(schedulers_.size())]; };
  repeat(options_.scheduler_crash_every, [=] { some_scheduler().crash(); });
  repeat(options_.scheduler_stop_every,
         [=, this] { some_scheduler().stand_still(some_delay(options_.scheduler_stop_max)); });
  repeat(options_.partition_every, [=, this] {
    const Instant until = queue_.now() + some_delay(options_.partition_max);
    if (prng_.chance(0.3)) some_scheduler().cut_off(until);
    else nodes_[prng_.below(nodes_.size())]->cut_off(until);
  });
  repeat(options_.clock_jump_every, [this] {
    const auto hours = static_cast<int64_t>(prng_.below(5)) - 2;
    nodes_[prng_.below(nodes_.size())]->set_clock(Millis(hours * 3'600'000), queue_.now() + some_delay(Millis(5'000)));
  });
  repeat(options_.device_crash_every, [this] { devices_[prng_.below(devices_.size())]->crash(); });
  repeat(options_.store_outage_every,
         [this] { store_down_until_ = queue_.now() + some_delay(options_.store_outage_max); });

  const Instant end(options_.stuck_after);
  while (!(is_last_round_done_ && completed())) {
    if (queue_.now() > end || !queue_.step()) {
      oracle_.problem(&Verdict::stuck, "seed " + std::to_string(options_.seed) + ": the job did not end");
      break;
    }
  }
  // Answers may still be on their way: an acknowledgement after the end counts, too.
  const Instant grace = queue_.now() + Millis(5'000);
  while (queue_.now() < grace && queue_.step()) {
  }
  judge_gates();
  Verdict verdict = oracle_.verdict();
  verdict.events = queue_.steps();
  if (!verdict.first_problem.empty()) {
    verdict.first_problem = "seed " + std::to_string(options_.seed) + ": " + verdict.first_problem;
  }
  return verdict;
}

}  // namespace coterie::simulation
