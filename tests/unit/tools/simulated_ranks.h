// Simulations by several ranks, which are threads here, with checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "proto/codec/update/update_decoder.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/tools/digit_shards.h"
#include "tools/demo/demo_data.h"
#include "tools/simulate/checkpoint.h"
#include "tools/simulate/ranked_cohort.h"
#include "tools/simulate/simulation.h"

namespace coterie::test {

inline constexpr uint32_t kDevicesOfRanks = 6;
inline constexpr uint64_t kRoundsOfRanks = 4;

// Where the threads of one simulation add up.
class Meeting {
 public:
  explicit Meeting(uint32_t count) : count_(count) {}
  uint32_t count() const { return count_; }
  void add_up(std::span<uint64_t> words) {
    std::unique_lock lock(mutex_);
    sums_.resize(words.size());
    for (size_t i = 0; i < words.size(); ++i) sums_[i] += words[i];
    if (++arrived_ == count_) {
      arrived_ = 0;
      last_ = std::exchange(sums_, {});
      ++meetings_;
      all_are_here_.notify_all();
    } else {
      all_are_here_.wait(lock, [this, before = meetings_] { return meetings_ != before; });
    }
    std::ranges::copy(last_, words.begin());
  }

 private:
  uint32_t count_, arrived_ = 0;
  uint64_t meetings_ = 0;
  std::vector<uint64_t> sums_, last_;
  std::mutex mutex_;
  std::condition_variable all_are_here_;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Meeting& meeting, uint32_t rank) : meeting_(&meeting), rank_(rank) {}
  uint32_t rank() const override { return rank_; }
  uint32_t count() const override { return meeting_->count(); }
  Status add_up(std::span<uint64_t> words) override {
    meeting_->add_up(words);
    return {};
  }

 private:
  Meeting* meeting_;
  uint32_t rank_;
};

// What a rank of a simulation comes to.
struct RankEnd {
  std::string model;  // its digest
  std::vector<float> values;
  std::vector<double> losses;
  Status status;
};

class SimulatedRanks : public testing::Test {
 protected:
  void SetUp() override {
    make_digit_shards(kDevicesOfRanks, {SplitKind::dirichlet, 0.5}, directory_, data_, shards_);
    ASSERT_EQ(shards_.size(), kDevicesOfRanks);
    set_strategy("fedavg");
    fleet_.devices = kDevicesOfRanks;
    fleet_.dropout = 0.2;
    fleet_.examples_of = [](uint32_t) { return 100; };
  }
  void set_strategy(const std::string& name) {
    job_ = {};
    job_.training = {.batch_size = 16, .local_epochs = 2};
    job_.strategy = StrategySettings::of(name);
    if (name != "fedavg") {
      job_.strategy = job_.strategy.with("population_size", kDevicesOfRanks);
      job_.update.weight_max = 1;
    }
    job_.privacy.level = SecurityLevel::none;
    job_.rounds.goal_count = 4;
    ASSERT_TRUE(validate(job_).empty());
  }
  std::string kept() const { return directory_ / "checkpoint"; }

  // One rank to the end of `rounds`; with a checkpoint behind each, if `keeps`, from the one that is there.
  RankEnd live(Ranks& ranks, uint64_t rounds, bool keeps, char identity) const {
    CohortTrainer trainer(shards_, 1, 1, [](uint64_t) {});
    RankedCohort cohort(trainer, ranks);
    test::TemporaryDirectory blobs;
    Result<Simulation> simulation =
        Simulation::begin(job_, data_.model, data_.held_out, blobs / "blobs", fleet_, cohort, ranks.rank() == 0);
    if (!simulation) return {.status = simulation.error()};
    Checkpoint checkpoint(kept(), content_digest(as_bytes({&identity, 1})), ranks);
    RankEnd end;
    SimulationStory story;
    if (keeps && os::exists(kept() + "/checkpoint.json")) {
      Result<SimulationStory> told = checkpoint.go_on(*simulation, trainer);
      if (!told) return {.status = told.error()};
      story = std::move(*told);
    }
    while (simulation->rounds_done() < rounds) {
      const Result<SimulatedRound> round = simulation->attempt();
      if (!round) return {.status = round.error()};
      story.attempts.push_back(round->report);
      if (!keeps || round->plan.is_failed) continue;
      if (Result<bool> there = checkpoint.is_there(); !there) return {.status = there.error()};
      if (Status written = checkpoint.write(*simulation, trainer, story); !written) return {.status = written};
    }
    for (const RoundReport& report : story.attempts) end.losses.push_back(report.train_loss.value_or(0));
    const Result<Bytes> model = simulation->model();
    end.model = content_digest(*model).hex();
    const auto values = payload_as<float>(decode_model(*model)->payload);
    end.values.assign(values.begin(), values.end());
    return end;
  }
  std::vector<RankEnd> simulate(uint32_t ranks, uint64_t rounds = kRoundsOfRanks, bool keeps = false,
                                char identity = 'a') const {
    Meeting meeting(ranks);
    std::vector<RankEnd> ends(ranks);
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < ranks; ++i) {
      threads.emplace_back([&, i] {
        ThreadRank rank(meeting, i);
        ends[i] = live(rank, rounds, keeps, identity);
      });
    }
    threads.clear();
    return ends;
  }

  nlohmann::json head() const {
    const Result<Bytes> text = os::read_file(kept() + "/checkpoint.json", 1 << 26);
    EXPECT_OK(text);
    return nlohmann::json::parse(as_text(*text));
  }
  // What comes of going on from this checkpoint.json, until `rounds` are done.
  Status going_on_from(const nlohmann::json& changed, uint64_t rounds = 0) const {
    EXPECT_OK(os::write_file_atomically(kept() + "/checkpoint.json", as_bytes(changed.dump())));
    return simulate(1, rounds, true)[0].status;
  }

  TemporaryDirectory directory_{memory_disk()};
  DemoData data_;
  std::vector<std::string> shards_;
  HorizontalSettings job_;
  VirtualFleet fleet_;
};

}  // namespace coterie::test
