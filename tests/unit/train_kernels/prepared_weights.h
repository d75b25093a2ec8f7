// Weights as the products of dense layers and convolutions are given them, prepared in two parts in guarded memory.
#pragma once

#include <optional>

#include "tests/unit/train_kernels/guarded_buffer.h"
#include "train_kernels/kernel_table.h"
#include "train_kernels/workspace.h"

namespace coterie::kernels::test {

// always: wherever there is something to prepare; where_it_pays: as a runtime does whose weights are used once.
enum class Prepare : uint8_t { where_it_pays, always };

class PreparedWeights {
 public:
  const float* data() const { return buffer_ ? buffer_->data() : nullptr; }

  static PreparedWeights forward(const KernelTable& table, const DenseShape& s, const float* w,
                                 Prepare how = Prepare::where_it_pays, size_t cut = 1) {
    return make(how, prepares_dense_forward(s), dense_forward_prepared_bytes(s), s.in, cut,
                [&](Range part, float* to) { table.dense_prepare_forward(s, part, w, to); });
  }
  static PreparedWeights backward(const KernelTable& table, const DenseShape& s, const float* w,
                                  Prepare how = Prepare::where_it_pays, size_t cut = 1) {
    return make(how, prepares_dense_backward_input(s), dense_backward_input_prepared_bytes(s), s.out, cut,
                [&](Range part, float* to) { table.dense_prepare_backward_input(s, part, w, to); });
  }
  static PreparedWeights forward(const KernelTable& table, const Conv2dShape& s, const float* w,
                                 Prepare how = Prepare::where_it_pays, size_t cut = 1) {
    return make(how, prepares_conv2d_forward(s), conv2d_forward_prepared_bytes(s), s.channels / s.groups, cut,
                [&](Range part, float* to) { table.conv2d_prepare_forward(s, part, w, to); });
  }
  static PreparedWeights backward(const KernelTable& table, const Conv2dShape& s, const float* w,
                                  Prepare how = Prepare::where_it_pays, size_t cut = 1) {
    return make(how, prepares_conv2d_backward_input(s), conv2d_backward_input_prepared_bytes(s), s.filters / s.groups,
                cut, [&](Range part, float* to) { table.conv2d_prepare_backward_input(s, part, w, to); });
  }

 private:
  template <typename Call>
  static PreparedWeights make(Prepare how, bool pays, size_t bytes, size_t units, size_t cut, const Call& call) {
    PreparedWeights made;
    if (bytes == 0 || (how == Prepare::where_it_pays && !pays)) return made;
    made.buffer_.emplace(bytes / sizeof(float));
    cut = cut < units ? cut : units;
    call(Range{cut, units}, made.buffer_->data());
    call(Range{0, cut}, made.buffer_->data());
    COT_ASSERT(made.buffer_->is_intact());
    return made;
  }

  std::optional<GuardedBuffer<float>> buffer_;
};

}  // namespace coterie::kernels::test
