#include "device_sdk/runtime/evaluator.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/text/concat.h"
#include "device_sdk/runtime/batch_program.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/head_result.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/prepared.h"

namespace coterie {

struct Evaluator::State {
  Model model;
  LossSettings loss;
  uint64_t arena_bytes_max;
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  BatchProgram whole;
  Prepared prepared = {};                           // of whole and rest
  std::optional<BatchProgram> rest = std::nullopt;  // the last, smaller batch of the data set that was evaluated before
  uint64_t count = 0;                               // examples of the evaluation under way
  uint64_t position = 0;                            // so many of which are in the sums
  kernels::LossSums sums = {};
  double weight = 0;
  uint64_t ignored = 0;  // rows
  struct Head {
    HeadSums seen;
    uint64_t ignored = 0;
  };
  std::vector<Head> heads = {};

  void add_heads(const BatchProgram& code);
};

void Evaluator::State::add_heads(const BatchProgram& code) {
  if (!kHasHeads) return;
  for (size_t i = 0; i < heads.size(); ++i) {
    HeadSums batch;
    std::memcpy(static_cast<void*>(&batch), code.compiled.program.pointer(code.compiled.heads[i].sums), sizeof(batch));
    HeadSums& sum = heads[i].seen;
    sum.sums.loss += batch.sums.loss;
    sum.sums.correct += batch.sums.correct;
    sum.weight += batch.weight;
    sum.absolute_error += batch.absolute_error;
    heads[i].ignored += code.reader.ignored_of_head(i);
  }
}

namespace {

Result<CompiledModel> compile_for(const Model& model, const LossSettings& loss, uint32_t batch_size,
                                  uint64_t arena_bytes_max, uint32_t threads) {
  return compile(model, {.purpose = Purpose::evaluate,
                         .loss = loss,
                         .batch_size = batch_size,
                         .arena_bytes_max = arena_bytes_max,
                         .threads = threads});
}

}  // namespace

Result<Evaluator> Evaluator::create(const Model& model, const LossSettings& loss, uint32_t batch_size,
                                    uint64_t arena_bytes_max, uint32_t threads) {
  if (batch_size < 1) return Error(ErrorCode::invalid_argument, "evaluation: batch_size must be at least 1");
  COT_ASSIGN(CompiledModel whole, compile_for(model, loss, batch_size, arena_bytes_max, threads));
  COT_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(threads));
  COT_ASSIGN(Arena arena, Arena::create(whole.layout, arena_bytes_max));
  BatchProgram program(model, loss, batch_size, std::move(whole), arena);
  return Evaluator(std::unique_ptr<State>(
      new State{model, loss, arena_bytes_max, std::move(pool), std::move(arena), std::move(program)}));
}

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<uint64_t> Evaluator::plan(const Model& model, const LossSettings& loss, uint32_t batch_size, uint64_t count,
                                 uint32_t threads) {
  if (batch_size < 1) return Error(ErrorCode::invalid_argument, "evaluation: batch_size must be at least 1");
  COT_ASSIGN(const CompiledModel whole, compile_for(model, loss, batch_size, limits::kArenaBytesMax, threads));
  ArenaLayout layout = whole.layout;
  if (const auto rest_size = static_cast<uint32_t>(count % batch_size); rest_size > 0) {
    COT_ASSIGN(const CompiledModel rest, compile_for(model, loss, rest_size, limits::kArenaBytesMax, threads));
    layout.join(rest.layout);
  }
  return layout.bytes();
}

Result<Evaluation> Evaluator::run(std::span<const float> parameters, ExampleSource& examples, const OutputSink& sink) {
  COT_TRY(begin(parameters, examples.size()));
  while (!finished()) COT_TRY(next(examples, sink));
  return evaluation();
}

Status Evaluator::begin(std::span<const float> parameters, uint64_t count) {
  State& s = *state_;
  if (parameters.size() != s.model.value_count()) {
    return Error(ErrorCode::invalid_argument,
                 concat({"evaluation: ", parameters.size(), " parameters, the model has ", s.model.value_count()}));
  }
  if (count < 1) return Error(ErrorCode::invalid_argument, "evaluation: there are no examples");
  COT_TRY(prepare_rest(static_cast<uint32_t>(count % s.whole.batch_size)));
  std::memcpy(s.arena.region(Region::parameters).data(), parameters.data(), parameters.size_bytes());
  s.prepared.forget();
  s.count = count;
  s.position = 0;
  s.sums = {};
  s.weight = 0;
  s.ignored = 0;
  s.heads.assign(s.whole.compiled.heads.size(), {});
  return {};
}

Status Evaluator::next(ExampleSource& examples, const OutputSink& sink) {
  State& s = *state_;
  const char* fault = nullptr;
  const StepContext context{
      .kernels = kernels::kernels(), .sums = &s.sums, .loss_weight = &s.weight, .fault = &fault, .pool = s.pool.get()};
  const uint64_t batch = std::min<uint64_t>(s.whole.batch_size, s.count - s.position);
  BatchProgram& code = batch == s.whole.batch_size ? s.whole : *s.rest;
  {
    const FlushDenormals flush;
    s.prepared.prepare(code.compiled.program, context);
  }
  for (size_t i = 0; i < batch; ++i) COT_TRY(code.reader.read(examples, s.position + i, i));
  const FlushDenormals flush;
  code.compiled.program.run(Phase::forward, context);
  if (fault != nullptr) return Error(ErrorCode::invalid_argument, concat({"evaluation: ", fault}));
  const CompiledModel& compiled = code.compiled;
  if (sink) {
    sink({compiled.program.pointer(compiled.output), batch * elements(s.model.output_shape())},
         {compiled.program.pointer(compiled.target), batch * compiled.target_elements});
  }
  s.add_heads(code);
  s.position += batch;
  s.ignored += code.reader.ignored();
  return {};
}

uint64_t Evaluator::arena_bytes() const { return state_->arena.layout().bytes(); }

bool Evaluator::finished() const { return state_->position >= state_->count; }

Evaluation Evaluator::evaluation() const {
  const State& s = *state_;
  const Shape& output = s.model.output_shape();
  const uint64_t rows = s.count * elements(output) / static_cast<uint64_t>(output.back()) - s.ignored;
  double loss = s.weight > 0 ? s.sums.loss / s.weight : 0;
  for (const HeadResult& head : heads()) loss += static_cast<double>(head.weight) * head.loss_mean;
  const uint64_t correct = s.heads.empty() ? s.sums.correct : s.heads[0].seen.sums.correct;
  return Evaluation{.examples = s.count,
                    .loss_mean = loss,
                    .accuracy = rows > 0 ? static_cast<double>(correct) / static_cast<double>(rows) : 0,
                    .ignored = s.ignored};
}

std::vector<HeadResult> Evaluator::heads() const {
  const State& s = *state_;
  std::vector<HeadResult> results;
  if (!kHasHeads) return results;
  for (size_t i = 0; i < s.heads.size(); ++i) {
    const auto& [seen, ignored] = s.heads[i];
    const double mean = seen.weight > 0 ? seen.sums.loss / seen.weight : 0;
    results.push_back(head_result(s.loss.heads[i], s.whole.compiled.heads[i], s.count, ignored, seen, mean));
  }
  return results;
}

// Makes the program of the last, smaller batch, unless it is there from the run before. Its plan may need a larger
// arena than the whole batch's: a heuristic made both.
Status Evaluator::prepare_rest(uint32_t batch_size) {
  State& s = *state_;
  if (batch_size == 0 || (s.rest && s.rest->batch_size == batch_size)) return {};
  COT_ASSIGN(CompiledModel rest, compile_for(s.model, s.loss, batch_size, s.arena_bytes_max, s.pool->threads()));
  if (!s.arena.layout().contains(rest.layout)) {
    ArenaLayout layout = s.arena.layout();
    layout.join(rest.layout);
    COT_ASSIGN(s.arena, Arena::create(layout, s.arena_bytes_max));
    COT_ASSIGN(CompiledModel whole,
               compile_for(s.model, s.loss, s.whole.batch_size, s.arena_bytes_max, s.pool->threads()));
    s.whole = BatchProgram(s.model, s.loss, s.whole.batch_size, std::move(whole), s.arena);
  }
  s.rest.emplace(s.model, s.loss, batch_size, std::move(rest), s.arena);
  return {};
}

}  // namespace coterie
