// coterie-bench-watch: what a look of the recommended watch costs beside a step of training, in processor time of one
// thread. A JSON line a model: the step, the step with a look, and the share of a step that this comes to where each
// plan.every-th step is looked at.
#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "device_sdk/runtime/trainer.h"
#include "device_sdk/watch/watch.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/pixels.h"
#include "tests/bench/thread_time.h"

namespace coterie::bench {
namespace {

constexpr std::string_view kModels[] = {"mlp", "lenet5", "fedavg_cnn", "resnet20", "mbv2@96"};
// Steps of each kind, in turn; medians are shown. Short steps go on for kEnoughSeconds: in the first milliseconds of a
// process its caches are cold and its clock still rises, and a look, which reads all weights, pays most for that.
constexpr int kStepsMin = 41, kStepsMax = 4'001;
constexpr double kEnoughSeconds = 1;

double median(std::vector<double>& values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Status measure(const BenchModel& of) {
  COT_ASSIGN(Bytes file, make_bench_model(of.name));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  const uint32_t batch = of.batches.back();
  Pixels examples(batch, of.classes);
  TrainOptions options{.batch_size = batch, .epochs = 2 * kStepsMax};
  options.optimizer.learning_rate = 1e-4f;
  COT_ASSIGN(Trainer trainer, Trainer::create(model, options, examples));
  COT_ASSIGN(const std::vector<bool> is_trained, trainable_tensors(model.graph(), options));
  WatchPlan plan = recommended_watch();
  const uint32_t every = plan.every;
  plan.every = 1;
  Watch watch(model, plan, is_trained, kStepsMax, trainer.summary());
  std::vector<double> plain, looks;
  const double start = thread_cpu_seconds();
  const auto is_enough = [&](int pairs) {
    return pairs == kStepsMax || (pairs >= kStepsMin && thread_cpu_seconds() - start >= kEnoughSeconds);
  };
  for (int i = 0; i % 2 == 1 || !is_enough(i / 2); ++i) {
    const bool is_look = i % 2 == 1;
    const double begin = thread_cpu_seconds();
    COT_TRY(trainer.step(is_look ? &watch : nullptr));
    if (is_look) watch.end_step(trainer);
    (is_look ? looks : plain).push_back(thread_cpu_seconds() - begin);
  }
  const double step = median(plain), look = median(looks);
  std::printf(
      "{\"bench\": \"watch\", \"model\": \"%s\", \"step_ms\": %.4f, \"look_ms\": %.4f, \"every\": %u, \"share\": "
      "%.5f}\n",
      std::string(of.name).c_str(), step * 1e3, look * 1e3, every, (look / step - 1) / every);
  return {};
}

}  // namespace
}  // namespace coterie::bench

int main() { return coterie::measure_models(coterie::bench::kModels, &coterie::bench::measure); }
