// A canary that names an evaluation job hears its rounds: each device of each round once, whoever tells it how often.
#include "fl_server/runtime/canary_feeder.h"

#include <gmock/gmock.h>

#include <cstring>

#include "fl_server/events/event_hub.h"
#include "proto/codec/analytics_table.h"
#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "tests/support/memory_blob_store.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;

constexpr uint32_t kRounds = 4;
const JobId kModels("j"), kJudge("e");

class FedCanary : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(store().create_job(job_record("j"), model_record("j", 0)));
    play_round(job_record("j"), model_record("j", 1));
    ASSERT_OK(store().promote_model(kModels, ModelVersion(0), wall(10)));
    ASSERT_OK(store().create_job(judge_, table(0)));
  }
  SqlTrainingStore& store() { return backend_.store(); }

  static JobRecord judging(std::vector<Digest> models) {
    JobRecord job = job_record("e");
    HorizontalSettings& settings = job.spec.horizontal();
    settings.rounds.count = settings.rounds.separation_min = kRounds;
    AnalyticsRules rules{.kind = AnalyticsKind::evaluation, .input_values = 4, .values_max = 16};
    rules.evaluation = EvaluationRules{.models = {}, .classes = 2, .score_bins = 0};
    for (const Digest& digest : models) rules.evaluation->models.push_back({digest, 100});
    rules.lane_max = evaluation_lane_max(rules.values_max);
    settings.analytics = AnalyticsSettings{.rules = std::move(rules), .classes = {"a", "b"}};
    return job;
  }

  // The table as it is now, as a version of the job's model.
  ModelRecord table(uint64_t version) {
    const AnalyticsRules rules = rules_of(*judge_.spec.horizontal().analytics);
    Bytes file = new_table(rules);
    lanes_.resize(EvaluationLayout(rules).lanes());
    std::memcpy(file.data() + file.size() - lanes_.size() * sizeof(float), lanes_.data(),
                lanes_.size() * sizeof(float));
    ModelRecord model = model_record("e", version);
    model.digest = *blobs_.put(file);
    return model;
  }
  // A round in which so many devices differ by this step.
  void judge(int32_t step, uint64_t devices) {
    const EvaluationLayout layout(rules_of(*judge_.spec.horizontal().analytics));
    lanes_[layout.difference(step)] += static_cast<float>(devices) * layout.device_unit();
    play_round(judge_, table(++judged_));
  }
  void play_round(const JobRecord& job, const ModelRecord& made) {
    const uint64_t number = made.version.value();
    const ModelRecord base = *store().get_model(job.id, ModelVersion(number - 1));
    const RoundRecord round = *store().open_round(job.id, {number, std::nullopt, Attempt(1), base}, wall(1));
    for (const RoundState to : {RoundState::collecting, RoundState::frozen, RoundState::finalizing}) {
      const auto from = static_cast<RoundState>(static_cast<int>(to) - 1);
      ASSERT_TRUE(*store().move_round({round.key, from, to, "", 0}, wall(2)));
    }
    ASSERT_OK(
        store().commit_round(job.id, {{round.key, made, {3, 30, 300, 1.5, 200, 9}}, number, false, false}, wall(3)));
  }
  Result<CanaryRecord> open(const JobId& job = kJudge, double harm_max = 1) {
    CanarySettings settings{.percent = 50};
    settings.trial.harm_max = harm_max;
    return store().open_canary({.id = "c",
                                .canary = {kModels, ModelVersion(1)},
                                .salt = filled_digest(7),
                                .settings = settings,
                                .evaluation_job = job},
                               wall(20));
  }
  // As another life of a server does.
  void feed(EventHub& events) { CanaryFeeder({store(), store(), store(), blobs_, events}).feed(kJudge); }
  void feed() { feed(events_); }
  CanaryRecord canary() { return *store().get_canary(kModels, "c"); }

  SqliteBackend backend_;
  MemoryBlobStore blobs_;
  EventHub events_{"0123456789abcdef"};
  JobRecord judge_ = judging({model_record("j", 0).digest, model_record("j", 1).digest});
  std::vector<float> lanes_;
  uint64_t judged_ = 0;
};

TEST_F(FedCanary, HearsEachDeviceOfEachRoundOnce) {
  judge(2, 10);  // before there is a canary
  ASSERT_OK(open());
  feed();
  EXPECT_EQ(canary().heard.heard, 10u);
  EXPECT_NEAR(canary().heard.mean_harm(), 0.1, 1e-9);
  judge(0, 30);
  CanaryFeeder lives_on({store(), store(), store(), blobs_, events_});
  for (int i = 0; i < 3; ++i) lives_on.feed(kJudge);
  EXPECT_EQ(canary().heard.heard, 40u);
  feed();
  feed();
  lives_on.feed_all();
  EXPECT_EQ(canary().heard.heard, 40u) << "other lives tell all rounds again";
  EXPECT_NEAR(canary().heard.mean_harm(), 0.025, 1e-9);
  EXPECT_EQ(canary().state, CanaryState::running);
}

// A round of more devices than one transaction takes, of which a killed server has told a part.
TEST_F(FedCanary, GoesOnWhereAKilledServerStopped) {
  ASSERT_OK(open());
  judge(0, 1'500);
  judge(-1, 1'500);
  std::vector<CanaryObservation> part;
  for (size_t i = 0; i < 700; ++i) part.push_back({"evaluation.e.1." + std::to_string(i), {.both = 100}});
  ASSERT_OK(store().observe_canary(kModels, "c", part, wall(30)));
  feed();
  EXPECT_EQ(canary().heard.heard, 3'000u);
  EXPECT_EQ(canary().state, CanaryState::running);
  feed();
  EXPECT_EQ(canary().heard.heard, 3'000u);
}

TEST_F(FedCanary, IsTakenBackWhereItsVersionIsWorseAndAlone) {
  ASSERT_OK(open());
  judge(6, 200);  // 30 points of accuracy
  feed();
  EXPECT_EQ(canary().state, CanaryState::rolled_back);
  const uint32_t heard = canary().heard.heard;
  EXPECT_LT(heard, 200u) << "no more is heard than it takes";
  judge(6, 200);
  feed();
  EXPECT_EQ(canary().heard.heard, heard);
}

TEST_F(FedCanary, StaysWhereItsVersionIsAsGood) {
  ASSERT_OK(open());
  for (uint32_t round = 0; round < kRounds; ++round) judge(round % 2 == 0 ? 1 : -1, 100);
  feed();
  EXPECT_EQ(canary().state, CanaryState::running);
  EXPECT_EQ(canary().heard.heard, 100u * kRounds);
}

TEST_F(FedCanary, NamesAJobThatComparesWhatItGivesToDevices) {
  EXPECT_ERROR(open(JobId("nobody")), ErrorCode::not_found, "has no job nobody");
  EXPECT_ERROR(open(kModels), ErrorCode::conflict, "it evaluates no two models");
  EXPECT_ERROR(open(kJudge, 0.25), ErrorCode::conflict, "its harm_max is above the canary's");
  const auto with = [&](const std::string& id, JobRecord job) {
    job.id = JobId(id);
    ModelRecord initial = table(0);
    initial.job = job.id;
    EXPECT_OK(store().create_job(job, initial));
    return job.id;
  };
  const Digest before = model_record("j", 0).digest, after = model_record("j", 1).digest;
  EXPECT_ERROR(open(with("swapped", judging({after, before}))), ErrorCode::conflict, "must compare the canary's");
  EXPECT_ERROR(open(with("alone", judging({after}))), ErrorCode::conflict, "it evaluates no two models");
  JobRecord elsewhere = judging({before, after});
  elsewhere.spec.common.population = Population("tablets");
  EXPECT_ERROR(open(with("elsewhere", elsewhere)), ErrorCode::not_found, "has no job elsewhere");
  JobRecord again = judging({before, after});
  again.spec.horizontal().rounds.separation_min = 1;
  EXPECT_ERROR(open(with("again", again)), ErrorCode::conflict, "may ask devices again");
  JobRecord once = judging({before, after});
  once.spec.horizontal().rounds.count = 1;
  once.spec.horizontal().rounds.separation_min = 0;
  EXPECT_OK(open(with("once", once)));
}

}  // namespace
}  // namespace coterie
