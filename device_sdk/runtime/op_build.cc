#include "device_sdk/runtime/op_build.h"

#include "device_sdk/runtime/graph_compiler.h"

namespace coterie {

Program& OpBuild::program() { return compiler_.program_; }

const OpInfo& OpBuild::op() const { return compiler_.graph_.ops[op_index_]; }

size_t OpBuild::batch() const { return compiler_.settings_.batch_size; }

const Shape& OpBuild::input_shape(size_t i) const { return compiler_.model_.shape(op().inputs[i]); }

const Shape& OpBuild::output_shape() const { return compiler_.model_.shape(op().outputs[0]); }

BufferId OpBuild::input(size_t i) const {
  return i < op().inputs.size() ? compiler_.values_[op().inputs[i]] : kNoBuffer;
}

BufferId OpBuild::output() {
  BufferId& value = compiler_.values_[op().outputs[0]];
  if (value == kNoBuffer) value = compiler_.new_value(op().outputs[0]);
  return value;
}

void OpBuild::output_is_input() { compiler_.values_[op().outputs[0]] = input(0); }

// Walks back through the tensors that share the input's memory: each must have this one reader, and none may be read
// again by the backward pass of the op that made it.
bool OpBuild::may_overwrite_input() const {
  const ModelGraph& graph = compiler_.graph_;
  uint32_t tensor = op().inputs[0];
  for (;;) {
    const uint32_t maker = compiler_.index_.producer[tensor];
    if (maker == kNoOp || !compiler_.index_.has_one_reader(tensor)) return false;
    if (rule_of(graph.ops[maker].kind).saves_output) return false;
    const uint32_t source = graph.ops[maker].inputs[0];
    if (compiler_.values_[source] != compiler_.values_[tensor]) return true;
    tensor = source;
  }
}

BufferId OpBuild::output_gradient() const { return compiler_.gradients_[op().outputs[0]]; }

bool OpBuild::needs_gradient(size_t i) const {
  return i < op().inputs.size() && compiler_.needs_gradient_[op().inputs[i]];
}

BufferId OpBuild::input_gradient(size_t i) {
  return i < op().inputs.size() ? compiler_.begin_gradient(op().inputs[i]) : kNoBuffer;
}

void OpBuild::pass_gradient(size_t i) { compiler_.adopt_gradient(op().inputs[i], op_index_); }

bool OpBuild::applies_relu() const { return compiler_.fusions_[op_index_].applies_relu; }
bool OpBuild::is_applied_by_producer() const { return compiler_.fusions_[op_index_].is_applied_by_producer; }
bool OpBuild::is_undone_by_consumer() const { return compiler_.fusions_[op_index_].is_undone_by_consumer; }
bool OpBuild::undoes_relu() const { return compiler_.fusions_[op_index_].undoes_relu; }

BufferId OpBuild::scratch(uint64_t bytes) { return bytes == 0 ? kNoBuffer : program().add_planned(bytes); }

}  // namespace coterie
