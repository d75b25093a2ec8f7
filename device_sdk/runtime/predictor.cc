#include "device_sdk/runtime/predictor.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/text/concat.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/prepared.h"
#include "proto/messages/model_outputs.h"

namespace coterie {

struct Predictor::State {
  Model model;
  uint32_t batch_size;
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  CompiledModel compiled;
  Prepared prepared = {};

  struct Output {
    std::string name;
    BufferId buffer;
    uint64_t elements;  // of one example
  };
  std::vector<Output> outputs = {};  // those that are answered
};

struct Predictor::Settings {
  std::vector<uint32_t> outputs;
  uint64_t arena_bytes_max = limits::kArenaBytesMax;
  uint32_t threads = 1;
  const ExternalParts* external = nullptr;
  Optimisation optimisation = Optimisation::rounding;
};

namespace {

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"prediction: ", what})); }

bool has_size(uint64_t seen, uint64_t count, uint64_t an_example) {
  return seen / an_example == count && seen % an_example == 0;
}

Error wrong_size(const std::string& what, uint64_t seen, uint64_t count, uint64_t an_example) {
  return bad(concat({what, " has ", seen, " values, not ", count, " examples of ", an_example}));
}

Status check_are_floats(const Model& model, std::span<const uint32_t> outputs) {
  for (const uint32_t tensor : outputs) {
    if (model.type(tensor) == DataType::float32) continue;
    return bad(concat({"the model's output ", model.graph().tensors[tensor].name, " is not float32"}));
  }
  return {};
}

Status check_are_outputs(const Model& model, std::span<const uint32_t> outputs) {
  COT_ASSIGN(const std::vector<uint32_t> known, graph_outputs(model.graph()));
  if (outputs.empty()) return bad("no output is asked for");
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t tensor = outputs[i];
    if (std::ranges::find(known, tensor) == known.end()) {
      return bad(concat({"tensor ", tensor, " is no output of the model"}));
    }
    if (std::ranges::find(outputs.first(i), tensor) != outputs.begin() + static_cast<ptrdiff_t>(i)) {
      return bad(concat({"the output ", model.graph().tensors[tensor].name, " is asked for twice"}));
    }
  }
  return {};
}

}  // namespace

Result<Predictor> Predictor::create(const Model& model, uint32_t batch_size, uint64_t arena_bytes_max, uint32_t threads,
                                    const ExternalParts* external, Optimisation optimisation) {
  if (external != nullptr) COT_TRY(check_has_delegates());
  std::vector<uint32_t> own = {model.graph().output};
  COT_TRY(check_are_floats(model, own));
  return make(model, batch_size, {std::move(own), arena_bytes_max, threads, external, optimisation});
}

Result<Predictor> Predictor::create_of_all(const Model& model, uint32_t batch_size, uint64_t arena_bytes_max,
                                           uint32_t threads) {
  COT_ASSIGN(std::vector<uint32_t> all, graph_outputs(model.graph()));
  COT_TRY(check_are_floats(model, all));
  return make(model, batch_size, {.outputs = std::move(all), .arena_bytes_max = arena_bytes_max, .threads = threads});
}

Result<Predictor> Predictor::create_of(const Model& model, std::span<const uint32_t> outputs, uint32_t batch_size,
                                       uint64_t arena_bytes_max, uint32_t threads, Optimisation optimisation) {
  COT_TRY(check_are_outputs(model, outputs));
  return make(model, batch_size, {{outputs.begin(), outputs.end()}, arena_bytes_max, threads, nullptr, optimisation});
}

Result<Predictor> Predictor::make(const Model& model, uint32_t batch_size, Settings settings) {
  if (batch_size < 1) return bad("batch_size must be at least 1");
  std::vector<uint32_t> further = settings.outputs;
  std::erase(further, model.graph().output);
  COT_ASSIGN(CompiledModel compiled, compile(model, {.purpose = Purpose::predict,
                                                     .further_outputs = further,
                                                     .batch_size = batch_size,
                                                     .arena_bytes_max = settings.arena_bytes_max,
                                                     .optimisation = settings.optimisation,
                                                     .external = settings.external,
                                                     .threads = settings.threads}));
  std::vector<State::Output> outputs;
  for (const uint32_t tensor : settings.outputs) {
    const auto place = static_cast<size_t>(std::ranges::find(further, tensor) - further.begin());
    outputs.push_back({model.graph().tensors[tensor].name,
                       place == further.size() ? compiled.output : compiled.further_outputs[place],
                       elements(at_batch(model.shape(tensor), 1))});
  }
  COT_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(settings.threads));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, settings.arena_bytes_max));
  compiled.program.bind(arena);
  const std::span<const float> parameters = model.parameters();
  std::memcpy(arena.region(Region::parameters).data(), parameters.data(), parameters.size_bytes());
  return Predictor(std::make_unique<State>(State{.model = model,
                                                 .batch_size = batch_size,
                                                 .pool = std::move(pool),
                                                 .arena = std::move(arena),
                                                 .compiled = std::move(compiled),
                                                 .outputs = std::move(outputs)}));
}

Predictor::Predictor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

uint32_t Predictor::batch_size() const { return state_->batch_size; }
uint64_t Predictor::arena_bytes() const { return state_->compiled.layout.bytes(); }

Status Predictor::run(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output) {
  return run(inputs, count, std::span<const std::span<float>>(&output, 1));
}

Status Predictor::run(std::span<const std::span<const float>> inputs, uint64_t count,
                      std::span<const std::span<float>> outputs) {
  State& s = *state_;
  const CompiledModel& code = s.compiled;
  if (inputs.size() != code.inputs.size()) {
    return bad(concat({inputs.size(), " inputs, the model has ", code.inputs.size()}));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint64_t size = elements(s.model.input_shape(i));
    if (has_size(inputs[i].size(), count, size)) continue;
    return wrong_size("input " + std::to_string(i), inputs[i].size(), count, size);
  }
  if (outputs.size() != s.outputs.size()) {
    return bad(concat({outputs.size(), " outputs, computed are ", s.outputs.size()}));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (has_size(outputs[i].size(), count, s.outputs[i].elements)) continue;
    return wrong_size(outputs.size() == 1 ? "the output" : "output " + s.outputs[i].name, outputs[i].size(), count,
                      s.outputs[i].elements);
  }
  const char* fault = nullptr;
  const StepContext context{.kernels = kernels::kernels(), .fault = &fault, .pool = s.pool.get()};
  const FlushDenormals flush;
  s.prepared.prepare(code.program, context);
  for (uint64_t from = 0; from < count; from += s.batch_size) {
    const uint64_t batch = std::min<uint64_t>(s.batch_size, count - from);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint64_t size = elements(s.model.input_shape(i));
      float* slots = code.program.pointer(code.inputs[i]);
      std::memcpy(slots, inputs[i].data() + from * size, batch * size * sizeof(float));
      // A last, smaller batch is filled up with zeros, which are an index into every table.
      std::memset(slots + batch * size, 0, (s.batch_size - batch) * size * sizeof(float));
    }
    code.program.run(Phase::forward, context);
    if (fault != nullptr) return bad(fault);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& [name, buffer, size] = s.outputs[i];
      std::memcpy(outputs[i].data() + from * size, code.program.pointer(buffer), batch * size * sizeof(float));
    }
  }
  return {};
}

}  // namespace coterie
