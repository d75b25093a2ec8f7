// coterie-bench-train-trace: what tracing costs a step of training (`coterie model profile --trace`: a time for each
// step of the program), in processor time of one thread. A JSON line a model: the step, the step traced, and the median
// over pairs of the one beside the other.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/resident_memory.h"
#include "device_sdk/runtime/step.h"
#include "device_sdk/runtime/step_runner.h"
#include "device_sdk/runtime/step_tracer.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/pixels.h"
#include "tests/bench/thread_time.h"

namespace coterie::bench {
namespace {

constexpr std::string_view kModels[] = {"mlp", "lenet5", "fedavg_cnn", "resnet20", "mbv2@96"};
constexpr int kPairs = 41;

class TracedRunner final : public StepRunner {
 public:
  explicit TracedRunner(StepTracer& tracer) : tracer_(tracer) {}
  void begin(const BatchMoment&) override {}
  void run(const Program& program, const Arena&, Phase phase, const StepContext& context) override {
    if (phase == Phase::forward) tracer_.begin_step(program, context.pool);
    tracer_.run(program, phase, context);
  }
  void scaled(std::span<const float>) override {}

 private:
  StepTracer& tracer_;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Status measure(const BenchModel& of) {
  COT_ASSIGN(Bytes file, make_bench_model(of.name));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  const uint32_t batch = of.batches.back();
  Pixels examples(batch, of.classes);
  TrainOptions options{.batch_size = batch, .epochs = 2 * kPairs + 2};
  options.optimizer.learning_rate = 1e-4f;
  COT_ASSIGN(Trainer trainer, Trainer::create(model, options, examples));
  TrainingTrace trace;
  StepTracer tracer(trace, &seconds_now, &os::resident_bytes);
  TracedRunner runner(tracer);
  const auto timed = [&](StepRunner* with, double& seconds) -> Status {
    const double begin = thread_cpu_seconds();
    COT_TRY(trainer.step(with));
    seconds = thread_cpu_seconds() - begin;
    return {};
  };
  std::vector<double> plain, traced, ratios;
  for (int i = 0; i <= kPairs; ++i) {
    double without = 0, with = 0;
    const bool is_first = i % 2 == 0;  // each as often the first of a pair
    if (is_first) {
      COT_TRY(timed(nullptr, without));
    }
    COT_TRY(timed(&runner, with));
    if (!is_first) {
      COT_TRY(timed(nullptr, without));
    }
    if (i == 0) continue;  // both are warm
    plain.push_back(without);
    traced.push_back(with);
    ratios.push_back(with / without);
  }
  std::printf(
      "{\"bench\": \"train_trace\", \"model\": \"%s\", \"program_steps\": %zu, \"step_ms\": %.4f, \"traced_ms\": %.4f, "
      "\"share\": %.5f}\n",
      std::string(of.name).c_str(), trace.steps.size(), median(plain) * 1e3, median(traced) * 1e3, median(ratios) - 1);
  return {};
}

}  // namespace
}  // namespace coterie::bench

int main() { return coterie::measure_models(coterie::bench::kModels, &coterie::bench::measure); }
