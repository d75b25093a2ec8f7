// Checkpoint, partial sum and optimizer state frames.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.h"
#include "base/text/concat.h"
#include "proto/codec/codec.h"
#include "proto/codec/flat.h"
#include "proto/generated/state_generated.h"
#include "proto/messages/model_clusters.h"

namespace coterie {
namespace {

using flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<state::Head>>> build_heads(
    FlatBufferBuilder& builder, const std::vector<HeadState>& heads) {
  if (heads.empty()) return 0;
  std::vector<flatbuffers::Offset<state::Head>> tables;
  for (const HeadState& head : heads) {
    tables.push_back(state::CreateHead(builder, head.loss_sum, head.absolute_error, head.correct, head.ignored));
  }
  return builder.CreateVector(tables);
}

Status parse_heads(const state::Checkpoint& table, std::vector<HeadState>& heads) {
  if (table.heads() == nullptr) return {};
  if (table.heads()->size() > kHeadsMax) return flat::out_of_range("heads", "must be at most 16");
  for (const state::Head* head : *table.heads()) {
    heads.push_back({head->loss_sum(), head->absolute_error(), head->correct(), head->ignored()});
    if (!std::isfinite(head->loss_sum()) || !(head->absolute_error() >= 0)) {
      return flat::out_of_range("heads", "must have sums that are numbers");
    }
  }
  return {};
}

}  // namespace

Bytes encode_head(const CheckpointHeader& message, uint64_t payload_bytes) {
  FlatBufferBuilder builder;
  const auto random = builder.CreateVector(message.random.data(), message.random.size());
  const wire::Digest32 model = flat::digest(message.model);
  const auto training = builder.CreateString(message.training);
  const auto heads = build_heads(builder, message.heads);
  builder.Finish(state::CreateCheckpoint(
      builder, &model, message.step, message.epoch, message.position, random, message.optimizer_step, message.slots,
      message.value_bytes, message.examples, message.loss_sum, message.correct, message.seen, message.epoch_loss_start,
      message.plateau_best, message.plateau_epochs_seen, message.plateau_epochs_without_progress,
      message.plateau_factor, message.seed, message.loss_scale, message.good_steps, message.epoch_correct_start,
      training, message.validation_step, message.best_step, message.best_loss, message.checks_without_gain,
      message.factor_bytes, message.ignored, message.epoch_ignored_start, message.range_values, heads));
  return flat::finish_head(builder, FrameKind::checkpoint, payload_bytes);
}

Result<Decoded<CheckpointHeader>> decode_checkpoint(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::checkpoint));
  COT_ASSIGN(const auto root, flat::Root<state::Checkpoint>::verify(frame.header));
  CheckpointHeader header{.model = flat::digest(*root->model()),
                          .step = root->step(),
                          .epoch = root->epoch(),
                          .position = root->position(),
                          .random = {},
                          .optimizer_step = root->optimizer_step(),
                          .slots = root->slots(),
                          .value_bytes = root->value_bytes(),
                          .examples = root->examples(),
                          .loss_sum = root->loss_sum(),
                          .correct = root->correct(),
                          .seen = root->seen(),
                          .epoch_loss_start = root->epoch_loss_start(),
                          .plateau_best = root->plateau_best(),
                          .plateau_epochs_seen = root->plateau_epochs_seen(),
                          .plateau_epochs_without_progress = root->plateau_epochs_without_progress(),
                          .plateau_factor = root->plateau_factor(),
                          .seed = root->seed(),
                          .loss_scale = root->loss_scale(),
                          .good_steps = root->good_steps(),
                          .epoch_correct_start = root->epoch_correct_start(),
                          .ignored = root->ignored(),
                          .epoch_ignored_start = root->epoch_ignored_start(),
                          .training = {},
                          .validation_step = root->validation_step(),
                          .best_step = root->best_step(),
                          .best_loss = root->best_loss(),
                          .checks_without_gain = root->checks_without_gain(),
                          .factor_bytes = root->factor_bytes(),
                          .range_values = root->range_values(),
                          .heads = {}};
  COT_TRY(parse_heads(*root, header.heads));
  COT_ASSIGN(header.training, flat::text(root->training(), "training", kTrainingIdentityBytesMax));
  if (root->random()->size() != header.random.size()) return flat::out_of_range("random", "must have 4 words");
  for (uint32_t i = 0; i < header.random.size(); ++i) {
    header.random[i] = flat::element(*root->random(), i);
  }
  if (header.slots > 2) return flat::out_of_range("slots", "must be at most 2");
  if (header.position > header.examples) return flat::out_of_range("position", "must be at most examples");
  if (!std::isfinite(header.loss_sum)) return flat::out_of_range("loss_sum", "must be finite");
  if (!std::isfinite(header.epoch_loss_start)) return flat::out_of_range("epoch_loss_start", "must be finite");
  if (header.epoch_correct_start > header.correct) {
    return flat::out_of_range("epoch_correct_start", "must be at most correct");
  }
  if (header.epoch_ignored_start > header.ignored) {
    return flat::out_of_range("epoch_ignored_start", "must be at most ignored");
  }
  if (!std::isfinite(header.plateau_best)) return flat::out_of_range("plateau_best", "must be finite");
  if (!(header.plateau_factor > 0 && header.plateau_factor <= 1)) {
    return flat::out_of_range("plateau_factor", "must be in (0, 1]");
  }
  if (!(header.loss_scale == 0 || (header.loss_scale >= 1 && header.loss_scale <= 0x1p24f))) {
    return flat::out_of_range("loss_scale", "must be 0 or in [1, 2^24]");
  }
  if (header.validation_step > header.step) return flat::out_of_range("validation_step", "must be at most step");
  if (header.best_step > header.validation_step) {
    return flat::out_of_range("best_step", "must be at most validation_step");
  }
  if (!std::isfinite(header.best_loss)) return flat::out_of_range("best_loss", "must be finite");
  if (header.value_bytes % sizeof(float) != 0) return flat::out_of_range("value_bytes", "must be a multiple of 4");
  if (header.factor_bytes % sizeof(float) != 0) return flat::out_of_range("factor_bytes", "must be a multiple of 4");
  const auto values = checked_multiply<uint64_t>(header.value_bytes, 1 + header.slots + (header.best_step > 0 ? 1 : 0));
  const auto order = checked_multiply<uint64_t>(header.examples, sizeof(uint32_t));
  const auto vectors = values ? checked_add(*values, header.factor_bytes) : std::nullopt;
  const auto floats = vectors ? checked_add(*vectors, uint64_t{header.range_values} * sizeof(float)) : std::nullopt;
  COT_TRY(flat::payload_is(flat::prelude_of(frame), floats && order ? checked_add(*floats, *order) : std::nullopt));
  return Decoded<CheckpointHeader>{header, frame.payload};
}

Bytes encode_head(const PartialSumHeader& message) {
  FlatBufferBuilder builder;
  const auto partial = builder.CreateString(message.partial);
  flatbuffers::Offset<flatbuffers::Vector<uint32_t>> norms = 0;
  if (message.norms) {
    std::array<uint32_t, kNormBuckets> counts{};
    std::ranges::transform(message.norms->counts, counts.begin(), [](uint64_t n) { return static_cast<uint32_t>(n); });
    norms = builder.CreateVector(counts.data(), counts.size());
  }
  builder.Finish(state::CreatePartialSum(builder, message.round.round.value(), message.round.attempt.value(), partial,
                                         message.updates, message.weight_sum, message.value_count, norms));
  return flat::finish_head(builder, FrameKind::partial_sum, message.value_count * sizeof(uint64_t));
}

Result<PartialSumHeader> decode_partial_sum_head(const Prelude& prelude, ByteView header_bytes) {
  if (prelude.kind != FrameKind::partial_sum) return flat::out_of_range("frame", "is not a partial_sum");
  COT_ASSIGN(const auto root, flat::Root<state::PartialSum>::verify(header_bytes));
  PartialSumHeader header;
  header.round = {RoundId(root->round()), Attempt(root->attempt())};
  COT_ASSIGN(header.partial, flat::text(root->partial(), "partial", limits::kTextBytesMax, 1));
  header.updates = root->updates();
  header.weight_sum = root->weight_sum();
  header.value_count = root->value_count();
  if (header.updates < 1) return flat::out_of_range("updates", "must be at least 1");
  if (header.weight_sum < header.updates || header.weight_sum > uint64_t{header.updates} * kWeightMax) {
    return flat::out_of_range("weight_sum", "is not a sum of `updates` weights in [1, 2^24]");
  }
  if (const auto* counts = root->norm_counts()) {
    if (counts->size() != kNormBuckets) return flat::out_of_range("norm_counts", "must have a count for each bucket");
    std::ranges::copy(*counts, header.norms.emplace().counts.begin());
    if (header.norms->updates() != header.updates) {
      return flat::out_of_range("norm_counts", "must count each of `updates` once");
    }
  }
  COT_TRY(flat::payload_is(prelude, checked_multiply<uint64_t>(header.value_count, sizeof(uint64_t))));
  return header;
}

Result<Decoded<PartialSumHeader>> decode_partial_sum(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::partial_sum));
  COT_ASSIGN(PartialSumHeader header, decode_partial_sum_head(flat::prelude_of(frame), frame.header));
  return Decoded<PartialSumHeader>{std::move(header), frame.payload};
}

Bytes encode_head(const OptimizerStateHeader& message) {
  FlatBufferBuilder builder;
  const auto idle = message.idle_updates.empty() ? 0 : builder.CreateVector(message.idle_updates);
  builder.Finish(
      state::CreateOptimizerState(builder, message.strategy, message.step, message.value_count, message.vectors, idle));
  return flat::finish_head(builder, FrameKind::optimizer_state, message.value_count * message.vectors * sizeof(float));
}

Result<OptimizerStateHeader> decode_optimizer_state_head(const Prelude& prelude, ByteView header_bytes) {
  if (prelude.kind != FrameKind::optimizer_state) return flat::out_of_range("frame", "is not an optimizer_state");
  COT_ASSIGN(const auto root, flat::Root<state::OptimizerState>::verify(header_bytes));
  OptimizerStateHeader header{root->kind(), root->step(), root->value_count(), root->vectors()};
  if (const auto* idle = root->idle_updates()) {
    if (idle->size() < kClustersMin || idle->size() > kClustersMax) {
      return flat::out_of_range("idle_updates", "must have as many entries as a job may have clusters");
    }
    header.idle_updates.assign(idle->begin(), idle->end());
  }
  if (header.strategy == 0) return flat::out_of_range("kind", "must be at least 1");
  const uint8_t least = header.idle_updates.empty() ? 1 : 0;
  if (header.vectors < least || header.vectors > kStateVectorsMax) {
    return flat::out_of_range("vectors", concat({"must be in [", least, ", ", kStateVectorsMax, "]"}));
  }
  COT_TRY(flat::payload_is(prelude, checked_multiply<uint64_t>(header.value_count, header.vectors * sizeof(float))));
  return header;
}

Result<Decoded<OptimizerStateHeader>> decode_optimizer_state(ByteView bytes) {
  COT_ASSIGN(const Frame frame, parse_frame(bytes, FrameKind::optimizer_state));
  COT_ASSIGN(const OptimizerStateHeader header, decode_optimizer_state_head(flat::prelude_of(frame), frame.header));
  return Decoded<OptimizerStateHeader>{header, frame.payload};
}

}  // namespace coterie
