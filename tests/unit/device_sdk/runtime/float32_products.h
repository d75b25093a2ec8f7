// For tests of storage alone: while it lives, `storage` bf16 computes in float32 on every CPU. Made before threads are.
#pragma once

#include "train_kernels/bfloat16_kernels.h"

namespace coterie::test {

class Float32Products {
 public:
  Float32Products() { kernels::bfloat16_kernels_are_off = true; }
  ~Float32Products() { kernels::bfloat16_kernels_are_off = false; }
  Float32Products(const Float32Products&) = delete;
  Float32Products& operator=(const Float32Products&) = delete;
};

}  // namespace coterie::test
