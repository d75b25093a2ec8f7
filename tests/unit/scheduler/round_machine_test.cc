#include "scheduler/round/round_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/support/paths.h"
#include "tests/unit/scheduler/round_script.h"

namespace coterie {
namespace {

const std::filesystem::path kScripts = test::source_dir() + "/tests/golden/rounds";

std::vector<std::string> script_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kScripts)) names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

class RoundScript : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(RoundMachine, RoundScript, testing::ValuesIn(script_names()),
                         [](const auto& parameter) { return parameter.param; });

std::string script_named(const std::string& name) {
  std::ifstream stream(kScripts / name);
  std::ostringstream script;
  script << stream.rdbuf();
  return script.str();
}

TEST_P(RoundScript, GoesAsWritten) {
  const std::string name = GetParam() + ".txt";
  const std::string played = test::play_round_script(script_named(name));
  EXPECT_EQ(played.find("  > ERROR"), std::string::npos) << "a line of the script is not understood:\n" << played;
  test::expect_golden_text("rounds/" + name, played);
}

TEST_P(RoundScript, ComesToItsEndWhateverFailsAtAnyStep) {
  int replays = 0;
  for (const std::string& problem : test::play_with_failures(script_named(GetParam() + ".txt"), replays)) {
    ADD_FAILURE() << problem;
  }
  EXPECT_GT(replays, 10) << "a script without steps shows nothing";
}

TEST(RoundScripts, AreThere) { EXPECT_GE(script_names().size(), 16u); }

// ---- What a script does not show

JobProgress fresh_job() {
  JobProgress progress;
  progress.job.id = JobId("j");
  progress.job.value_count = 5;
  progress.job.plan_bytes = 77;
  progress.job.spec.common.population = Population("phones");
  progress.job.spec.common.weight = 3;
  progress.head.digest.bytes.fill(9);
  progress.head.bytes = 1'000;
  progress.head.version = ModelVersion(4);
  return progress;
}

TEST(RoundMachine, PublishesEverythingANodeMustKnow) {
  RoundMachine machine(JobId("j"));
  machine.start();
  JobProgress job = fresh_job();
  job.job.spec.horizontal().rounds.selection = SelectionSettings::of("utility");
  machine.step(ProgressLoaded{1, job}, Instant(Millis(10)));
  RoundRecord round;
  round.key = {RoundId(3), Attempt(2)};
  round.number = 8;
  round.ledger.records = 6;
  round.ledger.head.bytes.fill(5);
  const RoundEffects effects = machine.step(RoundOpened{2, round}, Instant(Millis(20)));
  ASSERT_EQ(effects.size(), 1u);
  const auto& [notice, rules] = std::get<PublishRound>(effects[0]);
  // Every field by name: one that is added must be looked at here.
  const auto& [job_id, population, key, number, state, assignment, plan, weight, tickets, extensions, goal, keeps,
               selection, due] = notice;
  EXPECT_EQ(job_id, JobId("j"));
  EXPECT_EQ(population, Population("phones"));
  EXPECT_EQ(key, round.key);
  EXPECT_EQ(number, 8u);
  EXPECT_EQ(state, RoundState::selecting);
  const auto& [of_job, of_round, version, plan_digest, model, plan_bytes, model_bytes, not_after, ticket, signature] =
      assignment;
  EXPECT_EQ(of_job, JobId("j"));
  EXPECT_EQ(of_round, round.key);
  EXPECT_EQ(version, ModelVersion(4));
  EXPECT_EQ(plan_digest, job.job.plan);
  EXPECT_EQ(model, job.head.digest);
  EXPECT_EQ(plan_bytes, 77u);
  EXPECT_EQ(model_bytes, 1'000u);
  EXPECT_EQ(not_after, WallTime()) << "whoever serves the round says";
  EXPECT_TRUE(ticket.empty());
  EXPECT_TRUE(signature.empty());
  Plan promised = plan_of(job.job.spec.horizontal(), JobId("j"), 5);
  promised.ledger = round.ledger;
  EXPECT_EQ(plan, promised);
  EXPECT_EQ(weight, 3u);
  EXPECT_EQ(tickets, 10u);
  EXPECT_EQ(extensions, 0u);
  EXPECT_EQ(goal, 10u);
  EXPECT_EQ(due, std::nullopt) << "known once masks are";
  EXPECT_FALSE(keeps);
  EXPECT_EQ(selection, SelectionSettings::of("utility"));
  const auto& [cohorts, adverts, least, draws_cohorts, phase_max, is_resumed, deadline] = rules;
  EXPECT_FALSE(draws_cohorts) << "no rule compares them";
  EXPECT_EQ(least, 0u) << "rounds are synchronous";
  EXPECT_FALSE(is_resumed);
  EXPECT_EQ(cohorts, cohort_count(job.job.spec.horizontal()));
  EXPECT_EQ(adverts, adverts_goal(job.job.spec.horizontal()));
  EXPECT_EQ(phase_max, job.job.spec.horizontal().privacy.phase_max);
  EXPECT_EQ(deadline, Instant(Millis(10'020)));
}

TEST(RoundMachine, HasCohortsDrawnWhereARuleComparesThem) {
  RoundMachine machine(JobId("j"));
  machine.start();
  JobProgress job = fresh_job();
  HorizontalSettings& settings = job.job.spec.horizontal();
  settings.aggregation = AggregationSettings::of("median");
  settings.privacy.level = SecurityLevel::masked;
  machine.step(ProgressLoaded{1, job}, Instant(Millis(10)));
  RoundRecord round;
  round.key = {RoundId(3), Attempt(2)};
  const RoundEffects effects = machine.step(RoundOpened{2, round}, Instant(Millis(20)));
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_TRUE(std::get<PublishRound>(effects[0]).rules.draws_cohorts);
  EXPECT_TRUE(std::get<PublishRound>(effects[0]).notice.keeps_updates);
}

// The plan of a round is the same in each attempt, and with whoever leads then.
TEST(RoundMachine, PromisesTheLearningRateOfTheRound) {
  JobProgress job = fresh_job();
  HorizontalSettings& settings = job.job.spec.horizontal();
  settings.training.optimizer.learning_rate = 0.4f;
  settings.schedules.device = {.kind = RateScheduleKind::exponential, .gamma = 0.5};
  job.job.rounds_done = 2;
  const auto rate_of = [&](uint32_t attempt) {
    RoundMachine machine(JobId("j"));
    machine.start();
    job.latest.emplace();
    job.latest->key = {RoundId(3), Attempt(attempt)};
    job.latest->number = 3;
    job.latest->state = RoundState::collecting;
    for (const RoundEffect& effect : machine.step(ProgressLoaded{1, job}, Instant())) {
      const auto* const round = std::get_if<PublishRound>(&effect);
      if (round != nullptr) return round->notice.plan.training.optimizer.learning_rate;
    }
    return 0.0f;
  };
  EXPECT_EQ(rate_of(1), 0.1f);
  EXPECT_EQ(rate_of(4), 0.1f);
}

TEST(RoundMachine, ShowsItsRoundOnceItIsLoaded) {
  RoundMachine machine(JobId("j"));
  EXPECT_EQ(machine.job_id(), JobId("j"));
  EXPECT_FALSE(machine.round().has_value());
  machine.start();
  JobProgress job = fresh_job();
  job.latest.emplace();
  job.latest->key = {RoundId(3), Attempt(1)};
  job.latest->state = RoundState::collecting;
  job.accepted = 4;
  machine.step(ProgressLoaded{1, job}, Instant(Millis(0)));
  ASSERT_TRUE(machine.round().has_value());
  EXPECT_EQ(machine.round()->key.round, RoundId(3));
  EXPECT_EQ(machine.accepted(), 4u);
  EXPECT_FALSE(machine.ended());
}

// What devices have left of a buffered round is over, wherever the one that led has gone.
TEST(RoundMachine, SaysOfABufferThatItCollectedBefore) {
  for (const RoundPolicyKind policy : {RoundPolicyKind::buffered, RoundPolicyKind::synchronous}) {
    for (const RoundState state : {RoundState::selecting, RoundState::collecting}) {
      RoundMachine machine(JobId("j"));
      machine.start();
      JobProgress job = fresh_job();
      job.job.spec.horizontal().rounds.policy = policy;
      job.job.spec.horizontal().privacy.level = SecurityLevel::masked;
      job.latest.emplace();
      job.latest->key = {RoundId(3), Attempt(1)};
      job.latest->number = 1;
      job.latest->state = state;
      const RoundEffects effects = machine.step(ProgressLoaded{1, job}, Instant(Millis(0)));
      ASSERT_FALSE(effects.empty());
      const bool is_resumed = policy == RoundPolicyKind::buffered && state == RoundState::collecting;
      EXPECT_EQ(std::get<PublishRound>(effects[0]).rules.is_resumed, is_resumed);
    }
  }
}

// Its sessions are this machine's: the answer of the move alone was lost, or another command made it look again.
TEST(RoundMachine, HasNotResumedABufferThatItBeganItself) {
  RoundMachine machine(JobId("j"));
  machine.start();
  JobProgress job = fresh_job();
  job.job.spec.horizontal().rounds.policy = RoundPolicyKind::buffered;
  job.job.spec.horizontal().privacy.level = SecurityLevel::masked;
  job.latest.emplace();
  job.latest->key = {RoundId(3), Attempt(1)};
  job.latest->number = 1;
  machine.step(ProgressLoaded{1, job}, Instant(Millis(0)));
  machine.step(PoolChanged{5}, Instant(Millis(1)));
  machine.step(RoundMoved{2, false}, Instant(Millis(2)));  // done before: by its own move
  job.latest->state = RoundState::collecting;
  const RoundEffects effects = machine.step(ProgressLoaded{3, job}, Instant(Millis(3)));
  ASSERT_FALSE(effects.empty());
  const auto& published = std::get<PublishRound>(effects[0]);
  EXPECT_EQ(published.notice.state, RoundState::collecting);
  EXPECT_FALSE(published.rules.is_resumed);
}

// What the machine asks for behind an attempt that failed for this reason.
RoundRequest behind_attempt(uint32_t attempt, const std::string& reason) {
  RoundMachine machine(JobId("j"));
  machine.start();
  JobProgress job = fresh_job();
  job.latest.emplace();
  job.latest->key = {RoundId(3), Attempt(attempt)};
  job.latest->number = 1;
  job.latest->state = RoundState::failed;
  job.latest->reason = reason;
  RoundEffects effects = machine.step(ProgressLoaded{1, job}, Instant(Millis(0)));
  if (effects.empty()) effects = machine.step(TimePassed{}, Instant(Millis(60'000)));
  return effects.empty() ? RoundRequest() : std::get<AskRound>(effects[0]).request;
}

TEST(RoundMachine, FailsNoJobForRestarts) {
  const uint32_t max = fresh_job().job.spec.horizontal().rounds.attempts_max;
  EXPECT_TRUE(std::holds_alternative<FailJob>(behind_attempt(max, "too few shares")));
  EXPECT_TRUE(std::holds_alternative<OpenRound>(behind_attempt(max, kAttemptStartedAnew)));
  EXPECT_TRUE(std::holds_alternative<OpenRound>(behind_attempt(max + 99, kAttemptStartedAnew)));
  EXPECT_TRUE(std::holds_alternative<FailJob>(behind_attempt(max + 100, kAttemptStartedAnew))) << "it kills its server";
  EXPECT_TRUE(std::holds_alternative<FailJob>(behind_attempt(max + 1, "too few shares")));
}

TEST(RoundMachine, IsNotConfusedByAClockThatGoesBack) {
  RoundMachine machine(JobId("j"));
  machine.start();
  machine.step(ProgressLoaded{1, fresh_job()}, Instant(Millis(5'000)));
  RoundRecord round;
  round.key = {RoundId(3), Attempt(1)};
  round.number = 1;
  machine.step(RoundOpened{2, round}, Instant(Millis(1'000)));
  EXPECT_EQ(machine.next_deadline(), Instant(Millis(15'000))) << "counted from the latest time it has seen";
}

// ---- Attempts with secure aggregation

// A machine that collects, and the last request it made.
struct CollectingRound {
  explicit CollectingRound(uint32_t goal_count_min, SecurityLevel level = SecurityLevel::active) {
    machine.start();
    JobProgress job = fresh_job();
    job.job.spec.horizontal().rounds.goal_count_min = goal_count_min;
    job.job.spec.horizontal().privacy.level = level;
    job.latest.emplace();
    job.latest->key = key;
    job.latest->number = 1;
    job.latest->state = RoundState::collecting;
    step(ProgressLoaded{1, job});
  }
  void step(const RoundEvent& event) {
    for (const RoundEffect& effect : machine.step(event, Instant(Millis(7)))) {
      if (const auto* asked = std::get_if<AskRound>(&effect)) last = *asked;
    }
  }
  const MoveRound* move() const { return last ? std::get_if<MoveRound>(&last->request) : nullptr; }

  RoundKey key{RoundId(3), Attempt(1)};
  RoundMachine machine{JobId("j")};
  std::optional<AskRound> last;
};

// The goal may be fewer than those who must open the masks.
TEST(RoundMachine, WaitsForAllWhoMaskedThoughTheGoalIsReached) {
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::masked, SecurityLevel::active}) {
    CollectingRound round(4, level);
    round.step(UpdatesAccepted{round.key, 12});
    EXPECT_EQ(round.move() != nullptr, level == SecurityLevel::none) << to_string(level);
    round.step(UpdatesExpected{round.key, 13});
    ASSERT_NE(round.move(), nullptr);
    EXPECT_EQ(round.move()->to, RoundState::frozen);
  }
}

TEST(RoundMachine, FreezesAtOnceWhenNoMoreUpdatesCanCome) {
  CollectingRound round(4);
  round.step(UpdatesExpected{{RoundId(3), Attempt(2)}, 5});
  EXPECT_EQ(round.move(), nullptr) << "of another attempt";
  round.step(UpdatesExpected{round.key, 5});
  ASSERT_NE(round.move(), nullptr);
  EXPECT_EQ(round.move()->to, RoundState::frozen);
  EXPECT_EQ(round.machine.accepted(), 5u);
}

TEST(RoundMachine, FailsAnAttemptThatCannotReachItsLeast) {
  CollectingRound round(4);
  round.step(UpdatesExpected{round.key, 3});
  ASSERT_NE(round.move(), nullptr);
  EXPECT_EQ(round.move()->to, RoundState::failed);
  EXPECT_EQ(round.move()->reason, "only 3 devices stayed to the end, 4 are needed");
}

TEST(RoundMachine, FailsAnAttemptWhoseMasksStay) {
  CollectingRound round(4);
  round.step(AttemptLost{round.key, "too few shares"});
  ASSERT_NE(round.move(), nullptr);
  EXPECT_EQ(round.move()->to, RoundState::failed);
  EXPECT_EQ(round.move()->reason, "too few shares");
}

TEST(RoundMachine, FailsAFrozenAttemptWhoseMasksStay) {
  CollectingRound round(4);
  round.step(UpdatesExpected{round.key, 5});
  round.step(RoundMoved{round.last->serial, true});  // frozen
  round.step(AttemptLost{round.key, "while it claims: the store is asked for something else"});
  EXPECT_EQ(round.move()->to, RoundState::finalizing);
  round.step(RoundMoved{round.last->serial, true});
  ASSERT_TRUE(std::holds_alternative<FinalizeRound>(round.last->request));
  round.step(AttemptLost{round.key, "too few shares"});
  ASSERT_NE(round.move(), nullptr);
  EXPECT_EQ(round.move()->to, RoundState::failed);
}

}  // namespace
}  // namespace coterie
