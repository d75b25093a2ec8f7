#include "fl_server/finalize/finalizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/os/crash_point.h"
#include "fl_server/finalize/cluster_restarts.h"
#include "fl_server/finalize/cohort_rows.h"
#include "fl_server/finalize/divided_sum.h"
#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/kept_rows.h"
#include "fl_server/finalize/model_step.h"
#include "fl_server/finalize/next_statistics.h"
#include "fl_server/finalize/probed_blobs.h"
#include "fl_server/finalize/published_model.h"
#include "fl_server/finalize/robust_mean.h"
#include "fl_server/finalize/round_sum.h"
#include "fl_server/finalize/strategy_state.h"
#include "fl_server/finalize/value_bytes.h"
#include "fl_server/finalize/value_overlaps.h"
#include "fl_server/finalize/watch_shares.h"
#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/personal_part.h"
#include "scheduler/job/adaptive_clip_rules.h"
#include "scheduler/job/adaptive_mu_rules.h"
#include "scheduler/job/analytics_rules.h"
#include "scheduler/job/round_question.h"
#include "scheduler/job/round_terms.h"
#include "secure/dp/distributed/device_noise.h"

namespace coterie {
namespace {

constexpr uint64_t kEvaluationBytesMax = 4ull << 30;

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

// The round's sum is whole, and what comes of it may not be released: the job ends (RoundMachine).
Error unfit(const std::string& what) { return Error(ErrorCode::invalid_argument, "finalize: " + what); }

Status check_values(std::span<const float> values, uint64_t offset, std::span<const ValueRange> never_negative) {
  if (!all_finite(values)) {
    return unfit("the new model would have weights that are not finite: use smaller learning rates");
  }
  bool is_negative = false;
  for_each_overlap(never_negative, offset, values.size(), [&](uint64_t first, uint64_t count) {
    const auto own = values.subspan(first - offset, count);
    is_negative = is_negative || std::ranges::any_of(own, [](float value) { return value < 0; });
  });
  if (is_negative) {
    return unfit(
        "the new model would have a batch norm's variance below 0: look for a device that sends what no training "
        "gives");
  }
  return {};
}

// The next model has the base's head but for its seal, which is of the base's values. Its digest is its name.
Result<Bytes> unsealed(const FrameStream& model) {
  Bytes head = model.head();
  const auto place = seal_place(FrameKind::model, model.header());
  if (!place) return does_not_fit("the base model cannot be read: " + place.error().message());
  if (*place) std::fill_n(head.begin() + static_cast<std::ptrdiff_t>(kPreludeBytes + **place), sizeof(Digest), 0);
  return head;
}

// The noise is this server's, or of the devices.
NoisySum noisy_sum(std::span<const float> means, const Plan& plan, const RoundTotals& totals, uint64_t divisor,
                   const RoundNoise* noise) {
  NoisySum sum{.means = means, .divisor = divisor, .updates = totals.updates};
  if (noise != nullptr) {
    sum.sigma = noise->sigma();
    sum.fraction_bits = plan.update.fixed_point.fraction_bits;
  } else {
    sum.sigma = sum_sigma(plan.privacy, totals.updates);
    sum.fraction_bits = plan.privacy.encoding.fraction_bits;
  }
  return sum;
}

// What a robust rule looks at: updates, or where masks hide them the means of cohorts.
Result<std::unique_ptr<const RuleRows>> rows_of(const RoundKey& key, const Plan& plan,
                                                const AggregationSettings& aggregation, AcceptStore& accepts,
                                                BlobStore& partials, const SumMasks* masks, const AttemptCalls& calls) {
  if (plan.privacy.level == SecurityLevel::none) {
    return KeptRows::open(key, plan, aggregation, accepts, partials, calls);
  }
  if (masks == nullptr) return does_not_fit("a rule over cohorts needs the masks of each");
  return CohortRows::open(key, plan, aggregation, *masks, accepts, partials, calls);
}

}  // namespace

Result<FinalizedRound> Finalizer::finalize(const JobRecord& job, const RoundRecord& round, const ModelRecord& base,
                                           WallTime now, const SumMasks* masks) const {
  const HorizontalSettings& settings = job.spec.horizontal();
  const Plan plan = with_terms(plan_of(settings, job.id, job.values()), terms_of(settings, facts_of(round, base)));
  const StrategySettings strategy = strategy_of_round(settings, round.number);
  const AttemptCalls calls(probe_, round.key);
  ProbedBlobs blobs(blobs_, calls, {.read = "read blob", .write = "write blob"});
  ProbedBlobs partials(partials_, calls, {.read = "read partial sum", .write = "write partial sum"});
  // Where versions are published as deltas, devices trained from a rounded model. Their mean moves the exact one, so
  // that what rounding left out of one version is in the next.
  COT_ASSIGN(FrameStream model, FrameStream::open(blobs, base.exact.value_or(base.digest), FrameKind::model));
  const uint64_t value_count = job.value_count;
  // The payload is the model's values as float32, [value_count], in the order of the graph's tensors. All offsets below
  // are places in that vector.
  if (model.prelude().payload_bytes / sizeof(float) != value_count ||
      model.prelude().payload_bytes % sizeof(float) != 0) {
    return does_not_fit("the base model has another size than the job's plan");
  }
  const Result<ModelGraph> graph = decode_model_head(model.prelude(), model.header());
  if (!graph) return does_not_fit("the base model cannot be read: " + graph.error().message());
  const std::vector<ValueRange> never_negative = variances(*graph);
  COT_ASSIGN(ModelStep step, ModelStep::of(plan, *graph, base.version));
  COT_ASSIGN(StrategyState state, StrategyState::open(blobs, base.optimizer_state, strategy,
                                                      plan.update.step_value_count(), cluster_count(plan.training)));

  std::optional<RoundNoise> noise;
  uint64_t divisor = 0;  // of the sum
  std::unique_ptr<MeanSource> source;
  // Single updates are in norms and cosines: where noise hides these, a count without noise would tell of one. Behind
  // masks there is no single update to count.
  const bool tells_of_updates = plan.privacy.level == SecurityLevel::none && !settings.privacy.has_noise();
  std::optional<NormHistogram> norms;
  std::optional<UpdateCosines> cosines;
  if (settings.aggregation.keeps_updates()) {
    COT_ASSIGN(std::unique_ptr<const RuleRows> rows,
               rows_of(round.key, plan, settings.aggregation, accepts_, partials, masks, calls));
    norms = rows->norms();
    if (tells_of_updates) cosines.emplace(rows->weights().size());
    COT_ASSIGN(RobustMean mean, RobustMean::of(std::move(rows), settings.aggregation, plan.update.value_count,
                                               step.parameters(), cosines ? &*cosines : nullptr));
    source = std::make_unique<RobustMean>(std::move(mean));
  } else {
    COT_ASSIGN(RoundSum sum, RoundSum::open(round.key, plan, base.digest, accepts_, partials, masks, calls));
    norms = sum.norms();
    // Behind all that can be wrong with what is stored: noise that is reserved is paid for.
    if (settings.privacy.has_central_noise()) {
      COT_ASSIGN(noise, calls.timed("reserve release", [&] { return noise_.reserve(ledger_, job, round.key, now); }));
      os::crash_point(os::CrashPoint::finalize_noise_reserved);
    }
    // With noise the divisor is the plan's, whoever came: how many came is a fact that the noise does not cover
    // (central_noise.h).
    divisor = noise ? settings.rounds.goal_count : sum.totals().weight;
    if (settings.analytics) divisor = 1;  // counts are not averaged
    source = std::make_unique<DividedSum>(std::move(sum), divisor, noise ? &*noise : nullptr);
  }

  COT_ASSIGN(std::optional<WatchOutcome> watched, watch_outcome_of(*source, plan, *graph));
  COT_ASSIGN(source, step.means_of_holders(std::move(source)));

  // A job with noise leaves them as they are: their difference is in the noisy sum, and no clip was made for them.
  // Such a job with statistics that move is refused when it is created; an older one may be running.
  std::vector<RunningStatistics> moving;
  if (!settings.privacy.has_noise()) moving = shared_statistics(*graph, settings.training);
  // Peeks at model and mean, and so stands before the first tile is read: a variance may lie before the mean it needs.
  COT_ASSIGN(const NextStatistics statistics,
             NextStatistics::of(moving, step.placed(moving), plan.update.encoding, model, *source));

  COT_ASSIGN(const ClusterRestarts restarts,
             ClusterRestarts::of(step.cluster_shares(), source->totals().updates, state.idle_updates(), model, *graph,
                                 step.trained(), base.digest));

  // From here on values are used before their digests are known. That is safe as nothing is named by them until every
  // verify() below has passed: a writer that is not finished leaves no blob.
  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs.create());
  COT_ASSIGN(const Bytes head, unsealed(model));
  COT_TRY(writer->append(head));
  COT_TRY(step.begin(*source, state));
  std::vector<float> weights(std::min(RoundSum::kTileValues, value_count));
  for (uint64_t offset = 0; offset < value_count; offset += weights.size()) {
    weights.resize(std::min<uint64_t>(weights.size(), value_count - offset));
    COT_TRY(model.read(as_writable(weights)));
    COT_TRY(step.move(offset, weights));
    statistics.put(offset, weights);
    restarts.put(offset, weights);
    COT_TRY(check_values(weights, offset, never_negative));
    COT_TRY(writer->append(as_readable(weights)));
  }
  COT_TRY(step.finish());
  state.set_idle_updates(restarts.idle());
  for (const uint32_t cluster : restarts.restarted()) {
    const uint64_t slot = plan.update.step_value_count() / step.cluster_shares().size();
    state.restart(cluster * slot, slot);
  }
  COT_TRY(source->verify());
  COT_TRY(model.verify());

  FinalizedRound finalized{.key = round.key, .model = {}, .totals = source->totals(), .noise_commitment = {}};
  if (noise) finalized.noise_commitment = noise->commitment();
  else if (settings.privacy.has_noise()) finalized.noise_commitment = masks->name();  // its devices drew the noise
  finalized.model.job = job.id;
  finalized.model.version = ModelVersion(base.version.value() + 1);
  finalized.model.bytes = base.bytes;
  finalized.model.created = now;
  if (!step.watch_means().empty()) {
    const NoisySum sum = noisy_sum(step.watch_means(), plan, source->totals(), divisor, noise ? &*noise : nullptr);
    watched = noisy_watch_outcome(sum, plan, *graph);
  }
  finalized.model.watch = std::move(watched);
  if (tells_of_updates) finalized.model.update_norms = norms;
  if (cosines) finalized.model.update_cosines = cosines->histogram();
  if (settings.privacy.adaptive_clip) {
    COT_ASSIGN(finalized.model.clip_norm,
               next_clip_norm(settings, plan.update.clip, step.clip_bits_mean() * static_cast<double>(divisor),
                              source->totals().updates));
  }
  COT_ASSIGN(finalized.model.digest, writer->finish());
  // May put the digest of a rounded model in the place of the computed one: the evaluation below is of what devices
  // will get.
  COT_TRY(publish(blobs, settings.download, base, finalized.model));
  if (settings.analytics && settings.analytics->asks_anew()) {
    COT_ASSIGN(const Bytes table, blobs.get(finalized.model.digest, kTableBytesMax));
    COT_ASSIGN(const CountBlocks blocks, read_blocks(rules_of(*settings.analytics), blocks_of(settings), table));
    finalized.is_last = nothing_is_left(settings, std::span(blocks).first(finalized.model.version.value()));
  }
  // A crash from here until the row is committed leaves blobs that no row names. The next try writes the same bytes
  // under the same names.
  COT_ASSIGN(finalized.model.optimizer_state, state.save(blobs));
  if (settings.evaluation && evaluate_) {
    COT_ASSIGN(const Bytes file, blobs.get(finalized.model.digest, kEvaluationBytesMax));
    COT_ASSIGN(const Bytes dataset, blobs.get(*settings.evaluation, kEvaluationBytesMax));
    COT_ASSIGN(const ModelEvaluation evaluation, evaluate_(file, dataset, settings.training));
    if (!std::isfinite(evaluation.loss) || !std::isfinite(evaluation.accuracy.value_or(0)) ||
        !std::isfinite(evaluation.mae.value_or(0)) || !std::isfinite(evaluation.r2.value_or(0))) {
      return unfit("the new model's evaluation is not finite (loss " + std::to_string(evaluation.loss) +
                   "): use smaller learning rates");
    }
    finalized.model.evaluation_loss = evaluation.loss;
    finalized.model.evaluation_accuracy = evaluation.accuracy;
    finalized.model.evaluation_mae = evaluation.mae;
    finalized.model.evaluation_r2 = evaluation.r2;
    finalized.model.evaluation_heads = evaluation.heads;
  }
  if (settings.adaptive_mu) {
    finalized.model.adaptive_mu =
        next_adaptive_mu(settings, base.adaptive_mu, base.evaluation_loss, finalized.model.evaluation_loss);
  }
  return finalized;
}

}  // namespace coterie
