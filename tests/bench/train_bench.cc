// coterie-bench-train: training steps of the bench's networks, a JSON object a row.
//
//   coterie-bench-train [seconds a row, default 2] [model, "" for all] [batch, 0 for all] [threads, default 1]
//                       [planned bytes at most, default no limit]
//
// With several threads each step is paired with one by a single thread: "speedup" is the ratio of the medians.
//
// A step is Trainer::step: reading the batch, forward, loss, backward, SGD with momentum. The data set holds
// 16 different batches that come in a new order each epoch, because a batch that never changes flatters every
// branch; "ms" is the median of wall time, "cpu_ms" of this thread's processor time, which a busy machine
// disturbs less. "load_ms" is the time from the file's bytes to the end of the first step.
// tests/bench/train_torch.py measures the same networks in PyTorch.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/bench/bench_models.h"
#include "train_kernels/kernel_table.h"

namespace coterie {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kBatches = 16;
constexpr size_t kStepsMin = 7, kWarmUpMax = 5;

double thread_cpu_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class RandomExamples : public ExampleSource {
 public:
  RandomExamples(uint64_t count, size_t features, const BenchModel& model)
      : features_(features), values_(count * features), labels_(count) {
    Prng prng(7);
    for (float& value : values_) {
      value = static_cast<float>(prng.uniform());
      if (model.token_count == 0) continue;
      const auto token = static_cast<int32_t>(prng.below(static_cast<uint64_t>(model.token_count)));
      std::copy_n(reinterpret_cast<const char*>(&token), sizeof token, reinterpret_cast<char*>(&value));
    }
    for (int32_t& label : labels_) label = static_cast<int32_t>(prng.below(model.classes));
  }
  uint64_t size() const override { return labels_.size(); }
  Status read(uint64_t index, const Example& to) override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(index * features_), features_, to.features().begin());
    to.labels()[0] = labels_[index];
    return {};
  }

 private:
  size_t features_;
  std::vector<float> values_;  // or int32 under this type
  std::vector<int32_t> labels_;
};

struct Times {
  double load_ms = 0;
  std::vector<double> wall_ms, cpu_ms;
};

TrainOptions options_for(uint32_t batch, uint32_t threads, uint64_t planned_bytes_max = 0) {
  TrainOptions options;
  options.batch_size = batch;
  options.epochs = 1'000'000;
  options.optimizer = {.learning_rate = 1e-4f, .momentum = 0.9f};
  options.threads = threads;
  options.seed = 1;
  options.planned_bytes_max = planned_bytes_max;
  return options;
}

Result<double> timed_step(Trainer& trainer) {
  const Clock::time_point before = Clock::now();
  COT_TRY(trainer.step());
  return ms_since(before);
}

// How many times as fast as one thread.
Result<double> speedup_of(const Bytes& file, const BenchModel& described, uint32_t batch, uint32_t threads,
                          double seconds) {
  COT_ASSIGN(const Model model, Model::load(file));
  RandomExamples examples(uint64_t{batch} * kBatches, elements(model.input_shape()), described);
  COT_ASSIGN(Trainer one, Trainer::create(model, options_for(batch, 1), examples));
  COT_ASSIGN(Trainer several, Trainer::create(model, options_for(batch, threads), examples));
  std::vector<double> one_ms, several_ms;
  const Clock::time_point start = Clock::now();
  while (one_ms.size() < kStepsMin || ms_since(start) < seconds * 1e3) {
    COT_ASSIGN(one_ms.emplace_back(), timed_step(one));
    COT_ASSIGN(several_ms.emplace_back(), timed_step(several));
  }
  return median(one_ms) / median(several_ms);
}

Result<Times> run_steps(const Bytes& file, const BenchModel& described, uint32_t batch, uint32_t threads,
                        double seconds, uint64_t planned_bytes_max, TrainingMemory& memory, double& flops) {
  Times times;
  const Clock::time_point loading = Clock::now();
  COT_ASSIGN(const Model model, Model::load(file));
  const double load_ms = ms_since(loading);
  flops = model.flops();
  RandomExamples examples(uint64_t{batch} * kBatches, elements(model.input_shape()), described);
  const Clock::time_point compiling = Clock::now();
  COT_ASSIGN(Trainer trainer, Trainer::create(model, options_for(batch, threads, planned_bytes_max), examples));
  COT_TRY(trainer.step());
  times.load_ms = load_ms + ms_since(compiling);
  memory = trainer.memory();
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < kWarmUpMax && ms_since(start) < seconds * 500; ++i) COT_TRY(trainer.step());
  const Clock::time_point measuring = Clock::now();
  while (times.wall_ms.size() < kStepsMin || ms_since(measuring) < seconds * 1e3) {
    const Clock::time_point wall_before = Clock::now();
    const double cpu_before = thread_cpu_ms();
    COT_TRY(trainer.step());
    times.cpu_ms.push_back(thread_cpu_ms() - cpu_before);
    times.wall_ms.push_back(ms_since(wall_before));
  }
  return times;
}

Status measure(const BenchModel& described, uint32_t batch, uint32_t threads, double seconds,
               uint64_t planned_bytes_max) {
  COT_ASSIGN(const Bytes file, make_bench_model(described.name));
  TrainingMemory memory;
  double flops = 0;
  COT_ASSIGN(const Times times,
             run_steps(file, described, batch, threads, seconds, planned_bytes_max, memory, flops));
  double speedup = 1;
  if (threads > 1) {
    COT_ASSIGN(speedup, speedup_of(file, described, batch, threads, seconds));
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double ms = median(times.wall_ms);
  std::printf("{\"bench\":\"train\",\"model\":\"%s\",\"batch\":%u,\"threads\":%u,\"speedup\":%.3f,\"ms\":%.4f,\"cpu_ms\":%.4f,"
              "\"load_ms\":%.2f,\"samples_per_s\":%.0f,\"forward_mflop\":%.2f,\"arena_bytes\":%llu,"
              "\"planned_bytes\":%llu,\"planned_lower_bound\":%llu,\"recomputed_share\":%.3f,\"peak_rss_mb\":%.1f,"
              "\"steps\":%zu,"
              "\"kernels\":\"%s\"}\n",
              std::string(described.name).c_str(), batch, threads, speedup, ms, median(times.cpu_ms), times.load_ms, batch * 1000.0 / ms,
              flops * batch / 1e6, static_cast<unsigned long long>(memory.arena_bytes),
              static_cast<unsigned long long>(memory.planned_bytes),
              static_cast<unsigned long long>(memory.planned_lower_bound), memory.recomputed_share,
              static_cast<double>(usage.ru_maxrss) / 1024, times.wall_ms.size(),
              std::string(kernels::kernels().name).c_str());
  std::fflush(stdout);
  return {};
}

Status measure_all(double seconds, std::string_view only_model, uint32_t only_batch, uint32_t threads,
                   uint64_t planned_bytes_max) {
  for (const BenchModel& model : bench_models()) {
    if (!only_model.empty() && only_model != model.name) continue;
    for (const uint32_t batch : model.batches) {
      if (only_batch != 0 && only_batch != batch) continue;
      if (const Status done = measure(model, batch, threads, seconds, planned_bytes_max); !done) {
        return done.error().with_context(std::string(model.name));
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2.0;
  const uint32_t batch = argc > 3 ? static_cast<uint32_t>(std::atoi(argv[3])) : 0;
  const uint32_t threads = argc > 4 ? static_cast<uint32_t>(std::atoi(argv[4])) : 1;
  const uint64_t planned_bytes_max = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 0;
  const coterie::Status done =
      coterie::measure_all(seconds, argc > 2 ? argv[2] : "", batch, threads, planned_bytes_max);
  if (!done) std::fprintf(stderr, "train: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
