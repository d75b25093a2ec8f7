#include "device_sdk/runtime/graph_compiler.h"

#include <algorithm>

#include "base/text/name_pattern.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/loss_heads.h"
#include "device_sdk/runtime/loss_rule.h"
#include "device_sdk/runtime/needed_gradients.h"
#include "device_sdk/runtime/offset_step.h"
#include "device_sdk/runtime/proximal_step.h"
#include "device_sdk/runtime/shape_inference.h"

namespace coterie {
namespace {

void run_sum(const Step& step, const StepContext& context) {
  const auto [a, b, y] = step.slice<3>();
  context.kernels.add(step.part.size(), a, b, y);
}

constexpr StepKindOf<NoSettings> kSumStep{"gradient.sum", run_sum};

void run_accumulate(const Step& step, const StepContext& context) {
  const auto [gradient, sum] = step.slice<2>();
  context.kernels.accumulate(step.part.size(), gradient, sum);
}

constexpr StepKindOf<NoSettings> kAccumulateStep{"gradient.accumulate", run_accumulate};

// Beside the graph's own output. Heads that name none are found wrong where their losses are emitted.
std::vector<uint32_t> outputs_asked_for(const ModelGraph& graph, const CompileSettings& settings) {
  std::vector<uint32_t> outputs = settings.further_outputs;
  if (!kHasHeads || settings.loss.heads.empty()) return outputs;
  const Result<std::vector<uint32_t>> heads = head_tensors(graph, settings.loss);
  if (heads) outputs.insert(outputs.end(), heads->begin() + 1, heads->end());
  return outputs;
}

}  // namespace

Result<CompiledModel> compile(const Model& model, const CompileSettings& settings) {
  return GraphCompiler(model, settings).run();
}

GraphCompiler::GraphCompiler(const Model& model, const CompileSettings& settings)
    : model_(model),
      graph_(model.graph()),
      settings_(settings),
      index_(graph_, outputs_asked_for(graph_, settings)),
      values_(graph_.tensors.size(), kNoBuffer),
      gradients_(graph_.tensors.size(), kNoBuffer),
      needs_gradient_(graph_.tensors.size()),
      is_settled_(graph_.tensors.size()),
      readers_left_(graph_.tensors.size()),
      saved_(graph_.ops.size()) {}

Status GraphCompiler::emit_all(CompiledModel& compiled) {
  COT_ASSIGN(InferredTypes inferred, infer_types(graph_, settings_.batch_size));
  types_ = std::move(inferred.types);
  op_flops_ = std::move(inferred.op_flops);
  program_.set_threads(settings_.threads, settings_.part_nanoseconds_min);
  COT_TRY(check_differentiated());
  // Needed gradients and settled values first: which steps there are at all follows from both.
  find_needed_gradients();
  find_settled();
  keep_borders();
  if (settings_.optimisation > Optimisation::none && !settings_.qat)
    fusions_ = find_fusions(graph_, index_, is_settled_, settings_.optimisation);
  else fusions_.resize(graph_.ops.size());
  add_stored_tensors(compiled);
  COT_TRY(add_rounded_tensors(compiled));
  emit_forward();
  compiled.output = values_[graph_.output];
  for (const uint32_t tensor : settings_.further_outputs) {
    compiled.further_outputs.push_back(values_[tensor]);
    program_.read_after(values_[tensor]);
  }
  const bool trains = settings_.purpose == Purpose::train;
  const bool takes_gradient =
      settings_.purpose == Purpose::differentiate || (trains && settings_.takes_output_gradient);
  if (!trains || takes_gradient) program_.read_after(compiled.output);
  if (settings_.purpose == Purpose::evaluate || (trains && !takes_gradient)) {
    COT_TRY(emit_loss_behind(compiled));
  }
  if (takes_gradient) {
    compiled.output_gradient = gradients_[graph_.output] = new_whole_gradient(graph_.output);
    program_.fill_before(compiled.output_gradient);
  }
  if (trains || takes_gradient) emit_backward();
  keep_differentiated(compiled);
  // When all steps are known: what is prepared once, and read in a later phase, must not lie where a step writes.
  program_.keep_prepared();
  return {};
}

Result<CompiledModel> GraphCompiler::run() {
  CompiledModel compiled;
  COT_TRY(emit_all(compiled));
  if (settings_.storage == Storage::bfloat16) {
    COT_ASSIGN(compiled.narrowed, narrow_what_is_held());
  }
  COT_ASSIGN(compiled.recomputed,
             plan_within(program_, op_flops_, settings_.planned_bytes_max, settings_.arena_bytes_max,
                         settings_.joins_steps && settings_.optimisation > Optimisation::none));
  compiled.layout.of(Region::factors) = factor_bytes_;
  compiled.layout.of(Region::prepared) = program_.prepared_bytes();
  compiled.layout.planned_bytes = program_.planned_bytes();
  COT_TRY(run_in_waves_if_it_fits(compiled.layout));
  compiled.program = std::move(program_);
  return compiled;
}

Status GraphCompiler::check_differentiated() const {
  for (const uint32_t tensor : settings_.differentiated) {
    const bool is_computed = tensor < types_.size() && !has_payload(graph_.tensors[tensor].role) &&
                             graph_.tensors[tensor].role != TensorRole::constant;
    if (!is_computed || types_[tensor].type != DataType::float32) {
      return Error(ErrorCode::invalid_argument, "a gradient is of float32 inputs and of what ops write in float32");
    }
  }
  const bool takes_gradient = settings_.purpose == Purpose::differentiate || settings_.takes_output_gradient;
  if (takes_gradient && types_[graph_.output].type != DataType::float32) {
    return Error(ErrorCode::invalid_argument, "the model's output is not float32: it has no gradient");
  }
  return {};
}

Status GraphCompiler::emit_loss_behind(CompiledModel& compiled) {
  program_.set_origin(kLossOrigin);
  if (!settings_.loss.heads.empty()) return emit_losses_of_heads(compiled);
  COT_ASSIGN(const TensorType target, target_for_loss(settings_.loss, types_[graph_.output]));
  compiled.target_elements = elements(target.shape) / settings_.batch_size;
  compiled.target = new_target(target);
  const BufferId gradient = needs_gradient_[graph_.output] ? new_whole_gradient(graph_.output) : kNoBuffer;
  gradients_[graph_.output] = gradient;
  emit_loss(program_, settings_.loss, types_[graph_.output], compiled.output, compiled.target, gradient);
  return {};
}

void GraphCompiler::keep_differentiated(CompiledModel& compiled) {
  for (const uint32_t tensor : settings_.differentiated) {
    const CompiledModel::Differentiated kept{values_[tensor], gradients_[tensor]};
    for (const BufferId buffer : {kept.value, kept.gradient}) {
      if (buffer != kNoBuffer) program_.read_after(buffer);
    }
    compiled.differentiated.push_back(kept);
  }
}

bool GraphCompiler::is_trained(uint32_t tensor) const {
  if (settings_.purpose != Purpose::train) return false;
  if (graph_.tensors[tensor].role != TensorRole::parameter) return false;
  return settings_.is_trainable.empty() ? !graph_.tensors[tensor].is_frozen : settings_.is_trainable[tensor];
}

bool GraphCompiler::op_needs_gradient(size_t op_index) const {
  const OpInfo& op = graph_.ops[op_index];
  const auto needs = [&](uint32_t tensor) { return tensor != kNoTensor && needs_gradient_[tensor]; };
  return std::ranges::any_of(op.outputs, needs) && std::ranges::any_of(op.inputs, needs);
}

uint64_t GraphCompiler::bytes_of(uint32_t tensor) const { return elements(types_[tensor].shape) * kElementBytes; }

BufferContent GraphCompiler::content_of(uint32_t tensor, BufferRole role) const {
  return {element_type(types_[tensor].type), role, tensor, elements(types_[tensor].shape)};
}

BufferId GraphCompiler::new_value(uint32_t tensor) {
  const BufferId buffer = program_.add_planned(bytes_of(tensor));
  program_.holds(buffer, content_of(tensor, BufferRole::value));
  return buffer;
}

BufferId GraphCompiler::new_whole_gradient(uint32_t tensor) {
  const BufferId buffer = program_.add_planned(bytes_of(tensor));
  program_.holds(buffer, content_of(tensor, BufferRole::gradient));
  return buffer;
}

// A tensor needs a gradient if it is a trained parameter, or one that is asked for, or computed from such a one, in
// floating point. Nobody asks when a model predicts or is evaluated.
void GraphCompiler::find_needed_gradients() {
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) needs_gradient_[i] = is_trained(i);
  for (const uint32_t tensor : settings_.differentiated) needs_gradient_[tensor] = true;
  spread_needed_gradients(graph_, index_, types_, needs_gradient_);
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    if (!index_.is_needed[i]) continue;
    for (const uint32_t tensor : graph_.ops[i].inputs) {
      if (tensor != kNoTensor) ++readers_left_[tensor];
    }
  }
}

// In training a batch norm's statistics follow the batches.
void GraphCompiler::find_settled() {
  const bool trains = settings_.purpose == Purpose::train;
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
    const TensorRole role = graph_.tensors[i].role;
    is_settled_[i] = role == TensorRole::constant || (has_payload(role) && !(trains && is_trained(i)));
  }
  for (const OpInfo& op : graph_.ops) {
    if (op.kind != OpKind::batch_norm || !trains || settings_.freeze_statistics) continue;
    if (std::get<NormAttributes>(op.attributes).is_frozen) continue;
    is_settled_[op.inputs[3]] = is_settled_[op.inputs[4]] = false;
  }
  for (const OpInfo& op : graph_.ops) {
    if (!is_settled_op(op)) continue;
    for (const uint32_t tensor : op.outputs) {
      if (tensor != kNoTensor) is_settled_[tensor] = true;
    }
  }
}

bool GraphCompiler::is_settled_op(const OpInfo& op) const {
  if (op.kind == OpKind::dropout && settings_.purpose == Purpose::train) return false;
  return std::all_of(op.inputs.begin(), op.inputs.end(),
                     [&](uint32_t tensor) { return tensor == kNoTensor || is_settled_[tensor]; });
}

// Inputs, parameters, state and constants.
void GraphCompiler::add_stored_tensors(CompiledModel& compiled) {
  const uint64_t bytes = model_.value_count() * sizeof(float);
  compiled.layout.of(Region::parameters) = bytes;
  if (settings_.purpose == Purpose::train) {
    const uint32_t slots = optimizer_slots(settings_.optimizer);
    if (slots > 0) compiled.layout.of(Region::slot0) = bytes;
    if (slots > 1) compiled.layout.of(Region::slot1) = bytes;
    if (settings_.keeps_gradients) compiled.layout.of(Region::gradients) = bytes;
  }
  for (uint32_t i = 0; i < graph_.tensors.size(); ++i) {
    const TensorInfo& tensor = graph_.tensors[i];
    if (has_payload(tensor.role)) values_[i] = program_.add_fixed(Region::parameters, tensor.payload_offset);
    if (tensor.role == TensorRole::constant) values_[i] = program_.add_constant(tensor.data);
    if (values_[i] != kNoBuffer) program_.holds(values_[i], content_of(i, BufferRole::value));
  }
  for (const uint32_t input : graph_.inputs) {
    values_[input] = new_value(input);
    program_.fill_before(values_[input]);
    compiled.inputs.push_back(values_[input]);
  }
}

void GraphCompiler::emit_forward() {
  if (!kHasDelegates || settings_.external == nullptr) {
    for (uint32_t i = 0; i < graph_.ops.size(); ++i) {
      if (index_.is_needed[i]) emit_forward_of(i);
    }
    return;
  }
  for (const uint32_t unit : settings_.external->order) {
    if (unit < graph_.ops.size()) emit_forward_of(unit);
    else emit_external(settings_.external->parts[unit - graph_.ops.size()]);
  }
}

void GraphCompiler::emit_forward_of(uint32_t op) {
  program_.set_origin(op);
  const Phase phase = is_settled_op(graph_.ops[op]) ? Phase::prepare : Phase::forward;
  OpBuild build(*this, op, phase);
  rule_of(graph_.ops[op].kind)->forward(build);
  for (const uint32_t tensor : graph_.ops[op].outputs) emit_rounded_if_asked(tensor, phase);
}

void GraphCompiler::emit_backward() {
  const auto ops = static_cast<uint32_t>(graph_.ops.size());
  if (!kHasDelegates || settings_.external == nullptr) {
    for (uint32_t i = ops; i-- > 0;) {
      if (index_.is_needed[i]) emit_backward_of(i);
    }
    return emit_ranges();
  }
  const ExternalParts& external = *settings_.external;
  for (size_t i = external.order.size(); i-- > 0;) {
    const uint32_t unit = external.order[i];
    if (unit < ops) {
      emit_backward_of(unit);
      continue;
    }
    const ExternalPart& part = external.parts[unit - ops];
    emit_external_backward(part);
    for (const uint32_t op : part.ops) end_backward_of(op);
  }
  emit_ranges();
}

void GraphCompiler::emit_backward_of(uint32_t op_index) {
  const OpInfo& op = graph_.ops[op_index];
  const bool has_gradient = std::any_of(op.outputs.begin(), op.outputs.end(), [&](uint32_t tensor) {
    return tensor != kNoTensor && gradients_[tensor] != kNoBuffer;
  });
  if (has_gradient && op_needs_gradient(op_index)) {
    program_.set_origin(op_index);
    OpBuild build(*this, op_index, Phase::backward);
    rule_of(op.kind)->backward(build);
    settle_gradients();
  }
  end_backward_of(op_index);
}

void GraphCompiler::end_backward_of(uint32_t op_index) {
  for (const uint32_t tensor : graph_.ops[op_index].inputs) {
    if (tensor == kNoTensor) continue;
    --readers_left_[tensor];
    if (is_trained(tensor)) emit_update_if_last(tensor);
  }
}

ChannelRange GraphCompiler::channels_of(uint32_t tensor) const {
  return !kHasChannels || settings_.channels.empty() ? ChannelRange{} : settings_.channels[tensor];
}

bool GraphCompiler::is_table(uint32_t parameter) const {
  return std::ranges::any_of(index_.consumers[parameter],
                             [&](uint32_t op) { return op != kNoOp && graph_.ops[op].kind == OpKind::embedding; });
}

ChannelMatrix GraphCompiler::matrix_of(uint32_t tensor) const {
  return channel_matrix(types_[tensor].shape, channels_of(tensor));
}

uint64_t GraphCompiler::gradient_elements(uint32_t tensor) const {
  return channels_of(tensor).is_all() ? elements(types_[tensor].shape) : matrix_of(tensor).narrow_elements();
}

BufferId GraphCompiler::new_narrow_gradient(uint32_t tensor) {
  const uint64_t count = gradient_elements(tensor);
  const BufferId buffer = program_.add_planned(count * kElementBytes);
  program_.holds(buffer, {.role = BufferRole::gradient, .tensor = tensor, .elements = count});
  return buffer;
}

BufferId GraphCompiler::new_channel_gradient(uint32_t tensor) {
  const BufferId buffer = new_narrow_gradient(tensor);
  contributions_.push_back({tensor, buffer, true});
  return buffer;
}

BufferId GraphCompiler::new_gradient(uint32_t tensor) {
  const BufferId buffer = new_whole_gradient(tensor);
  contributions_.push_back({tensor, buffer});
  return buffer;
}

void GraphCompiler::add_gradient(uint32_t tensor, BufferId gradient) { contributions_.push_back({tensor, gradient}); }

// The first gradient of a tensor is taken as it is; with each further one a new sum is made, over one of the two where
// the planner finds that nobody else reads it.
void GraphCompiler::settle_gradients() {
  for (auto [tensor, gradient, is_narrow] : contributions_) {
    const uint64_t count = gradient_elements(tensor);
    if (kHasChannels && !is_narrow && !channels_of(tensor).is_all()) {
      const BufferId whole = gradient;
      gradient = new_narrow_gradient(tensor);
      emit_take_channels(program_, Phase::backward, matrix_of(tensor), whole, gradient);
    }
    BufferId& sum = gradients_[tensor];
    if (sum == kNoBuffer) {
      sum = gradient;
      continue;
    }
    const BufferId total = new_narrow_gradient(tensor);
    program_.emit(Phase::backward, kSumStep, NoSettings{}, {sum, gradient, total}, by_elements(count));
    program_.may_share(total, sum);
    program_.may_share(total, gradient);
    sum = total;
  }
  contributions_.clear();
}

void GraphCompiler::emit_update_if_last(uint32_t parameter) {
  const BufferId gradient = gradients_[parameter];
  // Only after the backward of its last reader, which needs the parameter as it was. And no later, so that the memory
  // of its gradient is free for the next layer's.
  if (readers_left_[parameter] != 0 || gradient == kNoBuffer) return;
  // Clipping and sums over micro-batches need all gradients at once; without them each is used and forgotten.
  if (!settings_.keeps_gradients) return emit_update_of(parameter, Phase::backward, gradient);
  program_.set_origin(kUpdateOrigin);
  const BufferId sum = program_.add_fixed(Region::gradients, graph_.tensors[parameter].payload_offset);
  program_.holds(sum, content_of(parameter, BufferRole::gradient));
  program_.emit(Phase::backward, kAccumulateStep, NoSettings{}, {gradient, sum},
                by_elements(gradient_elements(parameter)));
  emit_update_of(parameter, Phase::update, sum);
}

void GraphCompiler::emit_update_of(uint32_t parameter, Phase phase, BufferId gradient) {
  program_.set_origin(kUpdateOrigin);
  const TensorInfo& tensor = graph_.tensors[parameter];
  OptimizerSettings optimizer = settings_.optimizer;
  float learning_rate_scale = 1;
  for (const ParameterGroup& group : settings_.groups) {
    if (!name_matches(group.pattern, tensor.name)) continue;
    optimizer.weight_decay = group.weight_decay;
    learning_rate_scale = group.learning_rate_scale;
    break;
  }
  const uint32_t slots = optimizer_slots(optimizer);
  const auto slot = [&](uint32_t i, Region region) {
    if (slots <= i) return kNoBuffer;
    const BufferId moment = program_.add_fixed(region, tensor.payload_offset);
    program_.holds(moment, content_of(parameter, BufferRole::moment));
    return moment;
  };
  UpdateBuffers buffers{gradient, exact_value(parameter), slot(0, Region::slot0), slot(1, Region::slot1)};
  if (kHasChannels && !channels_of(parameter).is_all()) {
    return emit_channel_update(parameter, phase, optimizer, learning_rate_scale, buffers);
  }
  const uint64_t count = elements(types_[parameter].shape);
  if (settings_.proximal_mu > 0) {
    buffers.gradient = emit_proximal(program_, phase, settings_.proximal_mu, count,
                                     {buffers.gradient, buffers.values, start_of(parameter)});
  }
  if (!settings_.gradient_offset.empty()) {
    buffers.gradient =
        emit_offset(program_, phase, count, buffers.gradient, constant_of(parameter, settings_.gradient_offset));
  }
  const ChannelMatrix matrix = matrix_of(parameter);
  emit_update_with_factors(parameter, phase, optimizer, learning_rate_scale, {matrix.rows, matrix.width}, buffers);
}

// Programs of one model emit their updates in one order, so that they find the factors in the same places.
void GraphCompiler::emit_update_with_factors(uint32_t parameter, Phase phase, const OptimizerSettings& optimizer,
                                             float learning_rate_scale, UpdatedMatrix matrix, UpdateBuffers buffers) {
  matrix.is_table = is_table(parameter);
  if (const uint64_t values = factor_values(optimizer, matrix); values > 0) {
    buffers.factors = program_.add_fixed(Region::factors, factor_bytes_);
    program_.holds(buffers.factors, {.role = BufferRole::moment, .tensor = parameter, .elements = values});
    factor_bytes_ += values * sizeof(float);
  }
  emit_update(program_, phase, optimizer, learning_rate_scale, matrix, buffers);
}

BufferId GraphCompiler::constant_of(uint32_t parameter, std::span<const float> all) {
  const uint64_t first = graph_.tensors[parameter].payload_offset / sizeof(float);
  const std::span<const float> own = all.subspan(first, elements(types_[parameter].shape));
  const BufferId buffer = program_.add_constant({reinterpret_cast<const uint8_t*>(own.data()), own.size_bytes()});
  program_.holds(buffer, content_of(parameter, BufferRole::value));
  return buffer;
}

// Values and optimizer state of the trained channels are taken out, updated and put back.
void GraphCompiler::emit_channel_update(uint32_t parameter, Phase phase, const OptimizerSettings& optimizer,
                                        float learning_rate_scale, const UpdateBuffers& whole) {
  const ChannelMatrix matrix = matrix_of(parameter);
  UpdateBuffers narrow = whole;
  for (BufferId UpdateBuffers::*part : {&UpdateBuffers::values, &UpdateBuffers::slot0, &UpdateBuffers::slot1}) {
    if (whole.*part == kNoBuffer) continue;
    narrow.*part = program_.add_planned(matrix.narrow_elements() * kElementBytes);
    emit_take_channels(program_, phase, matrix, whole.*part, narrow.*part);
  }
  if (settings_.proximal_mu > 0) {
    const BufferId start = program_.add_planned(matrix.narrow_elements() * kElementBytes);
    emit_take_channels(program_, phase, matrix, start_of(parameter), start);
    narrow.gradient = emit_proximal(program_, phase, settings_.proximal_mu, matrix.narrow_elements(),
                                    {narrow.gradient, narrow.values, start});
  }
  if (!settings_.gradient_offset.empty()) {
    const BufferId offset = program_.add_planned(matrix.narrow_elements() * kElementBytes);
    emit_take_channels(program_, phase, matrix, constant_of(parameter, settings_.gradient_offset), offset);
    narrow.gradient = emit_offset(program_, phase, matrix.narrow_elements(), narrow.gradient, offset);
  }
  emit_update_with_factors(parameter, phase, optimizer, learning_rate_scale, {matrix.rows, matrix.range.count}, narrow);
  for (BufferId UpdateBuffers::*part : {&UpdateBuffers::values, &UpdateBuffers::slot0, &UpdateBuffers::slot1}) {
    if (whole.*part != kNoBuffer) emit_put_channels(program_, phase, matrix, narrow.*part, whole.*part);
  }
}

}  // namespace coterie
