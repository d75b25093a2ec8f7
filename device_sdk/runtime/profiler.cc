#include "device_sdk/runtime/profiler.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text/concat.h"
#include "device_sdk/runtime/batch_program.h"
#include "device_sdk/runtime/flush_denormals.h"
#include "device_sdk/runtime/ops/convolution.h"
#include "device_sdk/runtime/optimizer_rule.h"
#include "device_sdk/runtime/random_examples.h"
#include "device_sdk/runtime/shape_inference.h"
#include "device_sdk/runtime/training_kernels.h"
#include "train_kernels/conv2d_algorithm.h"

namespace coterie {
namespace {

// Where the times of a step are added up: one cell an op and two more, for each of forward and what is behind it.
class Times {
 public:
  explicit Times(size_t ops) : ops_(ops), cells_(2 * (ops + 2)) {}

  void begin_step() {
    for (auto& cell : cells_) cell.push_back(0);
  }
  void add(Phase phase, uint32_t origin, double seconds) {
    cells_[(phase == Phase::forward ? 0 : ops_ + 2) + row(origin)].back() += seconds;
  }
  double forward(uint32_t origin) { return median(cells_[row(origin)]); }
  double backward(uint32_t origin) { return median(cells_[ops_ + 2 + row(origin)]); }
  static double median(std::vector<double>& seconds) {
    const auto middle = seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    return *middle;
  }

 private:
  size_t row(uint32_t origin) const {
    if (origin == kLossOrigin) return ops_;
    return origin == kUpdateOrigin ? ops_ + 1 : origin;
  }
  size_t ops_;
  std::vector<std::vector<double>> cells_;
};

std::string algorithm_of(const OpInfo& op, const InferredTypes& inferred) {
  if (op.kind != OpKind::conv2d) return {};
  const Shape &x = inferred.types[op.inputs[0]].shape, &w = inferred.types[op.inputs[1]].shape;
  return std::string(
      name_of(conv2d_algorithm(ops::convolution_shape(x, w, std::get<Conv2dAttributes>(op.attributes)))));
}

}  // namespace

Result<TrainingProfile> profile_training(const Model& model, const TrainOptions& options, uint32_t steps,
                                         double (*seconds_now)(), TrainingTrace* trace, uint64_t (*resident_bytes)()) {
  TrainOptions whole = options;
  whole.micro_batch_size = 0;
  TrainingProfile profile;
  COT_ASSIGN(profile.memory, Trainer::plan(model, whole, options.batch_size));
  COT_ASSIGN(std::vector<bool> is_trainable, trainable_tensors(model.graph(), options));
  COT_ASSIGN(std::vector<ChannelRange> channels, channel_ranges(model.graph(), options.channels));
  COT_ASSIGN(CompiledModel compiled, compile(model, {.loss = options.loss,
                                                     .batch_size = options.batch_size,
                                                     .optimizer = options.optimizer,
                                                     .freeze_statistics = options.freeze_statistics,
                                                     .groups = options.groups,
                                                     .is_trainable = std::move(is_trainable),
                                                     .channels = std::move(channels),
                                                     .arena_bytes_max = options.arena_bytes_max,
                                                     .storage = options.storage,
                                                     .threads = options.threads,
                                                     .part_nanoseconds_min = options.part_nanoseconds_min}));
  COT_ASSIGN(const std::unique_ptr<ThreadPool> pool, ThreadPool::create(options.threads));
  COT_ASSIGN(Arena arena, Arena::create(compiled.layout, options.arena_bytes_max));
  BatchProgram code(model, options.loss, options.batch_size, std::move(compiled), arena);
  const std::span<const float> start = model.parameters();
  RandomExamples examples(model, options.loss, options.batch_size);
  const Program& program = code.compiled.program;
  const std::vector<OpInfo>& ops = model.graph().ops;
  Times times(ops.size());
  std::vector<double> step_seconds;
  std::optional<StepTracer> tracer;
  if (trace != nullptr) tracer.emplace(*trace, seconds_now, resident_bytes);
  for (uint32_t step = 0; step <= steps; ++step) {
    // Each step begins where the first did: none may diverge, and NaN and denormal numbers take another time.
    std::memcpy(arena.region(Region::parameters).data(), start.data(), start.size_bytes());
    kernels::LossSums sums;
    const char* fault = nullptr;
    const auto context_with = [&](const kernels::KernelTable& kernels) {
      return StepContext{.kernels = kernels, .sums = &sums, .random_seed = step, .fault = &fault, .pool = pool.get()};
    };
    const StepContext context = context_with(training_kernels(options));
    StepContext update = context_with(kernels::kernels());
    const FlushDenormals flush;
    if (step == 0) program.run(Phase::prepare, context);
    for (uint32_t i = 0; i < options.batch_size; ++i) COT_TRY(code.reader.read(examples, i, i));
    update.optimizer = optimizer_moment(options.optimizer, step + 1, 1);
    const bool is_measured = step > 0;
    if (is_measured) times.begin_step();
    if (is_measured && tracer) tracer->begin_step(program, pool.get());
    const double begin = seconds_now();
    double last = begin;
    for (const Phase phase : {Phase::forward, Phase::backward, Phase::update}) {
      for (size_t i = 0; i < program.step_count(phase); ++i) {
        program.run_step(phase, i, phase == Phase::update ? update : context);
        const double now = seconds_now();
        if (is_measured) times.add(phase, program.origin(phase, i), now - last);
        if (is_measured && tracer) tracer->ran(last, now);
        last = now;
      }
      if (fault != nullptr) return Error(ErrorCode::invalid_argument, concat({"profile: ", fault}));
    }
    if (is_measured) step_seconds.push_back(last - begin);
  }

  COT_ASSIGN(const InferredTypes inferred, infer_types(model.graph(), options.batch_size));
  const auto add = [&](std::string name, std::string_view kind, uint32_t origin, double flops,
                       std::string algorithm = {}) {
    OpTime op{
        std::move(name), std::string(kind), times.forward(origin), times.backward(origin), flops, std::move(algorithm),
        origin};
    if (op.forward_seconds + op.backward_seconds > 0) profile.ops.push_back(std::move(op));
  };
  for (uint32_t i = 0; i < ops.size(); ++i) {
    add(ops[i].name, to_string(ops[i].kind), i, inferred.op_flops[i], algorithm_of(ops[i], inferred));
  }
  add("", "loss", kLossOrigin, 0);
  add("", "update", kUpdateOrigin, 0);
  profile.step_seconds = Times::median(step_seconds);
  profile.forward_flops = inferred.flops;
  profile.steps = program.steps();
  return profile;
}

}  // namespace coterie
