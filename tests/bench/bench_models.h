// The networks that ./bench trains: the same as tests/bench/train_torch.py builds in PyTorch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

struct BenchModel {
  std::string_view name;
  std::vector<uint32_t> batches;  // that are measured
  int32_t token_count = 0;        // inputs are numbers below this; 0: inputs are pixels
  uint32_t classes = 10;
};

std::span<const BenchModel> bench_models();

// Nets of independent branches, for what computing them at the same time is worth. They are not measured in PyTorch.
std::span<const BenchModel> branched_models();

// Calls it for each model of these names, in the order of bench_models(). The exit status of a program: 1 once one has
// failed, which is said on standard error.
int measure_models(std::span<const std::string_view> names, Status (*measure)(const BenchModel&));

// A model file. Errors: invalid_argument (no such model).
Result<Bytes> make_bench_model(std::string_view name);

}  // namespace coterie
