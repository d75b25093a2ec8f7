// What a compiled head's sums come to.
#pragma once

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/loss_rule.h"

namespace coterie {

// `ignored`: so many rows of the `examples`.
inline HeadResult head_result(const TrainingHead& asked, const CompiledHead& head, uint64_t examples, uint64_t ignored,
                              const HeadSums& sums, double loss_mean) {
  HeadResult result{.output = asked.output,
                    .loss = asked.loss,
                    .weight = asked.weight,
                    .rows = examples * head.rows - ignored,
                    .loss_mean = loss_mean,
                    .measure = measure_of(head.loss, head.width)};
  if (result.rows == 0) return result;
  const double rows = static_cast<double>(result.rows);
  if (result.measure == HeadMeasure::accuracy) result.value = static_cast<double>(sums.sums.correct) / rows;
  if (result.measure == HeadMeasure::mean_absolute_error) {
    result.value = sums.absolute_error / (rows * static_cast<double>(head.width));
  }
  return result;
}

}  // namespace coterie
