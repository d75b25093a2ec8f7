#include "device_sdk/agent/make_update.h"

#include <algorithm>
#include <span>

#include "base/assert.h"
#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/encode_update.h"
#include "device_sdk/agent/normalised_steps.h"
#include "device_sdk/agent/told_scalars.h"
#include "secure/quantize/shared_rotation.h"
#include "secure/quantize/update_quantizer.h"

namespace coterie {
namespace {

// An update counts examples. Where each has several rows (the words of a sentence), so many of them are right as rows
// are, rounded down.
uint64_t correct_examples(const TrainingSummary& summary) {
  const uint64_t rows_an_example = summary.examples == 0 ? 0 : summary.rows / summary.examples;
  return rows_an_example == 0 ? 0 : summary.correct / rows_an_example;
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
  COT_TRY(limit_update(update.delta, rules, layout.statistics()));
  tell_scalars(training, rules, layout.parameters(), given, update.delta);
  if (rules.encoding == UpdateEncoding::quantized) {
    update.header.bits = rules.quantization.bits;
    COT_ASSIGN(const KeyStreamSource signs, update_rotation_signs(origin.model));
    COT_ASSIGN(const KeyStreamSource rounding, update_rounding(origin.seed));
    COT_ASSIGN(update.levels, quantize(update.delta, update.header.weight, rules, signs, rounding));
  }
  return update;
}

}  // namespace coterie
