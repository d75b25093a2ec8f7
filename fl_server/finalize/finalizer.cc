#include "fl_server/finalize/finalizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "aggregation/optimizer/server_optimizer.h"
#include "base/os/crash_point.h"
#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/round_sum.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

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
  const Plan plan = plan_of(job.spec, job.id, job.value_count);
  COT_ASSIGN(FrameStream model, FrameStream::open(blobs_, base.digest, FrameKind::model));
  const uint64_t value_count = job.value_count;
  if (model.prelude().payload_bytes / sizeof(float) != value_count ||
      model.prelude().payload_bytes % sizeof(float) != 0) {
    return does_not_fit("the base model has another size than the job's plan");
  }
  COT_ASSIGN(RoundSum sum, RoundSum::open(round.key, plan, rounds_, partials_, masks));
  std::optional<Moments> moments;
  if (strategy.kind == ServerOptimizerKind::fedadam) {
    COT_ASSIGN(moments, Moments::open(blobs_, base, value_count));
  }

  std::optional<RoundNoise> noise;
  if (job.spec.privacy.has_central_noise()) {
    COT_ASSIGN(noise, noise_.reserve(rounds_, job, round.key, now));
    os::crash_point(os::CrashPoint::finalize_noise_reserved);
  }
  const uint64_t divisor = noise ? job.spec.rounds.goal_count : sum.totals().weight;

  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs_.create());
  COT_TRY(writer->append(model.head()));
  const uint64_t tile = std::min(RoundSum::kTileValues, value_count);
  std::vector<float> mean(tile), weights(tile);
  for (uint64_t offset = 0; offset < value_count; offset += tile) {
    const uint64_t count = std::min(tile, value_count - offset);
    const std::span<float> mean_tile = std::span(mean).first(count);
    const std::span<float> weight_tile = std::span(weights).first(count);
    COT_TRY(sum.read_mean(divisor, noise ? &*noise : nullptr, mean_tile));
    COT_TRY(model.read(as_writable(weights, count)));
    if (moments) moments->apply(strategy, offset, mean_tile, weight_tile);
    else apply_fedavg(mean_tile, strategy.server_learning_rate, weight_tile);
    if (!all_finite(weight_tile)) {
      return Error(ErrorCode::invalid_argument,
                   "finalize: the new model would have weights that are not finite: use smaller learning rates");
    }
    COT_TRY(writer->append(as_readable(weights, count)));
  }
  COT_TRY(sum.verify());
  COT_TRY(model.verify());

  FinalizedRound finalized{.key = round.key, .model = {}, .totals = sum.totals(), .noise_commitment = {}};
  if (noise) finalized.noise_commitment = noise->commitment();
  else if (job.spec.privacy.has_noise()) finalized.noise_commitment = masks->name();  // its devices drew the noise
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
