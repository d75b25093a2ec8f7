#include "device_sdk/runtime/op_build.h"

#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/left_out.h"

namespace coterie {

Program& OpBuild::program() { return compiler_.program_; }

const OpInfo& OpBuild::op() const { return compiler_.graph_.ops[op_index_]; }

const TensorType& OpBuild::input_type(size_t i) const { return compiler_.types_[op().inputs[i]]; }

const Shape& OpBuild::output_shape(size_t i) const { return compiler_.types_[op().outputs[i]].shape; }

bool OpBuild::is_training() const { return compiler_.settings_.purpose == Purpose::train; }

bool OpBuild::freezes_statistics() const { return compiler_.settings_.freeze_statistics; }

bool OpBuild::has_backward() const { return compiler_.op_needs_gradient(op_index_); }

BufferId OpBuild::input(size_t i) const { return has_input(i) ? compiler_.values_[op().inputs[i]] : kNoBuffer; }

BufferId OpBuild::output(size_t i) {
  if (!has_output(i)) return kNoBuffer;
  BufferId& value = compiler_.values_[op().outputs[i]];
  if (value == kNoBuffer) value = compiler_.new_value(op().outputs[i]);
  return compiler_.exact_value(op().outputs[i]);
}

void OpBuild::output_is_input() { compiler_.values_[op().outputs[0]] = input(0); }

bool OpBuild::is_settled(size_t i) const { return !has_input(i) || compiler_.is_settled_[op().inputs[i]]; }

bool OpBuild::keeps_prepared(size_t i) const { return is_settled(i) && compiler_.settings_.planned_bytes_max == 0; }

BufferId OpBuild::save(uint64_t bytes) {
  const BufferId buffer = program().add_planned(bytes);
  compiler_.saved_[op_index_].push_back(buffer);
  return buffer;
}

BufferId OpBuild::saved(size_t i) const { return compiler_.saved_[op_index_].at(i); }

BufferId OpBuild::output_gradient(size_t i) const {
  return has_output(i) ? compiler_.gradients_[op().outputs[i]] : kNoBuffer;
}

bool OpBuild::needs_gradient(size_t i) const { return has_input(i) && compiler_.needs_gradient_[op().inputs[i]]; }

BufferId OpBuild::input_gradient(size_t i) {
  return needs_gradient(i) ? compiler_.new_gradient(op().inputs[i]) : kNoBuffer;
}

void OpBuild::pass_gradient(size_t i, BufferId gradient) {
  if (needs_gradient(i)) compiler_.add_gradient(op().inputs[i], gradient);
}

ChannelRange OpBuild::trained_channels(size_t weight, size_t bias) const {
  if (!kHasChannels || !needs_gradient(weight)) return {};
  const ChannelRange channels = compiler_.channels_of(op().inputs[weight]);
  const bool fits = !needs_gradient(bias) || compiler_.channels_of(op().inputs[bias]) == channels;
  return fits ? channels : ChannelRange{};
}

BufferId OpBuild::take_channels(BufferId x, const Shape& shape, ChannelRange channels) {
  if (!kHasChannels || channels.is_all()) return x;
  const ChannelMatrix matrix = channel_matrix(shape, channels);
  const BufferId narrow = program().add_planned(matrix.narrow_elements() * kElementBytes);
  emit_take_channels(program(), Phase::backward, matrix, x, narrow);
  return narrow;
}

BufferId OpBuild::channel_gradient(size_t i, ChannelRange channels) {
  if (!kHasChannels || channels.is_all()) return input_gradient(i);
  return needs_gradient(i) ? compiler_.new_channel_gradient(op().inputs[i]) : kNoBuffer;
}

BufferId OpBuild::gradient_or_scratch(size_t i, ChannelRange channels) {
  if (needs_gradient(i)) return channel_gradient(i, channels);
  return scratch(elements(input_shape(i)) * kElementBytes);
}

kernels::Activation OpBuild::activation() const { return compiler_.fusions_[op_index_].activation; }
const OpInfo* OpBuild::folded_norm() const {
  const uint32_t norm = compiler_.fusions_[op_index_].folded_norm;
  return norm == kNoOp ? nullptr : &compiler_.graph_.ops[norm];
}
BufferId OpBuild::value(uint32_t tensor) const { return compiler_.values_[tensor]; }
bool OpBuild::is_applied_by_producer() const { return compiler_.fusions_[op_index_].is_applied_by_producer; }
bool OpBuild::is_undone_by_producer() const { return compiler_.fusions_[op_index_].is_undone_by_producer; }
bool OpBuild::is_undone_by_consumer() const { return compiler_.fusions_[op_index_].is_undone_by_consumer; }
bool OpBuild::undoes_relu() const { return compiler_.fusions_[op_index_].undoes_relu; }

BufferId OpBuild::scratch(uint64_t bytes) { return bytes == 0 ? kNoBuffer : program().add_planned(bytes); }

BufferId OpBuild::workspace(uint64_t bytes) { return program().add_workspace(bytes); }

Split OpBuild::split(size_t units, size_t grain) const { return {units, grain, compiler_.op_flops_[op_index_]}; }

void OpBuild::may_share(BufferId result, BufferId operand) { program().may_share(result, operand); }

}  // namespace coterie
