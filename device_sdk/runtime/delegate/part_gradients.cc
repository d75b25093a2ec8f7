#include "device_sdk/runtime/delegate/part_gradients.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device_sdk/runtime/delegate/verification.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/prepared.h"

namespace coterie {
namespace part_gradients {  // what State has may be of no unnamed namespace

// A tensor's place in the whole model's payload, and in the part's.
struct Moved {
  uint64_t from = 0, to = 0, count = 0;  // floats
};

// Where one of the wanted gradients lies when backward has run.
struct Wanted {
  bool is_parameter = false;
  uint64_t offset = 0;          // of a parameter, in Region::gradients, in floats
  BufferId buffer = kNoBuffer;  // of an input; kNoBuffer: this output does not depend on it
};

// The part as it leads to one output.
struct OutputProgram {
  Model model;
  CompiledModel compiled;
  Arena arena;
  std::vector<Moved> payload;
  std::vector<Wanted> wanted;  // in the order of the part's gradients
  Prepared prepared = {};
};

}  // namespace part_gradients

namespace {

using part_gradients::Moved;
using part_gradients::OutputProgram;
using part_gradients::Wanted;

bool has(const std::vector<uint32_t>& sorted, uint32_t value) { return std::ranges::binary_search(sorted, value); }

Result<OutputProgram> program_for(const Model& whole, const PlannedPart& part, uint32_t output, uint32_t batch_size) {
  std::vector<uint32_t> moved_to;
  COT_ASSIGN(Model model, model_of_part(whole, part, output, &moved_to));
  const ModelGraph& graph = model.graph();
  CompileSettings settings{.purpose = Purpose::train,
                           .batch_size = batch_size,
                           .keeps_gradients = true,
                           .freeze_statistics = true,
                           .is_trainable = std::vector<bool>(graph.tensors.size()),
                           .takes_output_gradient = true,
                           .arena_bytes_max = limits::kArenaBytesMax};
  std::vector<Moved> payload;
  const std::vector<TensorInfo>& tensors = whole.graph().tensors;
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (moved_to[i] == kNoTensor || !has_payload(graph.tensors[moved_to[i]].role)) continue;
    settings.is_trainable[moved_to[i]] = has(part.parameters, i) && has(part.gradients, i);
    payload.push_back({tensors[i].payload_offset / sizeof(float),
                       graph.tensors[moved_to[i]].payload_offset / sizeof(float), elements(tensors[i].shape)});
  }
  for (const uint32_t input : part.inputs) {
    if (has(part.gradients, input)) settings.differentiated.push_back(moved_to[input]);
  }
  COT_ASSIGN(CompiledModel compiled, compile(model, settings));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, settings.arena_bytes_max));
  compiled.program.bind(arena);
  std::vector<Wanted> wanted;
  for (const uint32_t tensor : part.gradients) {
    if (has(part.parameters, tensor)) {
      wanted.push_back(
          {.is_parameter = true, .offset = graph.tensors[moved_to[tensor]].payload_offset / sizeof(float)});
      continue;
    }
    const auto place = std::ranges::find(settings.differentiated, moved_to[tensor]) - settings.differentiated.begin();
    wanted.push_back({.buffer = compiled.differentiated[static_cast<size_t>(place)].gradient});
  }
  return OutputProgram{std::move(model), std::move(compiled), std::move(arena), std::move(payload), std::move(wanted)};
}

Status run_program(OutputProgram& p, std::span<const float> values, std::span<const std::span<const float>> inputs,
                   std::span<const float> output_gradient) {
  const std::span<float> own = p.arena.region(Region::parameters), sums = p.arena.region(Region::gradients);
  for (const auto& [from, to, count] : p.payload) std::ranges::copy(values.subspan(from, count), own.begin() + to);
  std::ranges::fill(sums, 0.0f);
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &fault};
  const FlushDenormals flush;
  const Program& program = p.compiled.program;
  p.prepared.forget();  // what is settled may have changed, too
  p.prepared.prepare(program, context);
  const auto fill = [&](BufferId buffer, std::span<const float> from) {
    std::memcpy(program.pointer(buffer), from.data(), from.size_bytes());
  };
  for (size_t i = 0; i < inputs.size(); ++i) fill(p.compiled.inputs[i], inputs[i]);
  fill(p.compiled.output_gradient, output_gradient);
  program.run(Phase::forward, context);
  if (fault != nullptr) return Error(ErrorCode::malformed, fault);
  program.run(Phase::backward, context);
  return {};
}

}  // namespace

struct PartGradients::State {
  std::vector<part_gradients::OutputProgram> programs;  // one an output gradient
};

Result<PartGradients> PartGradients::create(const Model& model, const PlannedPart& part, uint32_t batch_size) {
  auto state = std::make_unique<State>();
  for (const uint32_t output : part.output_gradients) {
    COT_ASSIGN(OutputProgram made, program_for(model, part, output, batch_size));
    state->programs.push_back(std::move(made));
  }
  return PartGradients(std::move(state));
}

PartGradients::PartGradients(std::unique_ptr<State> state) : state_(std::move(state)) {}
PartGradients::PartGradients(PartGradients&&) noexcept = default;
PartGradients& PartGradients::operator=(PartGradients&&) noexcept = default;
PartGradients::~PartGradients() = default;

Status PartGradients::run(std::span<const float> values, std::span<const std::span<const float>> inputs,
                          std::span<const std::span<const float>> output_gradients,
                          std::span<const std::span<float>> gradients) {
  for (size_t k = 0; k < state_->programs.size(); ++k) {
    OutputProgram& p = state_->programs[k];
    COT_TRY(run_program(p, values, inputs, output_gradients[k]));
    for (size_t i = 0; i < gradients.size(); ++i) {
      const std::span<float> into = gradients[i];
      const Wanted& wanted = p.wanted[i];
      if (k == 0) std::ranges::fill(into, 0.0f);
      if (!wanted.is_parameter && wanted.buffer == kNoBuffer) continue;
      const float* const from = wanted.is_parameter ? p.arena.region(Region::gradients).data() + wanted.offset
                                                    : p.compiled.program.pointer(wanted.buffer);
      for (size_t j = 0; j < into.size(); ++j) into[j] = k == 0 ? from[j] : into[j] + from[j];
    }
  }
  return {};
}

}  // namespace coterie
