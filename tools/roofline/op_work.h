// What a training step asks of a machine, op by op, whatever kernels do it: operations by the op's definition, and
// bytes by the operands of the program's steps. Pure.
//
// Operations: a multiply-add is two. Forward has what the op's rule says (device_sdk/runtime/op_rule.h). Backward has
//
//   dense, conv2d, conv_transpose2d, matmul   the same again for each of the two factors that gets a gradient
//   attention, lstm, gru, rnn                 twice the same: each of their products has two factors
//   any other op                              the same again
//
// and nothing where no gradient is asked for. The loss and the update count bytes alone: they do few operations a byte.
// A kernel may do fewer (Winograd's and FFT convolutions do), and then stands above the roof.
//
// Bytes: each operand of a step once, at its whole size, as if the caches were empty in front of the step and large
// enough within; workspace of one step not at all; parameters and moments that the update changes twice.
#pragma once

#include <cstdint>
#include <span>

#include "device_sdk/runtime/step_info.h"
#include "proto/messages/model.h"

namespace coterie {

struct DirectionWork {
  double flops = 0;
  uint64_t bytes = 0;
  uint64_t working_set = 0;  // bytes of the step that has most
};

struct OpWork {
  DirectionWork forward, backward;  // the update is backward's, as in OpTime
};

// `origin` is an op's index in `graph`, or kLossOrigin or kUpdateOrigin; `forward_flops` are the op's.
OpWork work_of(uint32_t origin, const ModelGraph& graph, double forward_flops, std::span<const StepInfo> steps);

}  // namespace coterie
