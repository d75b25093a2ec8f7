#include "device_sdk/runtime/part_trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/text/concat.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/prepared.h"

namespace coterie {

struct PartTrainer::State {
  Model model;
  PartOptions options;
  Arena arena;
  CompiledModel compiled;
  Prepared prepared = {};
  uint64_t steps = 0;
  uint64_t rows = 0;  // of the forward() whose backward() has not been; 0: none
};

namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"part of a network: ", what})); }

Status check_size(const std::string& what, uint64_t seen, uint64_t expected) {
  if (seen == expected) return {};
  return bad(concat({what, " has ", seen, " values, expected ", expected}));
}

constexpr Region kStateRegions[] = {Region::parameters, Region::slot0, Region::slot1, Region::factors};

}  // namespace

Result<PartTrainer> PartTrainer::create(const Model& model, const PartOptions& options) {
  if (options.batch_size < 1) return bad("batch_size must be at least 1");
  COT_TRY(check_optimizer(options.optimizer));
  CompileSettings settings{.purpose = Purpose::train,
                           .batch_size = options.batch_size,
                           .optimizer = options.optimizer,
                           .takes_output_gradient = true,
                           .arena_bytes_max = options.arena_bytes_max};
  const std::vector<uint32_t>& inputs = model.graph().inputs;
  for (const uint32_t input : options.inputs_with_gradient) {
    if (input >= inputs.size()) return bad(concat({"there is no input ", input}));
    settings.differentiated.push_back(inputs[input]);
  }
  COT_ASSIGN(CompiledModel compiled, compile(model, settings));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, options.arena_bytes_max));
  compiled.program.bind(arena);
  const std::span<const float> start = model.parameters();
  std::memcpy(arena.region(Region::parameters).data(), start.data(), start.size_bytes());
  return PartTrainer(std::make_unique<State>(State{model, options, std::move(arena), std::move(compiled)}));
}

PartTrainer::PartTrainer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PartTrainer::PartTrainer(PartTrainer&&) noexcept = default;
PartTrainer& PartTrainer::operator=(PartTrainer&&) noexcept = default;
PartTrainer::~PartTrainer() = default;

Status PartTrainer::forward(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output) {
  State& s = *state_;
  s.rows = 0;
  if (count < 1 || count > s.options.batch_size) {
    return bad(concat({count, " rows, expected 1 to ", s.options.batch_size}));
  }
  COT_TRY(check_size("the list of inputs", inputs.size(), s.compiled.inputs.size()));
  const uint64_t width = elements(s.model.output_shape());
  COT_TRY(check_size("the output", output.size(), count * width));
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &fault};
  const FlushDenormals flush;
  s.prepared.prepare(s.compiled.program, context);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint64_t size = elements(s.model.input_shape(i));
    COT_TRY(check_size("input " + std::to_string(i), inputs[i].size(), count * size));
    float* const slots = s.compiled.program.pointer(s.compiled.inputs[i]);
    std::memcpy(slots, inputs[i].data(), inputs[i].size_bytes());
    // Rows that are not there are zeros, which are an index into every table; their gradients are zeros below.
    std::memset(slots + count * size, 0, (s.options.batch_size - count) * size * sizeof(float));
  }
  s.compiled.program.run(Phase::forward, context);
  if (fault != nullptr) return bad(fault);
  std::memcpy(output.data(), s.compiled.program.pointer(s.compiled.output), output.size_bytes());
  s.rows = count;
  return {};
}

Status PartTrainer::backward(std::span<const float> output_gradient, std::span<const std::span<float>> gradients) {
  State& s = *state_;
  const uint64_t rows = std::exchange(s.rows, 0);
  if (rows == 0) return bad("backward() without its forward()");
  const uint64_t width = elements(s.model.output_shape());
  COT_TRY(check_size("the output's gradient", output_gradient.size(), rows * width));
  COT_TRY(check_size("the list of gradients", gradients.size(), s.compiled.differentiated.size()));
  const auto values_of = [&](size_t k) { return elements(s.model.input_shape(s.options.inputs_with_gradient[k])); };
  // All sizes before the parameters move: a call that is refused has changed nothing.
  for (size_t k = 0; k < gradients.size(); ++k) {
    COT_TRY(check_size("gradient " + std::to_string(k), gradients[k].size(), rows * values_of(k)));
  }
  float* const slots = s.compiled.program.pointer(s.compiled.output_gradient);
  std::memcpy(slots, output_gradient.data(), output_gradient.size_bytes());
  std::memset(slots + rows * width, 0, (s.options.batch_size - rows) * width * sizeof(float));
  StepContext context{.kernels = kernels::kernels()};
  context.optimizer = optimizer_moment(s.options.optimizer, s.steps + 1, 1);
  const FlushDenormals flush;
  s.compiled.program.run(Phase::backward, context);
  s.steps += 1;
  for (size_t k = 0; k < gradients.size(); ++k) {
    const BufferId from = s.compiled.differentiated[k].gradient;
    if (from == kNoBuffer) std::ranges::fill(gradients[k], 0.0f);
    else std::memcpy(gradients[k].data(), s.compiled.program.pointer(from), gradients[k].size_bytes());
  }
  return {};
}

uint64_t PartTrainer::steps() const { return state_->steps; }

std::span<const float> PartTrainer::parameters() const { return state_->arena.region(Region::parameters); }

std::vector<float> PartTrainer::state() const {
  std::vector<float> all;
  for (const Region region : kStateRegions) {
    const std::span<const float> values = state_->arena.region(region);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Status PartTrainer::restore(uint64_t steps, std::span<const float> state) {
  State& s = *state_;
  size_t expected = 0;
  for (const Region region : kStateRegions) expected += s.arena.region(region).size();
  COT_TRY(check_size("its state", state.size(), expected));
  if (!std::ranges::all_of(state, [](float value) { return std::isfinite(value); })) {
    return bad("its state has a value that is not finite");
  }
  for (const Region region : kStateRegions) {
    const std::span<float> values = s.arena.region(region);
    std::ranges::copy(state.first(values.size()), values.begin());
    state = state.subspan(values.size());
  }
  s.prepared.forget();
  s.steps = steps;
  s.rows = 0;
  return {};
}

}  // namespace coterie
