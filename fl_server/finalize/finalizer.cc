#include "fl_server/finalize/finalizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "aggregation/optimizer/server_optimizer.h"
#include "fl_server/finalize/frame_stream.h"
#include "proto/codec/codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/secagg/check_lanes.h"

namespace coterie {
namespace {

constexpr uint64_t kTileValues = 32 * 1024;
constexpr uint64_t kEvaluationBytesMax = 4ull << 30;

template <typename T>
std::span<uint8_t> as_writable(std::vector<T>& values, uint64_t count) {
  return {reinterpret_cast<uint8_t*>(values.data()), count * sizeof(T)};
}
template <typename T>
ByteView as_readable(const std::vector<T>& values, uint64_t count) {
  return {reinterpret_cast<const uint8_t*>(values.data()), count * sizeof(T)};
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

// The partial sums of one round, opened and checked against their rows.
struct Partials {
  std::vector<FrameStream> streams;
  RoundTotals totals;
};

Result<Partials> open_partials(const RoundKey& key, uint64_t value_count, RoundStore& rounds, BlobStore& store) {
  Partials partials;
  COT_ASSIGN(const std::vector<PartialRecord> records, rounds.list_partials(key));
  for (const PartialRecord& record : records) {
    COT_ASSIGN(FrameStream stream, FrameStream::open(store, record.blob, FrameKind::partial_sum));
    COT_ASSIGN(const PartialSumHeader header, decode_partial_sum_head(stream.prelude(), stream.header()));
    if (header.round != key || header.partial != record.id || header.value_count != value_count ||
        header.updates != record.totals.updates || header.weight_sum != record.totals.weight) {
      return does_not_fit("partial " + record.id + " is not what its row says");
    }
    partials.totals += record.totals;
    partials.streams.push_back(std::move(stream));
  }
  COT_ASSIGN(const uint64_t accepted, rounds.count_accepted(key));
  if (partials.totals.updates != accepted || accepted == 0) {
    return does_not_fit("the partial sums hold " + std::to_string(partials.totals.updates) + " updates, " +
                        std::to_string(accepted) + " are accepted");
  }
  return partials;
}

// Of a masked sum: the lanes behind the values, summed, unmasked and checked; returns the sum of the weights.
Result<uint64_t> unmask_weight(const std::vector<FrameStream>& partials, uint64_t value_count, const SumMasks& masks) {
  const uint64_t tail = secagg::masked_lane_count(masks.parameters) - value_count;
  std::vector<uint64_t> sum(tail), lanes(tail);
  for (const FrameStream& partial : partials) {
    COT_TRY(partial.peek(value_count * sizeof(uint64_t), as_writable(lanes, tail)));
    add_lanes(lanes, sum);
  }
  masks.masks.apply(value_count, std::span(sum));
  const std::span<const uint64_t> checks = std::span<const uint64_t>(sum).subspan(1);
  COT_TRY(secagg::verify_check_lanes<uint64_t>(masks.parameters, masks.session, masks.survivors, checks));
  return sum[0];
}

// The server optimizer's moments on their way from the old blob (or zero) to the new one.
class Moments {
 public:
  static Result<Moments> open(BlobStore& blobs, const ModelRecord& base, uint64_t value_count) {
    Moments moments(value_count);
    uint64_t step = 0;
    if (base.optimizer_state) {
      COT_ASSIGN(FrameStream before, FrameStream::open(blobs, *base.optimizer_state, FrameKind::optimizer_state));
      COT_ASSIGN(const OptimizerStateHeader header, decode_optimizer_state_head(before.prelude(), before.header()));
      if (header.value_count != value_count) return does_not_fit("the optimizer's state is of another model");
      step = header.step;
      moments.first_.resize(value_count);
      moments.second_.resize(value_count);
      COT_TRY(before.read(as_writable(moments.first_, value_count)));
      COT_TRY(before.read(as_writable(moments.second_, value_count)));
      COT_TRY(before.verify());
    }
    moments.header_ = {ServerOptimizerKind::fedadam, step + 1, value_count};
    return moments;
  }

  void apply(const StrategySettings& strategy, uint64_t offset, std::span<const float> mean, std::span<float> weights) {
    apply_fedadam(mean, strategy.server_learning_rate, {strategy.beta1, strategy.beta2, strategy.tau}, weights,
                  std::span(first_).subspan(offset, mean.size()), std::span(second_).subspan(offset, mean.size()));
  }

  Result<Digest> save(BlobStore& blobs) const {
    COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs.create());
    COT_TRY(writer->append(encode_head(header_)));
    COT_TRY(writer->append(as_readable(first_, first_.size())));
    COT_TRY(writer->append(as_readable(second_, second_.size())));
    return writer->finish();
  }

 private:
  explicit Moments(uint64_t value_count) : first_(value_count), second_(value_count) {}
  std::vector<float> first_, second_;
  OptimizerStateHeader header_;
};

}  // namespace

Result<FinalizedRound> Finalizer::finalize(const JobRecord& job, const RoundRecord& round, const ModelRecord& base,
                                           WallTime now, const SumMasks* masks) const {
  const StrategySettings& strategy = job.spec.strategy;
  const FixedPointSpec fixed_point = plan_of(job.spec, job.id, job.value_count).update.fixed_point;
  COT_ASSIGN(FrameStream model, FrameStream::open(blobs_, base.digest, FrameKind::model));
  const uint64_t value_count = job.value_count;
  if (model.prelude().payload_bytes / sizeof(float) != value_count || model.prelude().payload_bytes % sizeof(float) != 0) {
    return does_not_fit("the base model has another size than the job's plan");
  }
  const uint64_t lane_count = masks == nullptr ? value_count : secagg::masked_lane_count(masks->parameters);
  COT_ASSIGN(Partials partials, open_partials(round.key, lane_count, rounds_, partials_));
  if (partials.totals.updates > fixed_point.contributors_max) {
    return does_not_fit("more updates are accepted than the plan's sums can hold");
  }
  if (masks != nullptr) {
    if (partials.totals.updates != masks->survivors) return does_not_fit("the masks are not those of this sum");
    COT_ASSIGN(partials.totals.weight, unmask_weight(partials.streams, value_count, *masks));
    if (partials.totals.weight < 1 || partials.totals.weight > masks->survivors * fixed_point.weight_max) {
      return does_not_fit("the updates' weights sum to " + std::to_string(partials.totals.weight) +
                          ", which no devices that follow the plan can have");
    }
  }
  std::optional<Moments> moments;
  if (strategy.kind == ServerOptimizerKind::fedadam) {
    COT_ASSIGN(moments, Moments::open(blobs_, base, value_count));
  }

  std::optional<RoundNoise> noise;
  if (job.spec.privacy.has_noise()) {
    COT_ASSIGN(noise, noise_.reserve(rounds_, job, round.key, now));
  }
  const uint64_t divisor = noise ? job.spec.rounds.goal_count : partials.totals.weight;

  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs_.create());
  COT_TRY(writer->append(model.head()));
  const uint64_t tile = std::min(kTileValues, value_count);
  std::vector<uint64_t> sum(tile), lanes(tile);
  std::vector<float> mean(tile), weights(tile);
  for (uint64_t offset = 0; offset < value_count; offset += tile) {
    const uint64_t count = std::min(tile, value_count - offset);
    std::fill(sum.begin(), sum.end(), 0);
    for (FrameStream& partial : partials.streams) {
      COT_TRY(partial.read(as_writable(lanes, count)));
      add_lanes(std::span(lanes).first(count), std::span(sum).first(count));
    }
    if (masks != nullptr) masks->masks.apply(offset, std::span(sum).first(count));
    if (noise) noise->add_to(offset, std::span(sum).first(count));
    const std::span<float> mean_tile = std::span(mean).first(count);
    const std::span<float> weight_tile = std::span(weights).first(count);
    decode_mean(std::span(sum).first(count), divisor, fixed_point, mean_tile);
    COT_TRY(model.read(as_writable(weights, count)));
    if (moments) moments->apply(strategy, offset, mean_tile, weight_tile);
    else apply_fedavg(mean_tile, strategy.server_learning_rate, weight_tile);
    if (!all_finite(weight_tile)) {
      return Error(ErrorCode::invalid_argument,
                   "finalize: the new model would have weights that are not finite: use smaller learning rates");
    }
    COT_TRY(writer->append(as_readable(weights, count)));
  }
  lanes.resize(std::max(tile, lane_count - value_count));
  for (FrameStream& partial : partials.streams) {
    COT_TRY(partial.read(as_writable(lanes, lane_count - value_count)));
    COT_TRY(partial.verify());
  }
  COT_TRY(model.verify());

  FinalizedRound finalized{.key = round.key, .model = {}, .totals = partials.totals, .noise_commitment = {}};
  if (noise) finalized.noise_commitment = noise->commitment();
  finalized.model.job = job.id;
  finalized.model.version = ModelVersion(base.version.value() + 1);
  finalized.model.bytes = base.bytes;
  finalized.model.created = now;
  COT_ASSIGN(finalized.model.digest, writer->finish());
  if (moments) {
    COT_ASSIGN(finalized.model.optimizer_state, moments->save(blobs_));
  }
  if (job.spec.evaluation && evaluate_) {
    COT_ASSIGN(const Bytes file, blobs_.get(finalized.model.digest, kEvaluationBytesMax));
    COT_ASSIGN(const Bytes dataset, blobs_.get(*job.spec.evaluation, kEvaluationBytesMax));
    COT_ASSIGN(const ModelEvaluation evaluation, evaluate_(file, dataset, job.spec.training.loss));
    finalized.model.evaluation_loss = evaluation.loss;
    finalized.model.evaluation_accuracy = evaluation.accuracy;
  }
  return finalized;
}

}  // namespace coterie
