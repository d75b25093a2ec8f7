#include "tools/explain/gradients.h"

#include <algorithm>
#include <cstring>

#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/prepared.h"

namespace coterie {

struct Gradients::State {
  struct Place {
    uint64_t elements = 0;  // of one example
    std::span<const float> value, gradient;
  };
  Model model;
  uint32_t batch_size;
  Arena arena;
  CompiledModel compiled;
  std::vector<Place> places;
  std::vector<float> zeros;  // what has no buffer
  uint64_t count = 0;        // of the last run
  Prepared prepared = {};
};

Result<Gradients> Gradients::create(const Model& model, std::vector<uint32_t> tensors, uint32_t batch_size) {
  // Before anything is asked of the tensors: it refuses what the model does not have.
  COT_ASSIGN(CompiledModel compiled, compile(model, {.purpose = Purpose::differentiate,
                                                     .batch_size = batch_size,
                                                     .differentiated = tensors,
                                                     .arena_bytes_max = limits::kArenaBytesMax,
                                                     .optimisation = Optimisation::none}));
  std::vector<uint64_t> sizes;
  for (const uint32_t tensor : tensors) {
    // An activation's dimension of -1 is the batch; an input's shape is of one example.
    const bool is_input = std::ranges::find(model.graph().inputs, tensor) != model.graph().inputs.end();
    const Shape& shape = is_input ? model.input_shape() : model.shape(tensor);
    sizes.push_back(elements(shape, is_input || shape.empty() ? 0 : 1, shape.size()));
  }
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, limits::kArenaBytesMax));
  compiled.program.bind(arena);
  const std::span<const float> parameters = model.parameters();
  std::memcpy(arena.region(Region::parameters).data(), parameters.data(), parameters.size_bytes());
  auto state = std::make_unique<State>(State{model, batch_size, std::move(arena), std::move(compiled), {}, {}});
  state->zeros.resize(batch_size * (sizes.empty() ? 0 : *std::ranges::max_element(sizes)));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto view = [&](BufferId buffer) -> std::span<const float> {
      if (buffer == kNoBuffer) return std::span(state->zeros).first(batch_size * sizes[i]);
      return {state->compiled.program.pointer(buffer), batch_size * sizes[i]};
    };
    const CompiledModel::Differentiated& found = state->compiled.differentiated[i];
    state->places.push_back({sizes[i], view(found.value), view(found.gradient)});
  }
  return Gradients(std::move(state));
}

Gradients::Gradients(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gradients::Gradients(Gradients&&) noexcept = default;
Gradients& Gradients::operator=(Gradients&&) noexcept = default;
Gradients::~Gradients() = default;

uint32_t Gradients::batch_size() const { return state_->batch_size; }

Status Gradients::run(std::span<const float> inputs, uint32_t picked) {
  const uint64_t count = inputs.size() / elements(state_->model.input_shape());
  const uint64_t width = elements(state_->model.output_shape());
  std::vector<float> ones(count * width);
  for (uint64_t i = 0; i < count; ++i) ones[i * width + picked] = 1;
  return run(inputs, ones);
}

Status Gradients::run(std::span<const float> inputs, std::span<const float> output_gradients) {
  State& s = *state_;
  const Program& program = s.compiled.program;
  const uint64_t input_size = elements(s.model.input_shape()), width = elements(s.model.output_shape());
  s.count = inputs.size() / input_size;
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &fault};
  const FlushDenormals flush;
  s.prepared.prepare(program, context);
  float* const slots = program.pointer(s.compiled.inputs[0]);
  std::memcpy(slots, inputs.data(), inputs.size_bytes());
  // Slots that no example fills are zeros, and nothing is asked about them.
  std::fill(slots + inputs.size(), slots + s.batch_size * input_size, 0.0f);
  float* const seed = program.pointer(s.compiled.output_gradient);
  std::ranges::copy(output_gradients, seed);
  std::fill(seed + output_gradients.size(), seed + s.batch_size * width, 0.0f);
  program.run(Phase::forward, context);
  program.run(Phase::backward, context);
  if (fault != nullptr) return Error(ErrorCode::invalid_argument, fault);
  return {};
}

std::span<const float> Gradients::value(size_t tensor) const {
  const State::Place& place = state_->places[tensor];
  return place.value.first(state_->count * place.elements);
}

std::span<const float> Gradients::gradient(size_t tensor) const {
  const State::Place& place = state_->places[tensor];
  return place.gradient.first(state_->count * place.elements);
}

}  // namespace coterie
