// The Euclidean norm of a tensor, the same however many threads there are (sum_of_squares, tables/optimizer.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "device_sdk/runtime/program.h"

namespace coterie {

// Where norm_of() keeps the sums of blocks.
inline BufferId add_norm_blocks(Program& program, uint64_t count) {
  constexpr uint64_t kBlock = kernels::kSquaresBlock;
  const BufferId blocks = program.add_planned((count + kBlock - 1) / kBlock * sizeof(double));
  program.holds(blocks, {.type = ElementType::float64});
  return blocks;
}

inline double norm_of(const StepContext& context, size_t count, const float* x, float* blocks) {
  auto* const sums = reinterpret_cast<double*>(blocks);
  context.kernels.sum_of_squares(count, x, sums);
  double sum = 0;
  for (size_t k = 0; k < (count + kernels::kSquaresBlock - 1) / kernels::kSquaresBlock; ++k) sum += sums[k];
  return std::sqrt(sum);
}

}  // namespace coterie
