#include "device_sdk/agent/make_update.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/largest_values.h"
#include "device_sdk/agent/normalised_steps.h"
#include "device_sdk/agent/told_scalars.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/sparse_values.h"
#include "secure/quantize/eden.h"
#include "secure/quantize/shared_rotation.h"
#include "secure/quantize/update_quantizer.h"

namespace coterie {
namespace {

// An update counts examples. Where each has several rows (the words of a sentence), so many of them are right as rows
// are, rounded down. Rows that are ignored are no rows.
uint64_t correct_examples(const TrainingSummary& summary) {
  if (summary.rows == 0 || summary.examples == 0) return 0;
  if (summary.rows % summary.examples == 0) return summary.correct / (summary.rows / summary.examples);
  const double share = static_cast<double>(summary.correct) / static_cast<double>(summary.rows);
  return static_cast<uint64_t>(share * static_cast<double>(summary.examples));
}

// Behind the limits.
Status compress(const UpdateRules& rules, const TrainingOrigin& origin, TrainedUpdate& update) {
  update.header.bits = rules.level_bits();
  if (rules.encoding == UpdateEncoding::quantized) {
    COT_ASSIGN(const KeyStreamSource signs, update_rotation_signs(origin.model));
    COT_ASSIGN(const KeyStreamSource rounding, update_rounding(origin.seed));
    COT_ASSIGN(update.levels, quantize(update.delta, update.header.weight, rules, signs, rounding));
  } else if (rules.encoding == UpdateEncoding::eden) {
    update.header.rotation_seed = eden_rotation_seed(origin.seed);
    COT_ASSIGN(EdenUpdate eden, encode_eden(update.delta, rules.quantization.bits, update.header.rotation_seed));
    update.header.scale = eden.scale;
    update.levels = std::move(eden.levels);
  } else if (rules.encoding == UpdateEncoding::top_k) {
    LargestValues largest = take_largest(rules.top_k, update.delta);
    update.header.sent_count = rules.top_k.sent_count;
    update.header.scale = largest.scale;
    update.indices = std::move(largest.indices);
    update.levels = std::move(largest.levels);
  }
  return {};
}

// The state is the device's own file: as long as the update, or none.
void add_residual(std::span<const float> state, std::span<float> delta) {
  COT_ASSERT(state.empty() || state.size() == delta.size());
  for (size_t i = 0; i < state.size(); ++i) delta[i] += state[i];
}

// What was one model's becomes that of its cluster: zeros stand for all others, and scalars stay behind them.
void put_into_slot(const UpdateLayout& layout, uint32_t cluster, TrainedUpdate& update) {
  const uint64_t slot = layout.count(), scalars = update.delta.size() - slot;
  std::vector<float> whole(slot * layout.clusters() + scalars);
  const auto values = std::span<const float>(update.delta);
  std::ranges::copy(values.first(slot), whole.begin() + static_cast<std::ptrdiff_t>(cluster * slot));
  std::ranges::copy(values.last(scalars), whole.end() - static_cast<std::ptrdiff_t>(scalars));
  update.delta = std::move(whole);
  update.header.value_count = update.delta.size();
}

}  // namespace

Result<TrainedUpdate> make_update(const UpdateLayout& layout, const Trainer& trainer, uint64_t examples,
                                  const TrainingSettings& training, const UpdateRules& rules,
                                  const TrainingOrigin& origin) {
  const TrainingSummary summary = trainer.summary();
  TrainedUpdate update;
  const bool has_control_part = rules.control_value_count > 0;
  COT_ASSERT(!has_control_part || rules.control_value_count == layout.count());
  update.delta.resize(layout.count() + rules.control_value_count + (rules.has_clip_bit() ? 1 : 0) +
                      rules.scalars.size());
  const GivenFacts nothing;
  const GivenFacts& given = origin.given != nullptr ? *origin.given : nothing;
  const std::span<float> trained = std::span(update.delta).first(layout.count());
  layout.read_delta(trainer, trained);
  // Before normalise_steps and the limits: the control's part is made of what was trained, not of what is sent.
  if (has_control_part) {
    const std::span<float> part = std::span(update.delta).subspan(layout.count(), layout.count());
    if (needs_gradient(training.correction.kind)) {
      COT_ASSERT(given.gradient.size() == layout.count());
      make_gradient_part(training.correction, layout.parameters(), given.gradient, origin.state, part);
    } else {
      make_control_part(training, trainer.kept_steps(), layout.parameters(), trained, origin.control, part);
    }
  }
  normalise_steps(training, trainer.kept_steps(), layout.parameters(), trained);
  update.header.encoding = rules.encoding;
  update.header.value_count = update.delta.size();
  update.header.weight = update_weight(examples, rules);
  update.header.examples = static_cast<uint32_t>(std::min<uint64_t>(summary.examples, UINT32_MAX));
  update.header.loss_sum = summary.loss_sum;
  update.header.correct = static_cast<uint32_t>(std::min<uint64_t>(correct_examples(summary), UINT32_MAX));
  // What earlier updates left out is sent with this one. It is added before the limits, so that the norm that is sent
  // keeps within the clip.
  if (rules.top_k.has_error_feedback) {
    add_residual(origin.state, update.delta);
    update.residual = update.delta;
  }
  COT_TRY(limit_update(update.delta, rules, layout.statistics()));
  const TellingDevice device{origin.group, origin.control, layout.width_class(), origin.watched};
  COT_TRY(tell_scalars(training, rules, layout.parameters(), given, device, update.delta));
  if (layout.clusters() > 1) put_into_slot(layout, given.cluster, update);
  COT_TRY(compress(rules, origin, update));
  // compress() has left in delta what the server will read: the rest is what this update does not tell.
  for (size_t i = 0; i < update.residual.size(); ++i) update.residual[i] -= update.delta[i];
  return update;
}

std::vector<float> state_after(const Plan& plan, const UpdateLayout& layout, std::span<const float> state,
                               TrainedUpdate& update) {
  if (state_kind_of(plan) == StateKind::error_feedback) return std::move(update.residual);
  return next_state(plan.training.correction, layout.parameters(), state, update.delta);
}

Bytes encode_update(const TrainedUpdate& update) {
  const UpdateHeader& header = update.header;
  if (header.encoding == UpdateEncoding::quantized || header.encoding == UpdateEncoding::eden) {
    return encode_update(header, update.levels);
  }
  if (header.encoding != UpdateEncoding::top_k) return encode_update(header, update.delta);
  const SparseShape shape{.value_count = header.value_count, .sent_count = header.sent_count, .bits = header.bits};
  Bytes frame = encode_head(header);
  const size_t begin = frame.size();
  frame.resize(begin + sparse_bytes(shape).value());
  pack_sparse(shape, update.indices, update.delta, update.levels, std::span(frame).subspan(begin));
  return frame;
}

// The largest values are there already.
Status put_what_is_added(const UpdateRules& rules, TrainedUpdate& update) {
  const bool are_levels = rules.encoding == UpdateEncoding::quantized || rules.encoding == UpdateEncoding::eden;
  if (are_levels) std::ranges::copy(update.levels, update.delta.begin());
  if (rules.encoding != UpdateEncoding::eden) return {};
  return decode_eden(update.header.scale, update.header.bits, update.header.rotation_seed,
                     rules.fixed_point.value_abs_max, update.delta);
}

}  // namespace coterie
