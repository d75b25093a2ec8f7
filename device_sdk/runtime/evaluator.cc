#include "device_sdk/runtime/evaluator.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "device_sdk/runtime/batch_reader.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/graph_compiler.h"

namespace coterie {

struct Evaluator::State {
  uint32_t batch_size;
  uint64_t value_count;
  Program program;
  BatchReader reader;
};

Result<Evaluator> Evaluator::create(const Model& model, Loss loss, uint32_t batch_size, uint64_t arena_bytes_max) {
  if (batch_size < 1) return Error(ErrorCode::invalid_argument, "evaluation: batch_size must be at least 1");
  COT_ASSIGN(Program program, compile(model, {.loss = loss,
                                              .batch_size = batch_size,
                                              .optimizer = std::nullopt,
                                              .arena_bytes_max = arena_bytes_max}));
  return Evaluator(std::make_unique<State>(
      State{batch_size, model.value_count(), std::move(program), BatchReader(model, loss, batch_size)}));
}

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<Evaluation> Evaluator::run(std::span<const float> parameters, ExampleSource& examples) {
  State& s = *state_;
  if (parameters.size() != s.value_count) {
    return Error(ErrorCode::invalid_argument, "evaluation: " + std::to_string(parameters.size()) +
                                                  " parameters, the model has " + std::to_string(s.value_count));
  }
  const uint64_t count = examples.size();
  if (count < 1) return Error(ErrorCode::invalid_argument, "evaluation: there are no examples");
  std::memcpy(s.program.region(Region::parameters), parameters.data(), parameters.size_bytes());
  kernels::LossSums sums;
  StepContext context{.kernels = kernels::kernels(), .batch = 0, .labels = s.reader.labels(), .sums = &sums};
  for (uint64_t from = 0; from < count; from += s.batch_size) {
    context.batch = std::min<uint64_t>(s.batch_size, count - from);
    for (size_t i = 0; i < context.batch; ++i) COT_TRY(s.reader.read(examples, from + i, i, s.program.input()));
    const FlushDenormals flush;
    s.program.run_first_half(context);
  }
  return Evaluation{.examples = count,
                    .loss_mean = sums.loss / static_cast<double>(count),
                    .accuracy = static_cast<double>(sums.correct) / static_cast<double>(count)};
}

}  // namespace coterie
