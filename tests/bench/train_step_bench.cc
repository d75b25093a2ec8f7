// coterie-bench-train-step: one training step on one thread, a JSON object a row.
//
//   coterie-bench-train-step [seconds a row, default 2]
//
// A step is Trainer::step: reading the batch, forward, loss, backward, SGD with momentum. The data set holds 16
// different batches that come in a new order each epoch, because a batch that never changes flatters every branch;
// "ms" is the median of wall time, "cpu_ms" of this thread's processor time, which a busy machine disturbs less.
// tests/bench/train_step_torch.py prints the same rows for PyTorch.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/trainer.h"
#include "tools/model/zoo.h"
#include "train_kernels/kernel_table.h"

namespace coterie {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kBatches = 16;
constexpr uint32_t kClasses = 10;

double thread_cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class RandomExamples : public ExampleSource {
 public:
  RandomExamples(uint64_t count, size_t features) : features_(features), values_(count * features), labels_(count) {
    Prng prng(7);
    for (float& value : values_) value = static_cast<float>(prng.uniform());
    for (int32_t& label : labels_) label = static_cast<int32_t>(prng.below(kClasses));
  }
  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(index * features_), features_, to.features().begin());
    to.labels()[0] = labels_[index];
    return {};
  }

 private:
  size_t features_;
  std::vector<float> values_;
  std::vector<int32_t> labels_;
};

Status measure(ModelKind kind, const Shape& input, uint32_t batch, double seconds) {
  COT_ASSIGN(Bytes file, make_model(kind, input, kClasses, 1));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  COT_ASSIGN(const uint64_t features, element_count(input));
  RandomExamples examples(uint64_t{batch} * kBatches, features);
  const TrainingSettings settings{
      .batch_size = batch, .local_epochs = 1'000'000, .optimizer = {.learning_rate = 1e-3f, .momentum = 0.9f}};
  COT_ASSIGN(Trainer trainer, Trainer::create(model, settings, examples, 1));
  for (int i = 0; i < 10; ++i) COT_TRY(trainer.step());
  std::vector<double> wall_ms, cpu_ms;
  const Clock::time_point start = Clock::now();
  while (wall_ms.size() < 50 || std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const Clock::time_point wall_before = Clock::now();
    const double cpu_before = thread_cpu_ms();
    COT_TRY(trainer.step());
    cpu_ms.push_back(thread_cpu_ms() - cpu_before);
    wall_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - wall_before).count());
  }
  const double ms = median(wall_ms);
  const TrainingMemory memory = trainer.memory();
  std::printf("{\"bench\":\"train_step\",\"model\":\"%s\",\"batch\":%u,\"threads\":1,\"ms\":%.4f,\"cpu_ms\":%.4f,"
              "\"samples_per_s\":%.0f,\"arena_bytes\":%llu,\"planned_bytes\":%llu,\"planned_lower_bound\":%llu,"
              "\"steps\":%zu,\"kernels\":\"%s\"}\n",
              std::string(to_string(kind)).c_str(), batch, ms, median(cpu_ms), batch * 1000.0 / ms,
              static_cast<unsigned long long>(memory.arena_bytes),
              static_cast<unsigned long long>(memory.planned_bytes),
              static_cast<unsigned long long>(memory.planned_lower_bound), wall_ms.size(),
              std::string(kernels::kernels().name).c_str());
  std::fflush(stdout);
  return {};
}

Status measure_all(double seconds) {
  for (const uint32_t batch : {1u, 8u, 32u}) {
    COT_TRY(measure(ModelKind::cnn, {8, 8, 1}, batch, seconds));
    COT_TRY(measure(ModelKind::lenet5, {28, 28, 1}, batch, seconds));
  }
  return {};
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  const coterie::Status done = coterie::measure_all(seconds);
  if (!done) std::fprintf(stderr, "train_step: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
