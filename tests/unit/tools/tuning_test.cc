#include "tools/tune/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/os/file.h"
#include "base/random.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tools/tune/tune_jobs.h"

namespace coterie {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TEST(TuneRungs, TwentySevenArmsOf81RoundsTake189) {
  const auto rungs = tune_rungs({.arms = 27, .rounds_max = 81});
  ASSERT_OK(rungs);
  EXPECT_THAT(*rungs, ElementsAre(TuneRung{27, 3, 3}, TuneRung{9, 9, 6}, TuneRung{3, 27, 18}));
  EXPECT_EQ(rounds_of(*rungs), 189u);
  const auto finished = tune_rungs({.arms = 27, .rounds_max = 81, .finishes = true});
  ASSERT_OK(finished);
  EXPECT_EQ(finished->back(), (TuneRung{1, 81, 54}));
  EXPECT_EQ(rounds_of(*finished), 189u + 54);
}

// Whatever the numbers: it ends, no rung is empty, and each arm has at most all rounds.
TEST(TuneRungs, EndWhateverTheNumbers) {
  for (uint64_t arms = 2; arms <= 64; ++arms) {
    for (const uint32_t eta : {2u, 3u, 5u, 16u}) {
      for (const uint32_t first : {1u, 3u, 10u}) {
        for (const bool finishes : {false, true}) {
          const auto rungs =
              tune_rungs({.arms = arms, .eta = eta, .rounds_first = first, .rounds_max = 10, .finishes = finishes});
          ASSERT_OK(rungs);
          EXPECT_EQ(rungs->front().arms, arms);
          EXPECT_LE(rounds_of(*rungs), arms * 10);
          uint32_t reached = 0;
          for (const TuneRung& rung : *rungs) {
            EXPECT_GE(rung.arms, 1u);
            EXPECT_GE(rung.added, 1u);
            EXPECT_EQ(rung.rounds, reached + rung.added);
            reached = rung.rounds;
          }
          EXPECT_LE(reached, 10u);
          EXPECT_TRUE(reached == 10 || (!finishes && rungs->back().arms <= eta));
        }
      }
    }
  }
}

TEST(TuneRungs, SayWhatIsWrong) {
  EXPECT_ERROR(tune_rungs({.arms = 1, .rounds_max = 9}), ErrorCode::invalid_argument, "nothing is to be chosen");
  EXPECT_ERROR(tune_rungs({.arms = 3, .eta = 1, .rounds_max = 9}), ErrorCode::invalid_argument, "eta must be in");
  EXPECT_ERROR(tune_rungs({.arms = 3, .rounds_first = 10, .rounds_max = 9}), ErrorCode::invalid_argument,
               "[1, 9], the job's rounds.count, are 10");
}

TEST(ArmScore, IsByAccuracyThenErrorThenLoss) {
  EXPECT_TRUE(is_better({.accuracy = 0.9, .loss = 5}, {.accuracy = 0.8, .loss = 1}));
  EXPECT_TRUE(is_better({.accuracy = 0.9, .loss = 1}, {.accuracy = 0.9, .loss = 2}));
  EXPECT_TRUE(is_better({.mae = 1, .loss = 2}, {.mae = 2, .loss = 1}));
  EXPECT_TRUE(is_better({.loss = 1}, {})) << "what is not known is worse than anything";
  EXPECT_TRUE(is_better({.loss = 1}, {.loss = std::nan("")}));
  EXPECT_FALSE(is_better({}, {}));
  EXPECT_FALSE(is_better({.loss = 1}, {.loss = 1}));
}

Tuning tuning_of(uint64_t arms, uint32_t rounds_max, bool finishes = false) {
  return Tuning("t", "request", tune_rungs({.arms = arms, .rounds_max = rounds_max, .finishes = finishes}).value());
}

TEST(Tuning, GoesOnWithTheBestFromTheirModels) {
  Tuning tuning = tuning_of(9, 9);
  EXPECT_EQ(tuning.to_begin().size(), 9u);
  EXPECT_EQ(tuning.job_name(8), "t-1-9");
  EXPECT_EQ(tuning.model_before(4), "") << "the job's own";
  for (size_t arm = 0; arm < 9; ++arm) {
    tuning.began(arm, "j" + std::to_string(arm));
    const double accuracy = arm == 2 || arm == 5 || arm == 7 ? 0.9 : 0.1;
    tuning.ended(arm, {.accuracy = accuracy}, "m" + std::to_string(arm));
  }
  EXPECT_THAT(tuning.to_begin(), ElementsAre(2, 5, 7));
  EXPECT_EQ(tuning.model_before(5), "m5");
  EXPECT_EQ(tuning.job_name(5), "t-2-6");
  for (const size_t arm : {2, 5, 7}) {
    tuning.began(arm, "k" + std::to_string(arm));
    tuning.ended(arm, {.accuracy = 0.9, .loss = 8.0 - static_cast<double>(arm)}, "n");
  }
  EXPECT_TRUE(tuning.is_over());
  EXPECT_EQ(tuning.best()->arm, 7u);
  EXPECT_EQ(tuning.rounds_spent(), 9u * 3 + 3 * 6);
}

TEST(Tuning, EndsWithFewerSurvivorsAndWithNone) {
  Tuning tuning = tuning_of(9, 9);
  for (size_t arm = 0; arm < 9; ++arm) {
    if (arm != 6) tuning.failed(arm, "too few devices");
  }
  tuning.began(6, "j");
  tuning.ended(6, {.loss = std::nan("")}, "m");
  EXPECT_THAT(tuning.to_begin(), ElementsAre(6)) << "the only one that did not fail";
  tuning.failed(6, "gone");
  EXPECT_TRUE(tuning.is_over());
  EXPECT_EQ(tuning.best()->job, "j") << "of the rung before";

  Tuning none = tuning_of(2, 9);
  none.failed(0, "x");
  none.failed(1, "x");
  EXPECT_TRUE(none.is_over());
  EXPECT_FALSE(none.best());
}

TEST(TuningState, ThatIsDamagedIsRefused) {
  const json whole = tuning_of(9, 9).to_json();
  ASSERT_OK(Tuning::from_json(whole));
  for (const char* const key : {"schema", "id", "request", "rungs", "runs"}) {
    json damaged = whole;
    damaged.erase(key);
    EXPECT_ERROR(Tuning::from_json(damaged), ErrorCode::malformed, "") << key;
    damaged[key] = 7;
    EXPECT_ERROR(Tuning::from_json(damaged), ErrorCode::malformed, "") << key;
  }
  for (const char* const run :
       {R"({"arm": 9})", R"({"arm": 1})", R"({"arm": -1})", R"({"arm": 0, "ended": true})", "3"}) {
    json damaged = whole;
    damaged["runs"][0][0] = json::parse(run);
    EXPECT_ERROR(Tuning::from_json(damaged), ErrorCode::malformed, "") << run;
  }
  json damaged = whole;
  damaged["runs"].push_back(whole["runs"][0]);
  EXPECT_ERROR(Tuning::from_json(damaged), ErrorCode::malformed, "") << "a rung before has not ended";
  EXPECT_ERROR(Tuning::from_json(json::array()), ErrorCode::malformed, "");
}

// A server whose jobs take some looks; it "kills" the driver by failing one call.
class FakeServer final : public TuneServer {
 public:
  Result<std::vector<std::pair<std::string, std::string>>> names() override {
    COT_TRY(live());
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& [id, job] : jobs) names.emplace_back(job.name, id);
    return names;
  }
  Result<std::string> create(const json& spec) override {
    COT_TRY(live());
    const std::string id = "j" + std::to_string(jobs.size());
    const std::string name = spec.at("name");
    EXPECT_TRUE(made.insert(name).second) << name << " is made twice";
    jobs[id] = {name, spec.at("model"), spec.at("rounds").at("count"), spec.at("arm"), 2};
    rounds += jobs[id].rounds;
    most = std::max(
        most, static_cast<size_t>(std::ranges::count_if(jobs, [](const auto& one) { return one.second.looks > 0; })));
    COT_TRY(live());  // made, and nobody hears of it
    return id;
  }
  Result<TuneJob> look(const std::string& id) override {
    COT_TRY(live());
    Job& job = jobs.at(id);
    if (job.looks > 0 && --job.looks > 0) return TuneJob{id, "running", ""};
    return TuneJob{id, job.arm == 4 ? "failed" : "completed", "why"};
  }
  Result<std::pair<ArmScore, std::string>> last_model(const std::string& id) override {
    COT_TRY(live());
    const Job& job = jobs.at(id);
    return std::pair(ArmScore{.accuracy = static_cast<double>(job.arm) / 100}, job.model + "+" + id);
  }
  Status wait() override { return live(); }
  Status live() {
    if (calls_left == 0) return Error(ErrorCode::cancelled, "killed");
    if (calls_left > 0) --calls_left;
    return {};
  }

  struct Job {
    std::string name, model;
    uint32_t rounds = 0;
    size_t arm = 0;
    int looks = 0;
  };
  std::map<std::string, Job> jobs;
  std::set<std::string> made;
  uint64_t rounds = 0;
  size_t most = 0;
  int calls_left = -1;  // below 0: no end
};

TuneRequest request_for(const std::string& file, size_t arms) {
  TuneRequest request{.state_file = file, .specs = {}, .parallel = 4};
  for (size_t arm = 0; arm < arms; ++arm) request.specs.push_back({{"model", "m"}, {"arm", arm}});
  return request;
}

constexpr auto kTellsNobody = [](const Tuning&, size_t, size_t) {};

TEST(TuneJobs, MakeEachOnceAndSomeAtATime) {
  const test::TemporaryDirectory directory(test::memory_disk());
  FakeServer server;
  Tuning tuning = tuning_of(27, 81);
  ASSERT_OK(run_tuning(tuning, request_for(directory / "state", 27), server, kTellsNobody));
  EXPECT_EQ(server.jobs.size(), 27u + 9 + 3);
  EXPECT_EQ(server.rounds, 189u);
  EXPECT_EQ(server.most, 4u);
  EXPECT_EQ(tuning.best()->arm, 26u);
  EXPECT_EQ(tuning.best()->model.substr(0, 2), "m+") << "from its own models";
  EXPECT_EQ(tuning.rounds_spent(), 186u) << "arm 5 has failed in the first rung";
}

// Killed at each call once: in the end the same, and nothing made twice.
TEST(TuneJobs, GoOnWhereverTheDriverIsKilled) {
  for (int kill = 0;; ++kill) {
    const test::TemporaryDirectory directory(test::memory_disk());
    const std::string file = directory / "state";
    FakeServer server;
    server.calls_left = kill;
    Tuning first = tuning_of(9, 9);
    const std::vector<TuneRung> rungs = first.rungs();
    const Status ended = run_tuning(first, request_for(file, 9), server, kTellsNobody);
    server.calls_left = -1;
    auto again = open_tuning(file, "other", "request", rungs);
    ASSERT_OK(again);
    ASSERT_EQ(again->id(), "t") << "names of jobs stay as they are";
    ASSERT_OK(run_tuning(*again, request_for(file, 9), server, kTellsNobody)) << kill;
    ASSERT_EQ(server.jobs.size(), 9u + 3) << "killed at call " << kill;
    ASSERT_EQ(again->best()->arm, 8u);
    if (ended) break;
    ASSERT_LT(kill, 1'000);
  }
}

TEST(TuneJobs, RefuseTheStateOfAnotherRequest) {
  const test::TemporaryDirectory directory(test::memory_disk());
  const std::string file = directory / "state";
  const Tuning tuning = tuning_of(9, 9);
  ASSERT_OK(os::write_file_atomically(file, as_bytes(tuning.to_json().dump())));
  EXPECT_OK(open_tuning(file, "x", "request", tuning.rungs()));
  EXPECT_ERROR(open_tuning(file, "x", "another", tuning.rungs()), ErrorCode::conflict, "of another request");
  EXPECT_ERROR(open_tuning(file, "x", "request", tuning_of(9, 81, true).rungs()), ErrorCode::conflict, "");
  ASSERT_OK(os::write_file_atomically(file, as_bytes("{")));
  EXPECT_ERROR(open_tuning(file, "x", "request", tuning.rungs()), ErrorCode::malformed, file + ": it is not JSON");
}

}  // namespace
}  // namespace coterie
