// GraphCompiler: model -> Program.
//
//   prepare    those of the needed ops whose inputs are all settled (prepared.h): constants are folded here
//   forward    the rules of the other needed ops, in the graph's order; where a training counts on int8, weights and
//              activations are rounded in between (fake_quantise.h)
//   loss       with its gradient when training
//   backward   the rules in reverse order, for ops below which some trainable parameter lies; gradients of a tensor
//              with several readers are summed; nothing computes a gradient that nobody needs
//   update     of each parameter right behind the last op that reads it, so that its gradient's memory is free again;
//              or of all at the end, from gradients that were added up
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device_sdk/runtime/channels.h"
#include "device_sdk/runtime/fit_program.h"
#include "device_sdk/runtime/fusion.h"
#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/op_build.h"
#include "device_sdk/runtime/optimisation.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/program.h"
#include "device_sdk/runtime/train_options.h"
#include "proto/messages/plan.h"

namespace coterie {

struct ExternalPart;
struct ExternalParts;

// differentiate: forward as in predict, and backward from a gradient of the output that the caller gives to the tensors
// that he names; no loss, and no parameter changes.
enum class Purpose : uint8_t { predict, evaluate, train, differentiate };

struct CompileSettings {
  Purpose purpose = Purpose::train;
  LossSettings loss = {};  // of evaluate and train
  // When it predicts: which of the model's further outputs (model_outputs.h) are computed beside its own.
  std::vector<uint32_t> further_outputs = {};
  uint32_t batch_size = 1;
  // The optimizer of train. With keeps_gradients the backward phase adds gradients to Region::gradients, and the update
  // phase reads them there; else each parameter is updated in the backward phase, as soon as its gradient is there.
  OptimizerSettings optimizer = {};
  bool keeps_gradients = false;
  bool freeze_statistics = false;  // TrainOptions
  std::vector<ParameterGroup> groups = {};
  float proximal_mu = 0;                        // TrainOptions
  std::span<const float> gradient_offset = {};  // TrainOptions; outlives the program
  std::vector<bool> is_trainable = {};          // per tensor; empty: every parameter that is not frozen
  std::vector<ChannelRange> channels = {};      // per tensor: those of a parameter that are trained; empty: all of all
  std::vector<uint32_t> differentiated = {};    // float32 tensors, inputs or what ops write, whose gradients are kept
  // For train: the loss lies elsewhere, and the caller fills the output's gradient in front of backward.
  bool takes_output_gradient = false;
  std::optional<QuantisedTraining> qat = {};  // of train; TrainOptions. Then no ops are fused
  uint64_t arena_bytes_max = 0;
  Storage storage = Storage::float32;
  uint64_t planned_bytes_max = 0;  // steps run again to need no more (fit_program.h); 0: no limit
  bool joins_steps = true;         // TrainOptions
  // Neighbouring ops are computed as one where that is faster (fusion.h), of level exact those that change no bit.
  // With none each op's own output is there.
  Optimisation optimisation = Optimisation::rounding;
  bool runs_waves = true;                   // TrainOptions
  const ExternalParts* external = nullptr;  // of predict and train: what is computed elsewhere; outlives compile()
  uint32_t threads = 1;                     // into how many parts a step is cut at most; the results are the same bits
  double part_nanoseconds_min = limits::kPartNanosecondsMin;
};

// One head of a loss that has several (loss_heads.h).
struct CompiledHead {
  LossSettings loss;  // as if it were alone
  float weight = 1;
  BufferId target = kNoBuffer;
  uint64_t target_elements = 0;  // of one example
  uint64_t rows = 0, width = 0;  // of one example's output; numbers a row
  BufferId sums = kNoBuffer;     // HeadSums, to be read after forward
};

// What Storage::bfloat16 came to (bfloat16_choice.h).
struct NarrowedSum {
  uint32_t tensors = 0;
  uint64_t bytes_saved = 0;  // of the planned bytes of one thread, without a limit
};

struct CompiledModel {
  Program program;                        // planned, not yet bound
  ArenaLayout layout;                     // what it needs
  std::vector<BufferId> inputs;           // of the model, in its order
  BufferId output = kNoBuffer;            // may be read after forward, unless training
  BufferId target = kNoBuffer;            // the loss's, where there is one. May be read after evaluation
  uint64_t target_elements = 0;           // of one example
  std::vector<CompiledHead> heads;        // of a loss that has some; target is then the first one's
  std::vector<BufferId> further_outputs;  // as CompileSettings has them; may be read after forward
  // What differentiate and takes_output_gradient add: a gradient to be filled before backward, in the output's shape;
  // and each differentiated tensor's value and gradient, to be read after backward. kNoBuffer: the output does not
  // depend on it, or not in a way that has a slope.
  BufferId output_gradient = kNoBuffer;
  struct Differentiated {
    BufferId value = kNoBuffer, gradient = kNoBuffer;
  };
  std::vector<Differentiated> differentiated;
  Recomputed recomputed;
  NarrowedSum narrowed;
};

// Errors: invalid_argument (the loss does not fit the model's output), too_large. The program refers to the model's
// constants: `model` (or a copy of it) must outlive it.
Result<CompiledModel> compile(const Model& model, const CompileSettings& settings);

// The compiler's state while it runs; ops see it through OpBuild.
class GraphCompiler {
 public:
  GraphCompiler(const Model& model, const CompileSettings& settings);
  Result<CompiledModel> run();

 private:
  friend class OpBuild;

  bool is_trained(uint32_t tensor) const;
  bool is_settled_op(const OpInfo& op) const;
  bool op_needs_gradient(size_t op_index) const;
  uint64_t bytes_of(uint32_t tensor) const;
  BufferContent content_of(uint32_t tensor, BufferRole role) const;
  BufferId new_value(uint32_t tensor);
  BufferId new_whole_gradient(uint32_t tensor);
  ChannelRange channels_of(uint32_t tensor) const;
  ChannelMatrix matrix_of(uint32_t tensor) const;
  bool is_table(uint32_t parameter) const;            // an embedding reads it
  uint64_t gradient_elements(uint32_t tensor) const;  // of a parameter: those of its trained channels
  BufferId new_narrow_gradient(uint32_t tensor);      // of those
  BufferId new_gradient(uint32_t tensor);
  BufferId new_channel_gradient(uint32_t tensor);
  void add_gradient(uint32_t tensor, BufferId gradient);
  void settle_gradients();

  Status check_differentiated() const;
  void find_needed_gradients();
  void find_settled();
  void add_stored_tensors(CompiledModel& compiled);
  Status add_rounded_tensors(CompiledModel& compiled);
  void emit_rounded_if_asked(uint32_t tensor, Phase phase);
  void emit_ranges();
  void keep_borders();
  void emit_forward();
  void emit_forward_of(uint32_t op);
  void emit_external(const ExternalPart& part);
  void emit_external_backward(const ExternalPart& part);
  Status emit_loss_behind(CompiledModel& compiled);
  Status emit_losses_of_heads(CompiledModel& compiled);
  BufferId new_target(const TensorType& type);
  void emit_backward();
  void emit_backward_of(uint32_t op);
  void end_backward_of(uint32_t op);
  void keep_differentiated(CompiledModel& compiled);
  Status emit_all(CompiledModel& compiled);
  std::vector<std::vector<uint32_t>> held_tensors() const;
  std::vector<BufferId> values_of(std::span<const uint32_t> tensors) const;
  Result<NarrowedSum> narrow_what_is_held();
  Status run_in_waves_if_it_fits(ArenaLayout& layout);
  void emit_update_if_last(uint32_t parameter);
  void emit_update_of(uint32_t parameter, Phase phase, BufferId gradient);
  void emit_update_with_factors(uint32_t parameter, Phase phase, const OptimizerSettings& optimizer,
                                float learning_rate_scale, UpdatedMatrix matrix, UpdateBuffers buffers);
  void emit_channel_update(uint32_t parameter, Phase phase, const OptimizerSettings& optimizer,
                           float learning_rate_scale, const UpdateBuffers& whole);
  // A tensor as who makes it and who updates it see it: before it was rounded, if it is.
  BufferId exact_value(uint32_t tensor) const;
  BufferId constant_of(uint32_t parameter, std::span<const float> all);  // its part of as many values as the model has
  BufferId start_of(uint32_t parameter) { return constant_of(parameter, model_.parameters()); }

  const Model& model_;
  const ModelGraph& graph_;
  const CompileSettings& settings_;
  GraphIndex index_;
  std::vector<OpFusion> fusions_;
  std::vector<TensorType> types_;  // per tensor, at this batch
  std::vector<double> op_flops_;   // per op, forward
  Program program_;
  std::vector<BufferId> values_;              // per tensor
  std::vector<BufferId> gradients_;           // per tensor; kNoBuffer until one arrives
  std::vector<bool> needs_gradient_;          // per tensor
  std::vector<bool> is_settled_;              // per tensor: this program never changes it (prepared.h)
  std::vector<size_t> readers_left_;          // per tensor: ops whose backward is still to come
  std::vector<std::vector<BufferId>> saved_;  // per op
  struct Rounding;
  std::shared_ptr<Rounding> rounding_;  // null: nothing is rounded

  struct Contribution {
    uint32_t tensor;
    BufferId gradient;
    bool is_narrow = false;  // of the trained channels alone
  };
  std::vector<Contribution> contributions_;  // of the op being emitted
  uint64_t factor_bytes_ = 0;                // of the updates so far
};

}  // namespace coterie
