#include "tools/simulate/cohort_trainer.h"

#include <string>
#include <thread>

#include "base/os/clock.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/agent/training_seed.h"
#include "device_sdk/runtime/trainer.h"
#include "scheduler/job/weight_share.h"
#include "tools/cli/interrupt.h"
#include "tools/demo/options.h"

namespace coterie {
namespace {

constexpr Millis kWatchEvery{20};

}  // namespace

// The highest byte first, so that ids are in the order of numbers.
DeviceId virtual_device(uint32_t device) {
  DeviceId id;
  for (size_t i = 0; i < sizeof device; ++i) id.bytes[i] = static_cast<uint8_t>(device >> (24 - 8 * i));
  return id;
}

CohortTrainer::CohortTrainer(std::vector<std::string> shard_files, uint64_t seed, uint32_t threads,
                             std::function<void(uint64_t)> watch)
    : shard_files_(std::move(shard_files)), seed_(seed), watch_(std::move(watch)) {
  sources_.resize(threads);
  for (Sources& sources : sources_) sources.resize(shard_files_.size());
}

Result<RoundTotals> CohortTrainer::train(const CohortWork& work, Accumulator& sum) {
  outcomes_.assign(work.devices.size(), {});
  next_ = done_ = 0;
  is_stopped_ = false;
  {
    std::atomic<size_t> working{sources_.size()};
    std::vector<std::jthread> threads;
    for (Sources& sources : sources_) {
      threads.emplace_back([this, &work, &sources, &sum, &working] {
        work_off(work, sources, sum);
        --working;
      });
    }
    while (working > 0) {
      if (!Interrupt::wait(kWatchEvery)) is_stopped_ = true;
      watch_(done_);
    }
  }
  if (Interrupt::requested()) return interrupted_error();
  RoundTotals totals;
  for (const Outcome& outcome : outcomes_) {
    if (outcome.error) return *outcome.error;
    totals += outcome.totals;
  }
  return totals;
}

uint64_t CohortTrainer::examples_median() const {
  std::vector<uint64_t> examples;
  for (const Outcome& outcome : outcomes_) examples.push_back(outcome.totals.examples);
  return lower_median(std::move(examples));
}

// Devices are begun in their order, and what is begun is ended: the first that fails is the same with any threads.
void CohortTrainer::work_off(const CohortWork& work, Sources& sources, Accumulator& sum) {
  while (!is_stopped_) {
    const size_t index = next_++;
    if (index >= work.devices.size()) return;
    Result<RoundTotals> trained = train_one(work, work.devices[index], sources, sum);
    if (trained) {
      outcomes_[index].totals = *trained;
    } else {
      outcomes_[index].error =
          trained.error().with_context("device " + std::to_string(uint64_t{work.devices[index]} + 1));
      is_stopped_ = true;
    }
    ++done_;
  }
}

Result<RoundTotals> CohortTrainer::train_one(const CohortWork& work, uint32_t device, Sources& sources,
                                             Accumulator& sum) const {
  const Instant begin = os::monotonic_now();
  const size_t shard = device % shard_files_.size();
  std::optional<DatasetSource>& source = sources[shard];
  if (!source) {
    COT_ASSIGN(source, DatasetSource::open(shard_files_[shard]));
  }
  const uint64_t seed = repeated_seed(device_seed(seed_, device + 1), work.version);
  COT_ASSIGN(Trainer trainer, Trainer::create(work.model, work.plan.training, *source, seed));
  while (!trainer.finished()) {
    if (Interrupt::requested()) return interrupted_error();
    COT_TRY(trainer.step());
  }
  COT_ASSIGN(const TrainedUpdate update, make_update(work.model, trainer, source->size(), work.plan.update));
  COT_TRY(sum.add(update.delta, update.header.weight, virtual_device(device)));
  return RoundTotals{
      .updates = 1,
      .weight = update.header.weight,
      .examples = update.header.examples,
      .loss_sum = update.header.loss_sum,
      .correct = update.header.correct,
      .train_ms = static_cast<uint64_t>(std::chrono::duration_cast<Millis>(os::monotonic_now() - begin).count())};
}

}  // namespace coterie
