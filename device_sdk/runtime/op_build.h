// OpBuild: what an op's rule is given to emit its steps.
//
// The compiler owns the bookkeeping of autodiff: which inputs need a gradient, that the gradients of a tensor that
// several ops read are summed, that a weight is updated when its last gradient is in and nobody reads it any more. A
// rule only says how its own gradients are computed, or that one passes through. Shapes are those of the batch the
// program is compiled for.
#pragma once

#include <initializer_list>

#include "device_sdk/runtime/channels.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/program.h"

namespace coterie {

class GraphCompiler;

class OpBuild {
 public:
  // The phase that its steps belong to: backward, forward, or prepare where all that it reads is settled.
  OpBuild(GraphCompiler& compiler, size_t op_index, Phase phase)
      : compiler_(compiler), op_index_(op_index), phase_(phase) {}

  const OpInfo& op() const;
  template <typename Attributes>
  const Attributes& attributes() const {
    return std::get<Attributes>(op().attributes);
  }
  size_t input_count() const { return op().inputs.size(); }
  bool has_input(size_t i) const { return i < op().inputs.size() && op().inputs[i] != kNoTensor; }
  const TensorType& input_type(size_t i) const;
  const Shape& input_shape(size_t i) const { return input_type(i).shape; }
  bool has_output(size_t i) const { return i < op().outputs.size() && op().outputs[i] != kNoTensor; }
  const Shape& output_shape(size_t i = 0) const;

  // Whether the model is being trained: dropout drops, batch norm takes the batch's statistics.
  bool is_training() const;
  // Batch norm keeps to its running statistics although the model is being trained.
  bool freezes_statistics() const;
  // Whether backward() will be called for this op.
  bool has_backward() const;
  // A number of this op's own, for its random numbers.
  uint32_t index() const { return static_cast<uint32_t>(op_index_); }

  // --- values
  BufferId input(size_t i) const;  // kNoBuffer if absent
  // kNoBuffer if the op has no such output. What the op makes, also where others read it rounded (fake_quantise.h).
  BufferId output(size_t i = 0);
  // The output is the input under another shape.
  void output_is_input();
  // The program never changes input i (prepared.h); one that is absent neither.
  bool is_settled(size_t i) const;
  // Whether weights are worth keeping as the kernels read them, in emit_prepare: input i is settled, and memory is not
  // so scarce that steps are run again.
  bool keeps_prepared(size_t i) const;
  // Memory that backward() gets back with saved(), in the order of the calls.
  BufferId save(uint64_t bytes);
  BufferId saved(size_t i) const;

  // --- gradients; backward only
  BufferId output_gradient(size_t i = 0) const;  // kNoBuffer: that output has no influence on the loss
  bool needs_gradient(size_t i) const;
  // Where to write the whole gradient of input i; kNoBuffer if none is needed. Summing with other readers' gradients
  // happens afterwards.
  BufferId input_gradient(size_t i);
  // The same where the kernel makes it in any case: scratch memory if nobody needs it. The trained channels alone,
  // unless they are all (below).
  BufferId gradient_or_scratch(size_t i, ChannelRange channels = {});
  // The gradient of input i is this buffer as it is: the output's, say. It may have other readers: never written again.
  void pass_gradient(size_t i, BufferId gradient);
  void pass_gradient(size_t i) { pass_gradient(i, output_gradient()); }

  // --- sparse updates (channels.h); backward only
  // The channels whose gradients are needed of inputs `weight` and `bias`, both [.., channels], for a rule that
  // computes no others; is_all() too where the two differ or the weight needs none.
  ChannelRange trained_channels(size_t weight, size_t bias) const;
  // Only these channels of x[.., channels]; x itself if they are all.
  BufferId take_channels(BufferId x, const Shape& shape, ChannelRange channels);
  // As input_gradient, of these channels alone: what trained_channels() said.
  BufferId channel_gradient(size_t i, ChannelRange channels);

  // --- fusion (fusion.h)
  kernels::Activation activation()
      const;  // dense, conv2d, conv_transpose2d, batch_norm: the one behind is applied here
  const OpInfo* folded_norm()
      const;  // likewise but batch_norm: the batch norm behind that is part of the weights; or null
  BufferId value(uint32_t tensor) const;  // of the graph: an input of that norm
  bool is_applied_by_producer() const;    // batch_norm, relu, relu6, forward: nothing is left to do
  bool is_undone_by_producer() const;     // batch_norm, relu, relu6, backward: the op in front does that
  bool is_undone_by_consumer() const;     // relu, backward: the gradient that comes in is already masked
  bool undoes_relu() const;               // max pool, backward: mask for the ReLU in front

  // --- steps
  BufferId scratch(uint64_t bytes);  // for the steps of this op; kNoBuffer for 0 bytes
  // For one step: each of the parts that it is cut into gets so much. kNoBuffer for 0 bytes.
  BufferId workspace(uint64_t bytes);
  // The step that writes `result` may write it over `operand`.
  void may_share(BufferId result, BufferId operand);
  // How a step may be cut that does about what the op's forward does.
  Split split(size_t units, size_t grain = 1) const;
  template <typename Settings>
  void emit(const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
            std::initializer_list<BufferId> buffers, const Split& split = {}) {
    program().emit(phase_, kind, settings, buffers, split);
  }
  template <typename Settings>
  void emit(const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
            std::span<const BufferId> buffers, const Split& split = {}) {
    program().emit(phase_, kind, settings, buffers, split);
  }
  // Once, before all other phases: reads settled inputs and what was prepared before, nothing else, and writes memory
  // of prepared() or scratch(). To be called in forward or in backward, in the order in which the steps run.
  template <typename Settings>
  void emit_prepare(const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
                    std::initializer_list<BufferId> buffers, const Split& split = {}) {
    program().emit(Phase::prepare, kind, settings, buffers, split);
  }
  // For a result of emit_prepare, which every later step may read: memory that is never overlaid.
  BufferId prepared(uint64_t bytes) { return scratch(bytes); }
  // `weight` - input i, or what was made of it (ops/folded_norm.h) - as the kernels read it: a step of `kind` takes
  // {weight, result}. Once if keeps_prepared(i), else in front of the step that is emitted next, which reads the
  // result.
  template <typename Settings>
  BufferId prepare_weight(size_t i, BufferId weight, const StepKindOf<Settings>& kind,
                          const std::type_identity_t<Settings>& settings, uint64_t bytes, const Split& split) {
    const BufferId made = scratch(bytes);
    program().emit(keeps_prepared(i) ? Phase::prepare : phase_, kind, settings, {weight, made}, split);
    return made;
  }
  // Runs behind the loss, and only if it is finite: what changes the model's state.
  template <typename Settings>
  void emit_after_loss(const StepKindOf<Settings>& kind, const std::type_identity_t<Settings>& settings,
                       std::initializer_list<BufferId> buffers) {
    program().emit(Phase::backward, kind, settings, buffers);
    program().last_changes_state(Phase::backward);
  }

 private:
  Program& program();

  GraphCompiler& compiler_;
  size_t op_index_;
  Phase phase_;
};

}  // namespace coterie
