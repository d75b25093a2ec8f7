// coterie-bench-cohort: what a simulated client takes beside its training steps alone, in processor time of one thread.
//
// A JSON line a model. Clients are trained and summed by the simulator's own trainer of a round's devices
// (tools/simulate/cohort_trainer.h): what ends a round is not in it. Each has one of 100 files of 80 images of bytes,
// one epoch and batches of 10. Steps alone are Trainer::step of the same model and batch on floats that lie in memory.
// Both are measured in turns; a share is that of one turn.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "aggregation/accumulate/ring_sum.h"
#include "base/os/file.h"
#include "base/random.h"
#include "device_sdk/agent/update_layout.h"
#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model_builder.h"
#include "device_sdk/runtime/trainer.h"
#include "scheduler/job/round_terms.h"
#include "tests/bench/thread_time.h"
#include "tests/support/temporary_directory.h"
#include "tools/model/zoo.h"
#include "tools/simulate/cohort_trainer.h"

namespace coterie::bench {
namespace {

constexpr uint32_t kExamples = 80, kBatch = 10, kShards = 100, kClients = 1'000, kClasses = 10;
constexpr uint64_t kSteps = kExamples / kBatch;
constexpr int kTurns = 7;
const Shape kImage = {28, 28, 1};
constexpr size_t kPixels = 28 * 28;

double process_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Result<Bytes> make(std::string_view name) {
  if (const auto kind = model_kind_from(name)) return make_model(*kind, kImage, kClasses, 1);
  ModelBuilder build("mlp 784-32-10", kImage, 1);
  return build.finish(build.dense(build.relu(build.dense(build.flatten(build.input()), 32)), kClasses));
}

class Floats final : public ExampleSource {
 public:
  Floats() : values_(size() * kPixels) {
    Prng prng(7);
    for (float& value : values_) value = static_cast<float>(prng.uniform());
  }
  uint64_t size() const override { return 2 * kExamples; }
  Status read(uint64_t index, const Example& to) override {
    std::copy_n(values_.begin() + static_cast<ptrdiff_t>(index * kPixels), kPixels, to.features().begin());
    to.labels()[0] = static_cast<int32_t>(index % kClasses);
    return {};
  }

 private:
  std::vector<float> values_;
};

Result<std::vector<std::string>> write_shards(const test::TemporaryDirectory& directory) {
  DatasetHeader header = labelled_dataset("random", kExamples, kImage, kClasses);
  header.inputs[0].type = ColumnType::uint8;
  header.inputs[0].scale = 1 / 255.0f;
  Prng prng(3);
  std::vector<std::string> files;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    Bytes pixels(kExamples * kPixels);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(prng.below(256));
    std::vector<int32_t> labels(kExamples);
    for (int32_t& label : labels) label = static_cast<int32_t>(prng.below(kClasses));
    const ByteView columns[] = {pixels,
                                {reinterpret_cast<const uint8_t*>(labels.data()), labels.size() * sizeof(int32_t)}};
    files.push_back(directory / std::to_string(shard));
    COT_TRY(os::write_file_atomically(files.back(), encode_dataset(header, columns)));
  }
  return files;
}

struct Turn {
  double steps_us, client_us;
  double share() const { return steps_us / client_us; }
};

double median(const std::vector<Turn>& turns, auto&& value_of) {
  std::vector<double> values;
  for (const Turn& turn : turns) values.push_back(value_of(turn));
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

HorizontalSettings job() {
  HorizontalSettings settings;
  settings.training = {.batch_size = kBatch, .local_epochs = 1};
  settings.training.optimizer.learning_rate = 0.01f;
  settings.update.weight_max = 1;
  settings.privacy.level = SecurityLevel::none;
  return settings;
}

Result<std::shared_ptr<const AskedWork>> asked_work(const Model& model) {
  const Plan plan = plan_of(job(), JobId("bench"), ModelValues(model.value_count()));
  COT_ASSIGN(UpdateLayout layout, UpdateLayout::of(model, model.value_count(), plan));
  return std::make_shared<const AskedWork>(
      AskedWork{plan, model, std::make_shared<const UpdateLayout>(std::move(layout)), model.digest(), ModelVersion(0)});
}

Status measure(std::string_view name, const std::vector<std::string>& shards) {
  COT_ASSIGN(Bytes file, make(name));
  COT_ASSIGN(const Model model, Model::load(std::move(file)));
  COT_ASSIGN(const std::shared_ptr<const AskedWork> asked, asked_work(model));
  CohortWork work;
  for (uint32_t device = 0; device < kClients; ++device) work.push_back({device, asked});
  CohortTrainer clients(shards, 1, 1, [](uint64_t) {});
  RingSum sum(asked->plan.update.value_count, asked->plan.update.fixed_point);
  Floats floats;
  TrainOptions options = options_of(asked->plan.training, 1);
  options.epochs = kTurns * kClients;
  COT_ASSIGN(Trainer alone, Trainer::create(model, options, floats));
  std::vector<Turn> turns;
  for (int turn = -1; turn < kTurns; ++turn) {  // the first warms up
    const uint64_t steps = kSteps * kClients / 2;
    double begin = thread_cpu_seconds();
    for (uint64_t i = 0; i < steps; ++i) COT_TRY(alone.step());
    const double step = (thread_cpu_seconds() - begin) / static_cast<double>(steps);
    begin = process_cpu_seconds();
    COT_ASSIGN([[maybe_unused]] const RoundTotals totals, clients.train(work, sum));
    const double client = (process_cpu_seconds() - begin) / kClients;
    if (turn >= 0) turns.push_back({kSteps * step * 1e6, client * 1e6});
  }
  const auto [low, high] = std::ranges::minmax_element(turns, {}, &Turn::share);
  std::printf(
      "{\"bench\": \"cohort\", \"model\": \"%s\", \"values\": %llu, \"steps_us\": %.1f, \"client_us\": %.1f, "
      "\"share\": %.3f, \"share_low\": %.3f, \"share_high\": %.3f}\n",
      std::string(name).c_str(), static_cast<unsigned long long>(model.value_count()),
      median(turns, [](const Turn& turn) { return turn.steps_us; }),
      median(turns, [](const Turn& turn) { return turn.client_us; }),
      median(turns, [](const Turn& turn) { return turn.share(); }), low->share(), high->share());
  std::fflush(stdout);
  return {};
}

}  // namespace
}  // namespace coterie::bench

int main() {
  using namespace coterie;
  const test::TemporaryDirectory directory;
  const Result<std::vector<std::string>> shards = bench::write_shards(directory);
  Status done = shards ? Status() : Status(shards.error());
  for (const std::string_view name : {"lenet5", "mlp", "784-32-10"}) {
    if (done) done = bench::measure(name, *shards);
  }
  if (!done) std::fprintf(stderr, "coterie-bench-cohort: %s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
