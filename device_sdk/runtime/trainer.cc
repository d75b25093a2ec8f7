#include "device_sdk/runtime/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "device_sdk/runtime/checkpoint.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/trainer_state.h"

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "training: " + what); }

Status check(const TrainingSettings& settings, uint64_t examples) {
  if (settings.loss != Loss::softmax_cross_entropy && settings.loss != Loss::mean_squared_error) {
    return bad("the loss must be softmax_cross_entropy or mean_squared_error");
  }
  if (settings.batch_size < 1) return bad("batch_size must be at least 1");
  if (settings.local_epochs < 1) return bad("local_epochs must be at least 1");
  if (examples < 1) return bad("there are no examples");
  if (examples > limits::kTrainingExamplesMax) {
    return Error(ErrorCode::too_large, "training: " + std::to_string(examples) + " examples, at most 2^26");
  }
  return check_optimizer(settings.optimizer);
}

}  // namespace

Result<Trainer> Trainer::create(const Model& model, const TrainingSettings& settings, ExampleSource& examples,
                                uint64_t seed, const TrainerLimits& limits) {
  const uint64_t count = examples.size();
  COT_TRY(check(settings, count));
  const auto batch_size = static_cast<uint32_t>(std::min<uint64_t>(settings.batch_size, count));
  CompileSettings compile_settings{.loss = settings.loss,
                                   .batch_size = batch_size,
                                   .optimizer = settings.optimizer,
                                   .arena_bytes_max = limits.arena_bytes_max};
  COT_ASSIGN(CompiledModel whole, compile(model, compile_settings));
  const uint64_t planned_lower_bound = whole.program.planned_lower_bound();
  ArenaLayout layout = whole.layout;
  std::optional<CompiledModel> rest;
  compile_settings.batch_size = static_cast<uint32_t>(count % batch_size);
  if (compile_settings.batch_size != 0) {
    COT_ASSIGN(rest, compile(model, compile_settings));
    layout.planned_bytes = std::max(layout.planned_bytes, rest->layout.planned_bytes);
  }
  COT_ASSIGN(Arena arena, Arena::create(layout, limits.arena_bytes_max));
  BatchProgram whole_program(model, settings.loss, batch_size, std::move(whole), arena);
  std::optional<BatchProgram> rest_program;
  if (rest) rest_program.emplace(model, settings.loss, compile_settings.batch_size, std::move(*rest), arena);
  auto state = std::make_unique<TrainerState>(TrainerState{.model = model,
                                             .settings = settings,
                                             .examples = examples,
                                             .batch_size = batch_size,
                                             .arena = std::move(arena),
                                             .whole = std::move(whole_program),
                                             .rest = std::move(rest_program),
                                             .planned_lower_bound = planned_lower_bound,
                                             .random = Prng(seed),
                                             .order = std::vector<uint32_t>(count)});
  std::iota(state->order.begin(), state->order.end(), 0u);
  state->random.shuffle(state->order);
  const std::span<const float> start = model.parameters();
  std::memcpy(state->region(Region::parameters).data(), start.data(), start.size_bytes());
  return Trainer(std::move(state));
}

Trainer::Trainer(std::unique_ptr<TrainerState> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

bool Trainer::finished() const {
  const TrainerState& s = *state_;
  return s.epoch >= s.settings.local_epochs || (s.settings.steps_max > 0 && s.step >= s.settings.steps_max);
}

Status Trainer::step() {
  TrainerState& s = *state_;
  if (finished()) return Error(ErrorCode::conflict, "training is finished");
  const size_t batch = std::min<uint64_t>(s.batch_size, s.order.size() - s.position);
  BatchProgram& code = s.program_for(batch);
  s.examples.set_epoch(s.epoch);
  for (size_t i = 0; i < batch; ++i) COT_TRY(code.reader.read(s.examples, s.order[s.position + i], i));

  kernels::LossSums sums;
  const char* fault = nullptr;
  StepContext context{.kernels = kernels::kernels(), .sums = &sums, .random_seed = s.step, .fault = &fault};
  if (s.settings.optimizer.kind == OptimizerKind::adam) context.adam = adam_step_at(s.settings.optimizer, s.step + 1);
  const FlushDenormals flush;
  code.compiled.program.run(Phase::forward, context);
  if (fault != nullptr) return bad("step " + std::to_string(s.step) + ": " + fault);
  if (!std::isfinite(s.loss_sum + sums.loss)) {
    return bad("the loss of step " + std::to_string(s.step) + " is not finite; training diverged");
  }
  code.compiled.program.run(Phase::backward, context);
  code.compiled.program.run(Phase::update, context);

  s.step += 1;
  s.seen += batch;
  s.loss_sum += sums.loss;
  s.correct += sums.correct;
  s.position += batch;
  if (s.position == s.order.size()) {
    s.position = 0;
    s.epoch += 1;
    s.random.shuffle(s.order);
  }
  return {};
}

TrainingSummary Trainer::summary() const {
  return {.steps = state_->step,
          .examples = state_->seen,
          .loss_sum = state_->loss_sum,
          .correct = state_->correct};
}

std::span<const float> Trainer::parameters() const { return state_->region(Region::parameters); }

void Trainer::delta(std::span<float> out) const {
  const std::span<const float> trained = parameters(), start = state_->model.parameters();
  COT_ASSERT(out.size() == trained.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = trained[i] - start[i];
}

Status Trainer::save_checkpoint(const std::string& path) const { return write_checkpoint(*state_, path); }

Status Trainer::restore_checkpoint(const std::string& path) { return read_checkpoint(path, *state_); }

TrainingMemory Trainer::memory() const {
  const ArenaLayout& layout = state_->arena.layout();
  return {.arena_bytes = layout.bytes(),
          .parameter_bytes = layout.of(Region::parameters),
          .optimizer_bytes = layout.of(Region::slot0) + layout.of(Region::slot1),
          .planned_bytes = layout.planned_bytes,
          .planned_lower_bound = state_->planned_lower_bound,
          .order_bytes = state_->order.size() * sizeof(uint32_t)};
}

}  // namespace coterie
