// GraphCompiler: model -> Program.
//
//   forward    the rules of the needed ops, in the graph's order
//   loss       with its gradient when training
//   backward   the rules in reverse order, for ops below which some parameter lies; gradients of a tensor with several
//              readers are summed; nothing computes the gradient of the graph's input
//   update     of each parameter right behind the last op that reads it, so that its gradient's memory is free again
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device_sdk/runtime/fusion.h"
#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/program.h"
#include "proto/messages/plan.h"

namespace coterie {

struct CompileSettings {
  Loss loss = Loss::softmax_cross_entropy;
  uint32_t batch_size = 1;                     // the largest batch that will be run
  std::optional<OptimizerSettings> optimizer;  // absent: evaluation, no backward
  uint64_t arena_bytes_max = 0;
};

// A finished program: regions parameters (zero; the caller fills them) and the optimizer's slots. Errors:
// invalid_argument (the loss does not fit the model's output), too_large.
Result<Program> compile(const Model& model, const CompileSettings& settings);

// The compiler's state while it runs; ops see it through OpBuild.
class GraphCompiler {
 public:
  GraphCompiler(const Model& model, const CompileSettings& settings);
  Result<Program> run();

 private:
  friend class OpBuild;

  struct PendingSum {
    uint32_t tensor;
    BufferId part;
  };

  bool is_parameter(uint32_t tensor) const;
  uint64_t values_of(uint32_t tensor) const;  // floats of the largest batch, or of the parameter
  BufferId new_value(uint32_t tensor);
  BufferId begin_gradient(uint32_t tensor);
  void adopt_gradient(uint32_t tensor, size_t from_op);
  void emit_sum(StepFunction function, uint32_t tensor, BufferId from, BufferId to);

  void find_needed_gradients();
  void add_parameters();
  void emit_forward();
  void emit_backward();
  void emit_update_if_last(uint32_t parameter);

  const Model& model_;
  const ModelGraph& graph_;
  const CompileSettings& settings_;
  GraphIndex index_;
  std::vector<OpFusion> fusions_;
  Program program_;
  std::vector<BufferId> values_;       // per tensor
  std::vector<BufferId> gradients_;    // per tensor: where its gradient is summed; kNoBuffer until one arrives
  std::vector<bool> needs_gradient_;   // per tensor
  std::vector<size_t> readers_left_;   // per tensor: ops whose backward is still to come
  std::vector<PendingSum> pending_;    // of the op being emitted
  bool gradient_was_passed_ = false;   // of the op being emitted: its output's gradient buffer has a new owner
};

}  // namespace coterie
