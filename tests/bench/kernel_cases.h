// The calls that coterie-bench-kernels times: layers of the networks that devices train.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train_kernels/kernel_table.h"

namespace coterie::bench {

// `flops`: multiplies and adds of the definition, taps on padding counted too (as oneDNN's benchmark does).
struct KernelCase {
  std::string op, shape;
  double flops;
  std::function<void(const kernels::KernelTable&)> run;
};

// Those whose "op shape" contains `filter`. Operands are made on first use and kept for the next case's.
std::vector<KernelCase> kernel_cases(const std::string& filter);

}  // namespace coterie::bench
