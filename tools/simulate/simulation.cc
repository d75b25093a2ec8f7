#include "tools/simulate/simulation.h"

#include <algorithm>
#include <cmath>

#include "aggregation/accumulate/kept_updates.h"
#include "aggregation/accumulate/ring_sum.h"
#include "device_sdk/agent/device_width.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/lora.h"
#include "fl_server/evaluation/model_evaluator.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "proto/messages/group_weights.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/personal_part.h"
#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/buffered_rules.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/selection/selection_registry.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/round_stores.h"
#include "tools/simulate/virtual_cohorts.h"

namespace coterie {
namespace {

constexpr uint64_t kModelBytesMax = 1ull << 34;

}  // namespace

Result<Simulation> Simulation::begin(const HorizontalSettings& job, const Bytes& model, const Bytes& evaluation,
                                     const std::string& directory, const VirtualFleet& fleet, CohortWorkers& workers,
                                     bool evaluates) {
  COT_TRY(check_training(model, job.training));
  COT_ASSIGN(const Model loaded, Model::load(model));
  JobRecord record;
  record.id = JobId("simulated");
  record.spec.kind = job;
  COT_ASSIGN(const ModelValues values, values_of(job, loaded.graph(), loaded.value_count()));
  record.value_count = values.whole;
  record.trained_value_count = values.trained;
  COT_ASSIGN(const ValueSelection personal, personal_values(loaded.graph(), job.training, values.whole));
  // mu follows the loss: each rank has to know it.
  Simulation simulation(std::move(record), fleet, workers, evaluates || job.adaptive_mu.has_value());
  simulation.state_values_ = job.training.personal ? personal.count() : values.step_count();
  if (cluster_count(job.training) > 1) simulation.state_values_ = 1;  // which it is
  if (job.rounds.is_buffered()) simulation.buffers_.emplace(fleet, job);
  COT_ASSIGN(simulation.blobs_, DirectoryBlobStore::open_directory(directory));
  COT_ASSIGN(simulation.base_.digest, simulation.blobs_->put(model));
  COT_ASSIGN(simulation.record_.spec.horizontal().evaluation, simulation.blobs_->put(evaluation));
  if (job.adaptive_mu) {  // the first version's loss is what the second's is compared with
    COT_ASSIGN(const ModelEvaluation first, evaluate_model(model, evaluation, job.training));
    simulation.base_.evaluation_loss = first.loss;
  }
  simulation.base_.job = simulation.record_.id;
  simulation.base_.bytes = model.size();
  const Plan plan = plan_of(job, simulation.record_.id, values);
  const FixedPointSpec spec = summed_as(plan.update);
  if (compares_cohorts(job)) {
    auto cohorts = std::make_unique<VirtualCohorts>(plan, fleet.seed, cohort_count(job));
    simulation.cohorts_ = cohorts.get();
    simulation.sum_ = std::move(cohorts);
  } else if (job.aggregation.keeps_updates()) {
    simulation.sum_ = std::make_unique<KeptUpdates>(plan.update.value_count, spec);
  } else {
    simulation.sum_ = std::make_unique<RingSum>(plan.update.value_count, spec);
  }
  return simulation;
}

// By the plan of the round that begins with this version.
Result<std::shared_ptr<const AskedWork>> Simulation::asked_by(uint64_t version, const Digest& digest) const {
  const HorizontalSettings& job = record_.spec.horizontal();
  COT_ASSIGN(Bytes bytes, file(digest));
  COT_ASSIGN(const Model given, Model::load(std::move(bytes)));
  RoundFacts known = facts();
  known.number = version + 1;
  const Plan plan = with_terms(plan_of(job, record_.id, record_.values()), terms_of(job, known));
  COT_ASSIGN(Model model, model_to_train(given, plan.training));
  COT_ASSIGN(UpdateLayout layout, UpdateLayout::of(model, given.value_count(), plan));
  AskedWork work{plan, std::move(model), std::make_shared<const UpdateLayout>(std::move(layout)), digest,
                 ModelVersion(version)};
  COT_ASSIGN(work.clusters, cluster_models(given, plan.training));
  if (!work.clusters.empty()) work.stacked = given;
  if (!plan.training.widths.empty()) {
    std::vector<WidthWork> widths;
    for (uint32_t i = 0; i < plan.training.widths.size(); ++i) {
      COT_ASSIGN(WidthWork width, work_at_width(work.model, *work.layout, plan.training, i));
      widths.push_back(std::move(width));
    }
    work.widths = std::make_shared<const std::vector<WidthWork>>(std::move(widths));
  }
  if (plan.control) {
    COT_ASSIGN(const Bytes state, blobs_->get(*plan.control, kModelBytesMax));
    COT_ASSIGN(const auto decoded, decode_optimizer_state(state));
    const auto control = payload_as<float>(decoded.payload);
    if (control.size() != handed_value_count(plan.update)) {
      return Error(ErrorCode::malformed, "the strategy's state has a control of " + std::to_string(control.size()) +
                                             " values, the job's devices are handed " +
                                             std::to_string(handed_value_count(plan.update)));
    }
    work.control.assign(control.begin(), control.end());
  }
  return std::make_shared<const AskedWork>(std::move(work));
}

Result<CohortWork> Simulation::work_of(const VirtualRound& plan) const {
  const StalenessRules staleness = staleness_of(record_.spec.horizontal().rounds);
  std::map<uint64_t, std::shared_ptr<const AskedWork>> asked;  // by version: each is loaded once
  CohortWork work;
  for (size_t i = 0; i < plan.counted.size(); ++i) {
    const uint64_t version = plan.is_buffered ? plan.versions[i] : base_.version.value();
    std::shared_ptr<const AskedWork>& own = asked[version];
    if (!own) {
      COT_ASSIGN(own, asked_by(version, version == base_.version.value() ? base_.digest : older_.at(version)));
    }
    const uint64_t late = base_.version.value() - version;
    work.push_back({plan.counted[i], own, late > 0 ? staleness_weight(late, staleness) : 1});
  }
  return work;
}

Result<PartialRecord> Simulation::sum_of(const VirtualRound& plan, const RoundKey& key) {
  sum_->clear();
  if (cohorts_ != nullptr) cohorts_->begin(key, base_.digest, plan.counted);
  COT_ASSIGN(const CohortWork work, work_of(plan));
  COT_ASSIGN(const RoundTotals totals, workers_->train(work, *sum_));
  PartialRecord partial{
      .id = "simulated/1/" + std::to_string(key.round.value()), .key = key, .totals = totals, .blob = {}};
  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs_->create());
  COT_TRY(writer->append(encode_head(
      PartialSumHeader{key, partial.id, static_cast<uint32_t>(totals.updates), totals.weight, sum_->lane_count()})));
  COT_TRY(writer->append({reinterpret_cast<const uint8_t*>(sum_->lanes().data()), sum_->lanes().size_bytes()}));
  COT_ASSIGN(partial.blob, writer->finish());
  return partial;
}

// What no round to come needs goes: a long job would fill the disk. No device downloads anything here, so that deltas
// go at once.
Status Simulation::move_to(const ModelRecord& next) {
  const std::vector<Digest> before = files_of(position());
  if (buffers_) {
    older_[base_.version.value()] = base_.digest;
    const std::vector<uint64_t> at_work = buffers_->versions_at_work();
    std::erase_if(older_, [&](const auto& kept) { return !std::ranges::binary_search(at_work, kept.first); });
  }
  if (next.exact) COT_TRY(blobs_->remove(next.deltas.back().file));
  base_ = next;
  const std::vector<Digest> needed = files_of(position());
  for (const Digest& file : before) {
    if (std::ranges::find(needed, file) == needed.end()) COT_TRY(blobs_->remove(file));
  }
  return {};
}

// In failed attempts too, as the desk does.
void Simulation::remember_asked(const VirtualRound& round) {
  if (record_.spec.horizontal().rounds.selection.rule->memory == SelectionMemory::nothing) return;
  for (const uint32_t device : round.asked) reports_.asked(record_.id, virtual_device(device), base_.version.value());
}

// With the device's virtual time in the place of a real one, so that the draw follows from the seed.
void Simulation::remember_counted(const VirtualRound& round) {
  const HorizontalSettings& job = record_.spec.horizontal();
  const SelectionMemory memory = job.rounds.selection.rule->memory;
  if (memory == SelectionMemory::participation) {
    for (const uint32_t device : round.counted) reports_.counted(record_.id, virtual_device(device));
  }
  if (memory != SelectionMemory::training) return;
  const std::vector<RoundTotals> totals = workers_->totals();
  for (size_t i = 0; i < round.counted.size(); ++i) {
    const double milliseconds = 1000 * training_seconds(*fleet_, job, round.counted[i]);
    reports_.trained(
        record_.id, virtual_device(round.counted[i]),
        report_of(totals[i].loss_sum, totals[i].examples, static_cast<uint64_t>(milliseconds), base_.version.value()));
  }
}

Result<SimulatedRound> Simulation::attempt() {
  const HorizontalSettings& job = record_.spec.horizontal();
  const uint64_t number = record_.rounds_done + 1;
  SimulatedRound round;
  const ReportOf known = [this](uint32_t device) { return reports_.find(record_.id, virtual_device(device)); };
  ++attempts_;
  round.plan = buffers_ ? buffers_->next() : draw_round(*fleet_, job, number, attempts_, known, resting_.devices());
  remember_asked(round.plan);
  RoundReport& report = round.report;
  report.number = number;
  if (job.adaptive_mu) report.proximal_mu = static_cast<double>(terms_of(job, facts()).proximal_mu);
  report.attempt = attempts_;
  report.goal_count = job.rounds.goal_count;
  report.selected = round.plan.drawn;
  report.seconds = round.plan.seconds;
  if (round.plan.is_failed) {
    report.state = "failed";
    report.reason = std::to_string(round.plan.late) + " updates came, " + std::to_string(job.rounds.goal_count_min) +
                    " are needed at least";
    if (!resting_.devices().empty()) {
      report.reason += "; " + who_may_be_asked(*fleet_, job.rounds, resting_.devices());
    }
    if (buffers_) {
      return Error(ErrorCode::timed_out, "round " + std::to_string(number) + " waits for ever: " + report.reason +
                                             ", all other devices are lost, and nobody is left to ask");
    }
    if (attempts_ < job.rounds.attempts_max) return round;
    return Error(ErrorCode::timed_out, "round " + std::to_string(number) + " failed in all of its " +
                                           std::to_string(attempts_) + " attempts: " + report.reason);
  }
  const RoundKey key{RoundId(number), Attempt(attempts_)};
  COT_ASSIGN(const PartialRecord partial, sum_of(round.plan, key));
  std::vector<DeviceId> counted;
  for (const uint32_t device : round.plan.counted) counted.push_back(virtual_device(device));
  OnePartial accepts(partial, std::move(counted));
  NoLedger ledger;
  const MacKey no_key{};  // no noise is drawn
  RoundNoiseMaker noise(no_key);
  const Finalizer finalizer(accepts, ledger, *blobs_, *blobs_, noise,
                            evaluates_ ? EvaluateModel(evaluate_model) : EvaluateModel());
  RoundRecord record;
  record.key = key;
  record.job = record_.id;
  record.number = number;
  record.base = base_.version;
  record.base_model = base_.digest;
  record.examples_median = examples_median_;
  if (base_.adaptive_mu) record.proximal_mu = base_.adaptive_mu->mu;
  std::optional<SumMasks> masks;
  if (cohorts_ != nullptr) masks = cohorts_->masks();
  COT_ASSIGN(const FinalizedRound finalized,
             finalizer.finalize(record_, record, base_, WallTime(), masks ? &*masks : nullptr));
  workers_->round_is_done();
  remember_counted(round.plan);
  if (!buffers_) resting_.add(round.plan.counted);
  COT_TRY(blobs_->remove(partial.blob));
  COT_TRY(move_to(finalized.model));
  if (needs_examples_median(record_.spec)) examples_median_ = workers_->examples_median();
  record_.rounds_done = number;
  attempts_ = 0;
  const RoundTotals& totals = partial.totals;
  report.state = "done";
  report.accepted = totals.updates;
  report.examples = totals.examples;
  report.train_seconds = static_cast<double>(totals.train_ms) / 1000;
  if (totals.examples > 0) {
    report.train_loss = totals.loss_sum / static_cast<double>(totals.examples);
    report.train_accuracy = static_cast<double>(totals.correct) / static_cast<double>(totals.examples);
  }
  report.evaluation_loss = base_.evaluation_loss;
  report.evaluation_accuracy = base_.evaluation_accuracy;
  report.evaluation_mae = base_.evaluation_mae;
  report.evaluation_r2 = base_.evaluation_r2;
  report.evaluation_heads = base_.evaluation_heads;
  report.watch = base_.watch;
  report.model_version = base_.version.value();
  return round;
}

Result<Bytes> Simulation::model() const { return file(base_.digest); }
Result<Bytes> Simulation::file(const Digest& digest) const { return blobs_->get(digest, kModelBytesMax); }

std::vector<Digest> files_of(const SimulationPosition& position) {
  std::vector<Digest> files = {position.base.digest};
  const auto add = [&files](const Digest& file) {
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  };
  for (const std::optional<Digest>& other : {position.base.optimizer_state, position.base.exact}) {
    if (other) add(*other);
  }
  for (const auto& [version, digest] : position.older) add(digest);
  return files;
}

Status Simulation::go_on(const SimulationPosition& position, const std::vector<Bytes>& files) {
  if (position.base.version.value() != position.rounds_done) {
    return Error(ErrorCode::malformed, "checkpoint.json: /version must be that of /rounds_done, each makes one");
  }
  std::vector<uint64_t> wanted, there;
  if (buffers_) {
    for (uint64_t round = 0; round < position.rounds_done; ++round) buffers_->next();
    wanted = buffers_->versions_at_work();
  } else {
    COT_ASSIGN(resting_, resting_after(*fleet_, record_.spec.horizontal(), position.rounds_done));
  }
  for (const auto& [version, digest] : position.older) there.push_back(version);
  if (wanted != there) {
    return Error(ErrorCode::malformed, "checkpoint.json: /older must have the " + std::to_string(wanted.size()) +
                                           " versions that devices train from by then, has " +
                                           std::to_string(there.size()));
  }
  for (const Bytes& file : files) COT_TRY(blobs_->put(file));
  record_.rounds_done = position.rounds_done;
  examples_median_ = position.examples_median;
  attempts_ = 0;
  base_ = position.base;
  base_.job = record_.id;
  base_.bytes = files.at(0).size();
  older_ = position.older;
  return {};
}

}  // namespace coterie
