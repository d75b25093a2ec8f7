// Which part of its result a kernel call computes.
#pragma once

#include <cstddef>

namespace coterie::kernels {

struct Range {
  size_t begin, end;

  size_t size() const { return end - begin; }
};

}  // namespace coterie::kernels
