#include "scheduler/job/round_terms.h"

#include <gtest/gtest.h>

namespace coterie {
namespace {

HorizontalSettings job_with_schedules() {
  HorizontalSettings job;
  job.rounds.count = 10;
  job.training.optimizer.learning_rate = 0.4f;
  job.strategy = StrategySettings::of("fedavgm").with("server_learning_rate", 0.5f).with("momentum", 0.8f);
  job.schedules.device = {.kind = RateScheduleKind::step, .period = 2, .gamma = 0.5};
  job.schedules.server = {.kind = RateScheduleKind::constant, .warmup_rounds = 4};
  return job;
}

Plan plan_of_round(const HorizontalSettings& job, const RoundFacts& facts) {
  return with_terms(plan_of(job, JobId("job"), 100), terms_of(job, facts));
}

TEST(RoundTerms, OfAJobWithoutSchedulesAreItsOwn) {
  HorizontalSettings job = job_with_schedules();
  job.schedules = {};
  const Plan plan = plan_of(job, JobId("job"), 100);
  for (const uint64_t number : {1u, 2u, 10u}) {
    EXPECT_EQ(plan_of_round(job, {.number = number}), plan) << number;
    EXPECT_EQ(strategy_of_round(job, number), job.strategy) << number;
  }
}

TEST(RoundTerms, HaveTheDevicesRateOfTheRound) {
  const HorizontalSettings job = job_with_schedules();
  EXPECT_EQ(plan_of_round(job, {.number = 2}), plan_of(job, JobId("job"), 100));
  Plan expected = plan_of(job, JobId("job"), 100);
  expected.training.optimizer.learning_rate = 0.2f;
  EXPECT_EQ(plan_of_round(job, {.number = 3}), expected) << "and nothing else changes";
}

TEST(RoundTerms, HaveTheServersRateOfTheRound) {
  const HorizontalSettings job = job_with_schedules();
  EXPECT_EQ(strategy_of_round(job, 1), job.strategy.with("server_learning_rate", 0.125f));
  EXPECT_EQ(strategy_of_round(job, 4), job.strategy);
}

TEST(RoundTerms, ListTheDeltasToTheBaseOfAJobThatHasSome) {
  HorizontalSettings job = job_with_schedules();
  const std::vector<DeltaFile> deltas = {{Digest{{1}}, Digest{{2}}, 100}, {Digest{{3}}, Digest{{4}}, 50}};
  const RoundFacts facts = {.number = 5, .deltas = deltas};
  EXPECT_FALSE(plan_of_round(job, facts).download.has_deltas());
  EXPECT_TRUE(plan_of_round(job, facts).download.deltas.empty());
  job.download.bits = 4;
  EXPECT_EQ(plan_of_round(job, facts).download, (DownloadRules{.bits = 4, .deltas = deltas}));
  EXPECT_EQ(terms_in(plan_of_round(job, facts)), terms_of(job, facts));
}

TEST(RoundTerms, AreReadBackFromThePlan) {
  const HorizontalSettings job = job_with_schedules();
  const RoundTerms terms = terms_of(job, {.number = 5, .ledger = {.records = 3, .head = {}}});
  const Plan plan = plan_of(job, JobId("job"), 100);
  EXPECT_EQ(terms_in(with_terms(plan, terms)), terms);
  EXPECT_EQ(with_terms(plan, terms_in(plan)), plan);
}

TEST(RoundTerms, OfASchedulesProblemsAreTheJobs) {
  HorizontalSettings job = job_with_schedules();
  job.schedules.device.gamma = 2;
  job.schedules.server.warmup_rounds = 10;
  std::vector<std::string> pointers;
  for (const Problem& problem : validate(job)) {
    if (problem.pointer.find("schedule") != std::string::npos) pointers.push_back(problem.pointer);
  }
  EXPECT_EQ(pointers, (std::vector<std::string>{"/training/schedule/gamma", "/strategy/schedule/warmup_rounds"}));
}

}  // namespace
}  // namespace coterie
