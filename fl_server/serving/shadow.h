// Shadow: the answers of two versions to the same rows, compared. Pure.
#pragma once

#include <cstdint>
#include <span>

namespace coterie {

struct ShadowComparison {
  uint64_t rows = 0;
  uint64_t agreeing = 0;      // rows whose largest value stands at the same place in both
  double difference_max = 0;  // between two values of one place; infinite if one of them is not finite
};

// `row_values`: of each row, at least 1. Precondition: both have as many values, of whole rows.
ShadowComparison compare_answers(std::span<const float> shown, std::span<const float> shadow, uint64_t row_values);

}  // namespace coterie
