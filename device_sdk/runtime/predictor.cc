#include "device_sdk/runtime/predictor.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"
#include "device_sdk/runtime/prepared.h"

namespace coterie {

struct Predictor::State {
  Model model;
  uint32_t batch_size;
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  CompiledModel compiled;
  Prepared prepared = {};
};

namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "prediction: " + what); }

Status check_size(const std::string& what, uint64_t seen, uint64_t count, uint64_t an_example) {
  if (seen / an_example == count && seen % an_example == 0) return {};
  return bad(what + " has " + std::to_string(seen) + " values, not " + std::to_string(count) + " examples of " +
             std::to_string(an_example));
}

}  // namespace

Result<Predictor> Predictor::create(const Model& model, uint32_t batch_size, uint64_t arena_bytes_max, uint32_t threads,
                                    const ExternalParts* external, Optimisation optimisation) {
  if (batch_size < 1) return bad("batch_size must be at least 1");
  if (model.type(model.graph().output) != DataType::float32) return bad("the model's output is not float32");
  COT_ASSIGN(CompiledModel compiled, compile(model, {.purpose = Purpose::predict,
                                                     .batch_size = batch_size,
                                                     .arena_bytes_max = arena_bytes_max,
                                                     .optimisation = optimisation,
                                                     .external = external,
                                                     .threads = threads}));
  COT_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, arena_bytes_max));
  compiled.program.bind(arena);
  const std::span<const float> parameters = model.parameters();
  std::memcpy(arena.region(Region::parameters).data(), parameters.data(), parameters.size_bytes());
  return Predictor(
      std::make_unique<State>(State{model, batch_size, std::move(pool), std::move(arena), std::move(compiled)}));
}

Predictor::Predictor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

uint32_t Predictor::batch_size() const { return state_->batch_size; }
uint64_t Predictor::arena_bytes() const { return state_->compiled.layout.bytes(); }

Status Predictor::run(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output) {
  State& s = *state_;
  const CompiledModel& code = s.compiled;
  if (inputs.size() != code.inputs.size()) {
    return bad(std::to_string(inputs.size()) + " inputs, the model has " + std::to_string(code.inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    COT_TRY(check_size("input " + std::to_string(i), inputs[i].size(), count, elements(s.model.input_shape(i))));
  }
  const uint64_t output_size = elements(s.model.output_shape());
  COT_TRY(check_size("the output", output.size(), count, output_size));
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
    std::memcpy(output.data() + from * output_size, code.program.pointer(code.output),
                batch * output_size * sizeof(float));
  }
  return {};
}

}  // namespace coterie
