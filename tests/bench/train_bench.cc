// coterie-bench-train: training steps of the bench's networks, a JSON object a row.
//
// With several threads each step is paired with one by a single thread: "speedup" is the ratio of the medians. With
// --bf16 each step in float32 is paired with one of storage bf16, which computes in bfloat16 where the CPU can:
// "bf16_ms" is their median, "bf16_ratio" the ratio of the two medians, of processor time. With --branches nets of
// independent branches are trained three ways in turn: by one thread ("one_ms"), by several that share each op
// ("in_turn_ms"), and by several that also compute branches at the same time ("ms").
//
// A step is Trainer::step: reading the batch, forward, loss, backward, SGD with momentum. The data set holds
// 16 different batches that come in a new order each epoch, because a batch that never changes flatters every
// branch; "ms" is the median of wall time, "cpu_ms" of this thread's processor time, which a busy machine
// disturbs less. "load_ms" is the time from the file's bytes to the end of the first step; "limit_ms" the least that a
// step could take (step_limit.h), of which "flop_limit_ms" its multiply-adds alone.
// tests/bench/train_torch.py measures the same networks in PyTorch.
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/trainer.h"
#include "tests/bench/bench_models.h"
#include "tests/bench/step_limit.h"
#include "train_kernels/bfloat16_kernels.h"
#include "train_kernels/kernel_table.h"

namespace coterie {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kBatches = 16;
constexpr size_t kStepsMin = 7, kWarmUpMax = 5;
constexpr size_t kBranchWarmUp = 45, kBranchStepsMin = 2 * kBranchWarmUp;  // trials take 31 runs of a phase

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

struct Settings {
  double seconds = 2;
  std::string model;
  uint32_t batch = 0, threads = 1;
  bool bfloat16 = false;
  uint64_t planned_bytes_max = 0;
  bool branches = false;
};

struct Times {
  double load_ms = 0;
  std::vector<double> wall_ms, cpu_ms;
  TrainingMemory memory;
};

TrainOptions options_for(uint32_t batch, uint32_t threads, uint64_t planned_bytes_max) {
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
Result<double> speedup_of(const Model& model, ExampleSource& examples, uint32_t batch, const Settings& settings) {
  COT_ASSIGN(Trainer one, Trainer::create(model, options_for(batch, 1, settings.planned_bytes_max), examples));
  COT_ASSIGN(Trainer several,
             Trainer::create(model, options_for(batch, settings.threads, settings.planned_bytes_max), examples));
  std::vector<double> one_ms, several_ms;
  const Clock::time_point start = Clock::now();
  while (one_ms.size() < kStepsMin || ms_since(start) < settings.seconds * 1e3) {
    COT_ASSIGN(one_ms.emplace_back(), timed_step(one));
    COT_ASSIGN(several_ms.emplace_back(), timed_step(several));
  }
  return median(one_ms) / median(several_ms);
}

struct Mixed {
  double ms = 0, ratio = 0;  // of bfloat16; of its time to that of float32
};

// Steps with both storages in turn.
Result<Mixed> beside_float32(const Model& model, ExampleSource& examples, uint32_t batch, const Settings& settings) {
  TrainOptions options = options_for(batch, settings.threads, settings.planned_bytes_max);
  COT_ASSIGN(Trainer exact, Trainer::create(model, options, examples));
  options.storage = Storage::bfloat16;
  COT_ASSIGN(Trainer mixed, Trainer::create(model, options, examples));
  std::vector<double> exact_ms, mixed_ms;
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; mixed_ms.size() < kStepsMin || ms_since(start) < settings.seconds * 1e3; ++i) {
    for (const auto& [trainer, ms] : {std::pair(&exact, &exact_ms), std::pair(&mixed, &mixed_ms)}) {
      const double before = thread_cpu_ms();
      COT_TRY(trainer->step());
      if (i > 0) ms->push_back(thread_cpu_ms() - before);  // the first prepares
    }
  }
  return Mixed{median(mixed_ms), median(mixed_ms) / median(exact_ms)};
}

Status measure_branches(const BenchModel& described, uint32_t batch, const Settings& settings) {
  COT_ASSIGN(const Bytes file, make_bench_model(described.name));
  COT_ASSIGN(const Model model, Model::load(file));
  RandomExamples examples(uint64_t{batch} * kBatches, elements(model.input_shape()), described);
  TrainOptions options = options_for(batch, 1, settings.planned_bytes_max);
  COT_ASSIGN(Trainer one, Trainer::create(model, options, examples));
  options.threads = settings.threads;
  COT_ASSIGN(Trainer in_waves, Trainer::create(model, options, examples));
  options.runs_waves = false;
  COT_ASSIGN(Trainer in_turn, Trainer::create(model, options, examples));
  std::vector<double> one_ms, turn_ms, waves_ms;
  const Clock::time_point start = Clock::now();
  while (one_ms.size() < kBranchStepsMin || ms_since(start) < settings.seconds * 1e3) {
    COT_ASSIGN(one_ms.emplace_back(), timed_step(one));
    COT_ASSIGN(turn_ms.emplace_back(), timed_step(in_turn));
    COT_ASSIGN(waves_ms.emplace_back(), timed_step(in_waves));
  }
  // What is tried before it is known which way is faster is no step as there will be.
  for (std::vector<double>* times : {&one_ms, &turn_ms, &waves_ms}) {
    times->erase(times->begin(), times->begin() + kBranchWarmUp);
  }
  const double ms = median(waves_ms);
  const nlohmann::ordered_json row = {{"bench", "branches"},
                                      {"model", described.name},
                                      {"batch", batch},
                                      {"threads", settings.threads},
                                      {"one_ms", median(one_ms)},
                                      {"in_turn_ms", median(turn_ms)},
                                      {"ms", ms},
                                      {"speedup", median(one_ms) / ms},
                                      {"over_in_turn", median(turn_ms) / ms},
                                      {"planned_bytes", in_waves.memory().planned_bytes},
                                      {"planned_bytes_in_turn", in_turn.memory().planned_bytes},
                                      {"steps", one_ms.size()},
                                      {"kernels", kernels::kernels().name}};
  std::printf("%s\n", row.dump().c_str());
  std::fflush(stdout);
  return {};
}

Result<Times> run_steps(const Bytes& file, ExampleSource& examples, uint32_t batch, const Settings& settings) {
  Times times;
  const Clock::time_point loading = Clock::now();
  COT_ASSIGN(const Model model, Model::load(file));
  COT_ASSIGN(Trainer trainer,
             Trainer::create(model, options_for(batch, settings.threads, settings.planned_bytes_max), examples));
  COT_TRY(trainer.step());
  times.load_ms = ms_since(loading);
  times.memory = trainer.memory();
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < kWarmUpMax && ms_since(start) < settings.seconds * 500; ++i) COT_TRY(trainer.step());
  const Clock::time_point measuring = Clock::now();
  while (times.wall_ms.size() < kStepsMin || ms_since(measuring) < settings.seconds * 1e3) {
    const Clock::time_point wall_before = Clock::now();
    const double cpu_before = thread_cpu_ms();
    COT_TRY(trainer.step());
    times.cpu_ms.push_back(thread_cpu_ms() - cpu_before);
    times.wall_ms.push_back(ms_since(wall_before));
  }
  return times;
}

Status measure(const BenchModel& described, uint32_t batch, const Settings& settings) {
  COT_ASSIGN(const Bytes file, make_bench_model(described.name));
  COT_ASSIGN(const Model model, Model::load(file));
  RandomExamples examples(uint64_t{batch} * kBatches, elements(model.input_shape()), described);
  COT_ASSIGN(const Times times, run_steps(file, examples, batch, settings));
  double speedup = 1;
  if (settings.threads > 1) {
    COT_ASSIGN(speedup, speedup_of(model, examples, batch, settings));
  }
  std::optional<Mixed> mixed;
  if (settings.bfloat16) {
    COT_ASSIGN(mixed, beside_float32(model, examples, batch, settings));
  }
  const double forward_flops = model.flops() * batch;
  const bench::StepLimit limit = bench::step_limit({.flops = 3 * forward_flops,
                                                    .parameters = model.value_count(),
                                                    .activation_bytes = times.memory.planned_lower_bound},
                                                   kernels::kernels().name);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double ms = median(times.wall_ms);
  nlohmann::ordered_json row = {{"bench", "train"},
                                {"model", described.name},
                                {"batch", batch},
                                {"threads", settings.threads},
                                {"speedup", speedup},
                                {"ms", ms},
                                {"cpu_ms", median(times.cpu_ms)},
                                {"flop_limit_ms", limit.flop_ms},
                                {"limit_ms", limit.both_ms()},
                                {"load_ms", times.load_ms},
                                {"samples_per_s", batch * 1000.0 / ms},
                                {"forward_mflop", forward_flops / 1e6},
                                {"parameters", model.value_count()},
                                {"arena_bytes", times.memory.arena_bytes},
                                {"planned_bytes", times.memory.planned_bytes},
                                {"planned_lower_bound", times.memory.planned_lower_bound},
                                {"recomputed_share", times.memory.recomputed_share},
                                {"peak_rss_mb", static_cast<double>(usage.ru_maxrss) / 1024},
                                {"steps", times.wall_ms.size()},
                                {"kernels", kernels::kernels().name}};
  if (mixed) {
    const kernels::KernelTable* const table = kernels::bfloat16_kernels();
    row["bf16_ms"] = mixed->ms;
    row["bf16_ratio"] = mixed->ratio;
    row["bf16_kernels"] = table != nullptr ? table->name : kernels::kernels().name;
  }
  std::printf("%s\n", row.dump().c_str());
  std::fflush(stdout);
  return {};
}

Status measure_all(const Settings& settings) {
  for (const BenchModel& model : settings.branches ? branched_models() : bench_models()) {
    if (!settings.model.empty() && settings.model != model.name) continue;
    const bool is_any = !settings.model.empty() && settings.batch != 0;
    for (const uint32_t batch : is_any ? std::vector{settings.batch} : model.batches) {
      if (settings.batch != 0 && settings.batch != batch) continue;
      const auto& way = settings.branches ? measure_branches : measure;
      if (const Status done = way(model, batch, settings); !done) {
        return done.error().with_context(std::string(model.name));
      }
    }
  }
  return {};
}

}  // namespace
}  // namespace coterie

int main(int argc, char** argv) {
  coterie::Settings settings;
  CLI::App app("Training steps of the bench's networks, a JSON object a row.");
  app.add_option("--seconds", settings.seconds, "a row")->capture_default_str();
  app.add_option("--model", settings.model, "only this one: mlp, lenet5, fedavg_cnn, resnet20, ...");
  app.add_option("--batch", settings.batch, "only this one; of a model that is named, any");
  app.add_option("--threads", settings.threads, "each step is paired with one by a single thread: speedup")
      ->capture_default_str();
  app.add_flag("--bf16", settings.bfloat16, "each step is paired with one of storage bf16: bf16_ratio");
  app.add_flag("--branches", settings.branches, "nets of independent branches, with --threads in turn and in waves");
  app.add_option("--planned-bytes-max", settings.planned_bytes_max, "compute again what does not fit");
  CLI11_PARSE(app, argc, argv);
  const coterie::Status done = coterie::measure_all(settings);
  if (!done) std::fprintf(stderr, "train: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
