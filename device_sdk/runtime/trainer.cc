#include "device_sdk/runtime/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/text/concat.h"
#include "device_sdk/runtime/augment.h"
#include "device_sdk/runtime/checkpoint.h"
#include "device_sdk/runtime/external_part.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/left_out.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/runtime/trainer_state.h"
#include "device_sdk/runtime/training_kernels.h"
#include "device_sdk/runtime/training_parts.h"
#include "device_sdk/runtime/training_programs.h"

namespace coterie {
namespace {

using kernels::kSquaresBlock;

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"training: ", what})); }

// How many of a device's examples are held out. Precondition: check_options.
uint64_t held_out_of(const TrainOptions& options, uint64_t examples) {
  return kHasEarlyStopping && options.early_stopping
             ? held_out_count(examples, options.early_stopping->validation_share)
             : 0;
}

TrainingMemory memory_of(const ArenaLayout& layout, const CompiledModel& whole, uint32_t micro_batch_size,
                         uint64_t examples, uint64_t validation_bytes) {
  return {.arena_bytes = layout.bytes(),
          .parameter_bytes = layout.of(Region::parameters),
          .optimizer_bytes = layout.of(Region::slot0) + layout.of(Region::slot1) + layout.of(Region::factors),
          .gradient_bytes = layout.of(Region::gradients),
          .prepared_bytes = layout.of(Region::prepared),
          .planned_bytes = layout.planned_bytes,
          .planned_lower_bound = whole.program.planned_lower_bound(),
          .order_bytes = examples * sizeof(uint32_t),
          .validation_bytes = validation_bytes,
          .micro_batch_size = micro_batch_size,
          .recomputed_steps = whole.recomputed.steps,
          .recomputed_share = whole.recomputed.share,
          .narrowed_tensors = whole.narrowed.tensors,
          .narrowed_bytes_saved = whole.narrowed.bytes_saved};
}

// What a step's loss comes to: its mean is sums.loss / weight.
struct StepLoss {
  kernels::LossSums sums;
  double weight = 0;
  uint64_t ignored = 0;  // rows
};

void run_phase(TrainerState& s, StepRunner* runner, const Program& program, Phase phase, const StepContext& context) {
  if (runner != nullptr) runner->run(program, s.arena, phase, context);
  else program.run(phase, context);
}

// One micro-batch forward and backward. `share` is its part of the step's examples.
Status run_micro_batch(TrainerState& s, size_t batch, float share, StepLoss& loss, StepRunner* runner) {
  BatchProgram& code = s.program_for(batch);
  const char* fault = nullptr;
  StepContext context{.kernels = training_kernels(s.options),
                      .sums = &loss.sums,
                      .loss_weight = &loss.weight,
                      .loss_scale = kHasLossScaling && s.loss_scale.scale > 0 ? share * s.loss_scale.scale : share,
                      .is_part_of_step = share < 1,
                      // By the place in the training, not by a generator that runs along: a training that is resumed
                      // drops out the same units.
                      .random_seed = s.options.seed + s.epoch * s.order.size() + s.position,
                      .fault = &fault,
                      .pool = s.pool.get()};
  const double factor = learning_rate_factor(s.options.schedule, s.optimizer_step(), s.steps_in_all(), s.plateau);
  context.optimizer = optimizer_moment(s.options.optimizer, s.optimizer_step() + 1, factor);
  s.prepared.prepare(code.compiled.program, context);
  s.examples->set_epoch(s.epoch);
  for (size_t i = 0; i < batch; ++i) COT_TRY(code.reader.read(*s.examples, s.order[s.position + i], i));
  loss.ignored += code.reader.ignored();
  if (runner != nullptr) runner->begin({s.step, std::span(s.order).subspan(s.position, batch)});
  run_phase(s, runner, code.compiled.program, Phase::forward, context);
  if (fault != nullptr) return bad(concat({"step ", s.step, ": ", fault}));
  loss.sums.loss += s.take_heads(code);
  // Before the backward phase, which may change the parameters: the caller keeps the last good ones.
  if (!std::isfinite(s.loss_sum + loss.sums.loss)) {
    return bad(concat({"the loss of step ", s.step, " is not finite; training diverged"}));
  }
  run_phase(s, runner, code.compiled.program, Phase::backward, context);
  if (fault != nullptr) return bad(concat({"step ", s.step, ": ", fault}));
  return {};
}

void clip(TrainerState& s) {
  // The norm is of blocks that the kernel sums, added in their order: the same bits whatever the threads.
  const std::span<float> gradients = s.region(Region::gradients);
  const kernels::KernelTable& kernels = kernels::kernels();
  if (s.options.clip_norm > 0) {
    kernels.sum_of_squares(gradients.size(), gradients.data(), s.norm_blocks.data());
    const double norm = std::sqrt(std::accumulate(s.norm_blocks.begin(), s.norm_blocks.end(), 0.0));
    const double limit = static_cast<double>(s.options.clip_norm);
    if (norm > limit) kernels.scale_in_place(gradients.size(), static_cast<float>(limit / norm), gradients.data());
  }
  if (s.options.clip_value > 0) kernels.clip_in_place(gradients.size(), s.options.clip_value, gradients.data());
}

bool has_parts(const TrainerState& s) { return kHasDelegates && s.parts != nullptr; }

// Whether a step may have to be undone: `statistics` then has room for them.
bool keeps_statistics(const TrainerState& s) {
  return (kHasLossScaling && s.options.loss_scaling.is_on()) || has_parts(s);
}

// `visit` gets what the backward phase changes beside parameters: running statistics, ranges of activations.
template <typename Visit>
void for_each_statistic(TrainerState& s, const Visit& visit) {
  const std::span<float> values = s.region(Region::parameters);
  for (const TensorInfo& tensor : s.model.graph().tensors) {
    if (tensor.role == TensorRole::state)
      visit(values.subspan(tensor.payload_offset / sizeof(float), elements(tensor.shape)));
  }
  visit(s.region(Region::ranges));
}

void keep_statistics(TrainerState& s) {
  if (!keeps_statistics(s)) return;
  s.statistics.clear();  // its capacity stays
  for_each_statistic(s, [&](std::span<float> v) { s.statistics.insert(s.statistics.end(), v.begin(), v.end()); });
}

void put_statistics_back(TrainerState& s) {
  auto from = s.statistics.begin();
  for_each_statistic(s, [&](std::span<float> v) {
    std::copy_n(from, v.size(), v.begin());
    from += static_cast<ptrdiff_t>(v.size());
  });
}

// Takes the scale of loss scaling off the gradients, and multiplies them by `factor`. False if one of them is not
// finite: the step is then undone.
bool unscale(TrainerState& s, double factor) {
  const std::span<float> gradients = s.region(Region::gradients);
  const auto multiply = [&](double by) {
    if (by != 1) kernels::kernels().scale_in_place(gradients.size(), static_cast<float>(by), gradients.data());
  };
  if (!kHasLossScaling || s.loss_scale.scale == 0) {
    multiply(factor);
    return true;
  }
  const double scale = static_cast<double>(s.loss_scale.scale);
  const bool is_finite = all_finite(gradients);
  observe_gradient(s.options.loss_scaling, is_finite, s.loss_scale);
  if (is_finite) {
    multiply(factor / scale);
  } else {
    put_statistics_back(s);
    s.skipped += 1;
  }
  return is_finite;
}

// Before the first step. What a step leaves in planned memory no other step reads, and what was prepared is of the
// model.
void begin(TrainerState& s) {
  s.random = Prng(s.options.seed);
  std::iota(s.order.begin(), s.order.end(), 0u);
  s.random.shuffle(s.order);
  s.epoch = 0;
  s.position = s.step = s.skipped = s.seen = s.correct = s.epoch_correct_start = 0;
  s.ignored = s.epoch_ignored_start = 0;
  s.loss_sum = s.epoch_loss_start = 0;
  s.loss_scale = {.scale = s.options.loss_scaling.start};
  s.plateau = {};
  std::ranges::fill(s.heads, HeadTotals{});
  std::ranges::copy(s.model.parameters(), s.region(Region::parameters).begin());
  for (const Region zeros : {Region::slot0, Region::slot1, Region::factors, Region::ranges}) {
    std::ranges::fill(s.region(zeros), 0.0f);
  }
}

// The programs without the parts that were given up, on an arena that has what the old one had of the training.
Status compile_anew(TrainerState& s) {
  COT_ASSIGN(TrainingPrograms compiled, compile_programs(s.model, s.options, s.order.size(), s.parts));
  COT_TRY(check_planned(compiled, s.options));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, s.options.arena_bytes_max));
  for (const Region kept : {Region::parameters, Region::slot0, Region::slot1, Region::factors, Region::ranges}) {
    std::ranges::copy(s.region(kept), arena.region(kept).begin());
  }
  s.prepared.forget();
  s.arena = std::move(arena);
  s.whole = BatchProgram(s.model, compiled.loss, compiled.micro_batch_size, std::move(compiled.whole), s.arena);
  if (compiled.rest) s.rest.emplace(s.model, compiled.loss, compiled.rest_size, std::move(*compiled.rest), s.arena);
  s.has_given_up_part = false;
  return {};
}

void end_epoch(TrainerState& s) {
  s.position = 0;
  s.epoch += 1;
  s.random.shuffle(s.order);
  observe_epoch(s.options.schedule, (s.loss_sum - s.epoch_loss_start) / static_cast<double>(s.order.size()), s.plateau);
  s.epoch_loss_start = s.loss_sum;
  s.epoch_correct_start = s.correct;
  s.epoch_ignored_start = s.ignored;
}

// Trains on the next mini-batch.
Status train_step(TrainerState& s, StepRunner* runner) {
  const uint64_t start = s.position;
  const size_t batch = std::min<uint64_t>(s.batch_size, s.order.size() - start);
  // Denormal numbers take a hundred times as long on some CPUs, and gradients pass through them on their way to 0.
  const FlushDenormals flush;
  if (const auto sums = s.region(Region::gradients); !sums.empty()) std::memset(sums.data(), 0, sums.size_bytes());
  keep_statistics(s);
  StepLoss loss;
  s.begin_step_of_heads();
  while (s.position < start + batch) {
    const size_t micro = std::min<uint64_t>(s.micro_batch_size, start + batch - s.position);
    const float share = static_cast<float>(micro) / static_cast<float>(batch);
    if (const Status ran = run_micro_batch(s, micro, share, loss, runner); !ran) {
      // The micro-batches of a failed step are not counted: the step can be tried again from its beginning.
      s.position = start;
      if (has_parts(s)) put_statistics_back(s);
      return ran;
    }
    s.position += micro;
  }
  // Parts were divided by the step's rows (run_micro_batch); the mean divides by what all their weights came to. A step
  // whose labels weigh nothing has no loss and moves nothing.
  const double rows = static_cast<double>(batch * s.rows_an_example);
  const double rows_a_weight = loss.weight > 0 ? rows / loss.weight : 0;
  // Heads' rows weigh alike where there are parts (compile_programs).
  const double factor = batch > s.micro_batch_size && s.heads.empty() ? rows_a_weight : 1;
  if (!s.region(Region::gradients).empty() && unscale(s, factor)) {
    clip(s);
    if (runner != nullptr) runner->scaled(s.region(Region::gradients));
    StepContext context{.kernels = kernels::kernels(), .pool = s.pool.get()};
    const double rate = learning_rate_factor(s.options.schedule, s.optimizer_step(), s.steps_in_all(), s.plateau);
    context.optimizer = optimizer_moment(s.options.optimizer, s.optimizer_step() + 1, rate);
    run_phase(s, runner, s.whole.compiled.program, Phase::update, context);
  }

  s.step += 1;
  s.seen += batch;
  if (s.heads.empty()) {
    s.loss_sum += loss.sums.loss * rows_a_weight / static_cast<double>(s.rows_an_example);
    s.correct += loss.sums.correct;
  } else {
    s.loss_sum += s.count_heads(batch) * static_cast<double>(batch);
    s.correct += s.step_heads[0].sums.correct;
  }
  s.ignored += loss.ignored;
  if (s.position == s.order.size()) end_epoch(s);
  return {};
}

}  // namespace

Result<Trainer> Trainer::create(const Model& model, const TrainOptions& options, ExampleSource& examples) {
  return create_with(model, options, examples, nullptr);
}

Result<Trainer> Trainer::create(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                TrainingParts& parts) {
  COT_TRY(check_has_delegates());
  COT_TRY(check_options(options));
  COT_TRY(parts.begin(model, options));
  return create_with(model, options, examples, &parts);
}

Result<Trainer> Trainer::create_with(const Model& model, const TrainOptions& options, ExampleSource& examples,
                                     TrainingParts* parts) {
  COT_TRY(check_options(options));
  COT_TRY(check_examples(examples.size()));
  const uint64_t held_out = held_out_of(options, examples.size()), count = examples.size() - held_out;
  COT_ASSIGN(TrainingPrograms compiled, compile_programs(model, options, count, parts));
  COT_TRY(check_planned(compiled, options));
  COT_ASSIGN(std::unique_ptr<ThreadPool> pool, ThreadPool::create(options.threads));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, options.arena_bytes_max));
  BatchProgram whole(model, compiled.loss, compiled.micro_batch_size, std::move(compiled.whole), arena);
  std::optional<BatchProgram> rest;
  if (compiled.rest) rest.emplace(model, compiled.loss, compiled.rest_size, std::move(*compiled.rest), arena);
  const size_t blocks = options.clip_norm > 0 ? (model.value_count() + kSquaresBlock - 1) / kSquaresBlock : 0;
  std::unique_ptr<ExamplePart> part;
  std::unique_ptr<Validation> validation;
  if (kHasEarlyStopping && held_out > 0) {
    ExampleSplit split = split_examples(examples.size(), options.early_stopping->validation_share);
    part = std::make_unique<ExamplePart>(examples, std::move(split.trained));
    COT_ASSIGN(validation,
               Validation::create(model, options, compiled.micro_batch_size, examples, std::move(split.held_out)));
  }
  ExampleSource& trained = part ? static_cast<ExampleSource&>(*part) : examples;
  std::unique_ptr<AugmentedSource> read;
  if (kHasAugmentation) {
    COT_ASSIGN(std::optional<AugmentedSource> source, augmented(trained, model, compiled.augmentation, options.seed));
    if (source) read = std::make_unique<AugmentedSource>(std::move(*source));
  }
  ExampleSource& given = read ? static_cast<ExampleSource&>(*read) : trained;
  // In place: it is large to be moved.
  std::unique_ptr<TrainerState> state(new TrainerState{
      .model = model,
      .options = options,
      .part = std::move(part),
      .augmented = std::move(read),
      .examples = &given,
      .batch_size = compiled.batch_size,
      .micro_batch_size = compiled.micro_batch_size,
      .pool = std::move(pool),
      .arena = std::move(arena),
      .whole = std::move(whole),
      .rest = std::move(rest),
      .prepared = {},
      .rows_an_example = elements(model.output_shape()) / static_cast<uint64_t>(model.output_shape().back()),
      .norm_blocks = std::vector<double>(blocks),
      .statistics = {},
      .validation = std::move(validation),
      .parts = parts,
      .random = Prng(options.seed),
      .order = std::vector<uint32_t>(count)});
  state->make_heads();
  if (keeps_statistics(*state)) {
    size_t statistics = 0;  // keep_statistics() does not allocate
    for_each_statistic(*state, [&](std::span<float> values) { statistics += values.size(); });
    state->statistics.reserve(statistics);
  }
  begin(*state);
  return Trainer(std::move(state));
}

bool Trainer::restart(ExampleSource& examples, uint64_t seed) {
  TrainerState& s = *state_;
  if (s.part || s.augmented) return false;
  const uint64_t count = examples.size();
  const uint32_t rest = s.rest ? s.rest->batch_size : 0;
  if (std::min<uint64_t>(s.options.batch_size, count) != s.batch_size || count % s.micro_batch_size != rest)
    return false;
  s.order.resize(count);
  s.examples = &examples;
  s.options.seed = seed;
  begin(s);
  return true;
}

Result<TrainingMemory> Trainer::plan(const Model& model, const TrainOptions& options, uint64_t examples) {
  COT_TRY(check_options(options));
  COT_TRY(check_examples(examples));
  const uint64_t held_out = held_out_of(options, examples), count = examples - held_out;
  COT_ASSIGN(const TrainingPrograms compiled, compile_programs(model, options, count, nullptr));
  uint64_t validation_bytes = 0;
  if (kHasEarlyStopping && held_out > 0) {
    COT_ASSIGN(validation_bytes, Validation::plan(model, options, compiled.micro_batch_size, held_out));
  }
  return memory_of(compiled.layout, compiled.whole, compiled.micro_batch_size, count, validation_bytes);
}

Trainer::Trainer(std::unique_ptr<TrainerState> state) : state_(std::move(state)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

bool Trainer::finished() const { return state_->is_finished(); }

uint64_t Trainer::steps_in_all() const { return state_->steps_in_all(); }

Status Trainer::step(StepRunner* runner) {
  TrainerState& s = *state_;
  if (finished()) return Error(ErrorCode::conflict, "training is finished");
  // A look is a step of its own: it may be as long as an epoch, and the caller can stop in between.
  if (kHasEarlyStopping && s.is_check_due()) return s.validation->look(s.region(Region::parameters), s.step);
  if (!has_parts(s)) return train_step(s, runner);
  if (runner != nullptr) return bad("a StepRunner, and a delegate, do not go together: the programs change on the way");
  for (;;) {
    if (s.has_given_up_part) COT_TRY(compile_anew(s));
    const Status done = train_step(s, nullptr);
    if (done || !s.parts->has_given_up()) return done;
    s.has_given_up_part = true;
  }
}

TrainingSummary Trainer::summary() const {
  return {.steps = state_->step,
          .examples = state_->seen,
          .loss_sum = state_->loss_sum,
          .correct = state_->correct,
          .rows = state_->seen * state_->rows_an_example - state_->ignored,
          .skipped = state_->skipped};
}

TrainingSummary Trainer::epoch_start() const {
  const TrainerState& s = *state_;
  const uint64_t seen = s.seen - s.position;
  return {.steps = s.epoch * s.steps_an_epoch(),
          .examples = seen,
          .loss_sum = s.epoch_loss_start,
          .correct = s.epoch_correct_start,
          .rows = seen * s.rows_an_example - s.epoch_ignored_start};
}

ValidationSummary Trainer::validation() const {
  const Validation* const validation = state_->validation.get();
  if (validation == nullptr) return {};
  return {.examples = validation->examples(),
          .best_step = validation->progress().best_step,
          .best_loss = validation->progress().best_loss,
          .has_stopped = validation->has_stopped(),
          .last_step = validation->progress().step};
}

double Trainer::validation_loss() const { return state_->validation ? state_->validation->last_loss() : 0; }

uint64_t Trainer::kept_steps() const {
  return state_->gives_best() ? state_->validation->progress().best_step : state_->step;
}

double Trainer::learning_rate() const {
  const TrainerState& s = *state_;
  return static_cast<double>(s.options.optimizer.learning_rate) *
         learning_rate_factor(s.options.schedule, s.optimizer_step(), s.steps_in_all(), s.plateau);
}

std::span<const float> Trainer::parameters() const {
  if (state_->gives_best()) return state_->validation->best();
  return state_->region(Region::parameters);
}

void Trainer::delta(std::span<float> out) const {
  const std::span<const float> trained = parameters(), start = state_->model.parameters();
  COT_ASSERT(out.size() == trained.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = trained[i] - start[i];
}

Status Trainer::save_checkpoint(const std::string& path) const { return write_checkpoint(*state_, path); }

Status Trainer::restore_checkpoint(const std::string& path) {
  COT_TRY(read_checkpoint(path, *state_));
  if (kHasAugmentation && state_->augmented) state_->augmented->set_seed(state_->options.seed);
  return {};
}

TrainingMemory Trainer::memory() const {
  const TrainerState& s = *state_;
  return memory_of(s.arena.layout(), s.whole.compiled, s.whole.batch_size, s.order.size(),
                   s.validation ? s.validation->bytes() : 0);
}

}  // namespace coterie
