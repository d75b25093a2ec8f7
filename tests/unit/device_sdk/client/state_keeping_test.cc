// What a device keeps from round to round has its counted updates in it and no others, whatever goes wrong in between.
#include "device_sdk/client/state_keeping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

constexpr DriftCorrection kFedDyn{.kind = CorrectionKind::feddyn, .alpha = 0.1f};

Dialogue dialogue(uint64_t seed = 1) {
  Dialogue d(seed);
  d.correction = kFedDyn;
  return d;
}

void next_round(Dialogue& d) {
  d.version = ModelVersion(d.version.value() + 1);
  d.round = {RoundId(d.round.round.value() + 1), Attempt(1)};
  d.model += "'";
}

std::optional<Digest> kept(const Dialogue& d) {
  const auto found = d.state().states.find(d.job);
  return found == d.state().states.end() ? std::nullopt : std::optional(found->second.slot.content);
}

// One round up to the upload, which is then answered with `error`; none: with the receipt.
void live_round(Dialogue& d, std::optional<ErrorCode> error = {}) {
  d.reach(ParticipantPhase::trained);
  d.tell(error ? d.failed_answer(Error(*error, "the test says so")) : d.good_answer());
  d.skip_wait();
}

TEST(StateKeeping, StagesWhenTrainingEndsAndKeepsWhenTheReceiptIsThere) {
  Dialogue d = dialogue();
  d.reach(ParticipantPhase::training);
  const auto train = std::get<DoTrain>(d.next());
  EXPECT_FALSE(train.state) << "a device that has not trained goes on from zeros";
  const Digest content = Dialogue::state_after(train);
  d.tell(d.good_answer());
  ASSERT_TRUE(d.state().staged);
  EXPECT_EQ(*d.state().staged, (StateSlot{StateKind::feddyn, d.version, train.assignment.model, {}, content}));
  EXPECT_EQ(kept(d), std::nullopt);
  d.tell(d.good_answer());
  EXPECT_FALSE(d.state().staged);
  EXPECT_EQ(kept(d), content);
  EXPECT_EQ(d.state().states.at(d.job).used, d.now);
}

TEST(StateKeeping, TrainsFromWhatWasCountedLastAndNamesIt) {
  Dialogue d = dialogue();
  live_round(d);
  const std::optional<Digest> first = kept(d);
  next_round(d);
  d.reach(ParticipantPhase::training);
  ASSERT_TRUE(std::get<DoTrain>(d.next()).state);
  EXPECT_EQ(std::get<DoTrain>(d.next()).state->content, first);
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().staged->before, first);
  d.tell(d.good_answer());
  EXPECT_NE(kept(d), first);
  EXPECT_EQ(d.state().states.at(d.job).previous->content, first)
      << "until it is known that the attempt came to its end";
}

TEST(StateKeeping, DropsWhatWasStagedWithALostUpdate) {
  for (const ErrorCode code : {ErrorCode::round_closed, ErrorCode::ticket_expired, ErrorCode::refused}) {
    Dialogue d = dialogue();
    live_round(d);
    const std::optional<Digest> first = kept(d);
    next_round(d);
    live_round(d, code);
    EXPECT_EQ(kept(d), first);
    EXPECT_FALSE(d.state().staged);
    next_round(d);
    d.reach(ParticipantPhase::training);
    EXPECT_EQ(std::get<DoTrain>(d.next()).state->content, first);
  }
}

TEST(StateKeeping, GoesOnWithWhatIsStagedAfterARestart) {
  Dialogue d = dialogue();
  d.reach(ParticipantPhase::trained);
  const Digest content = d.state().staged->content;
  d.restart();
  d.tell(d.failed_answer(Error(ErrorCode::unavailable, "down")));
  d.restart();
  EXPECT_EQ(kept(d), std::nullopt);
  d.tell(d.good_answer());
  d.restart();
  EXPECT_EQ(kept(d), content);
}

// A masked attempt may be lost though its devices have their receipts.
TEST(StateKeeping, TakesItBackWhenTheSameModelIsAssignedAgain) {
  Dialogue d = dialogue();
  live_round(d);
  const std::optional<Digest> first = kept(d);
  next_round(d);
  live_round(d);
  d.round.attempt = Attempt(2);
  d.reach(ParticipantPhase::training);
  EXPECT_EQ(std::get<DoTrain>(d.next()).state->content, first);
  d.tell(d.good_answer());
  d.tell(d.good_answer());
  EXPECT_EQ(d.state().states.at(d.job).previous->content, first);

  Dialogue fresh = dialogue();
  live_round(fresh);
  fresh.round.attempt = Attempt(2);
  fresh.reach(ParticipantPhase::training);
  EXPECT_FALSE(std::get<DoTrain>(fresh.next()).state) << "of its first round nothing is left";
}

TEST(StateKeeping, HasNothingForJobsWithoutCorrections) {
  Dialogue d = dialogue();
  d.correction = {};
  d.reach(ParticipantPhase::training);
  d.tell(TrainingEnded{{}, Digest{{1}}});
  EXPECT_FALSE(d.state().staged);
  d.tell(d.good_answer());
  EXPECT_EQ(kept(d), std::nullopt);
}

TEST(StateKeeping, ForgetsTheJobUsedLongestAgoAndThoseOutOfUse) {
  Dialogue d = dialogue();
  for (size_t i = 0; i <= kStatesKeptMax; ++i) {
    d.job = JobId("job" + std::to_string(i));
    live_round(d);
    d.now += Millis(1'000);
  }
  EXPECT_EQ(d.state().states.size(), kStatesKeptMax);
  EXPECT_FALSE(d.state().states.contains(JobId("job0")));
  d.now += kStateUnusedMax;
  d.job = JobId("job7");
  next_round(d);
  d.reach(ParticipantPhase::assigned);
  EXPECT_TRUE(d.state().states.empty());
}

// ---- Any mishap, in any order

// A server as it is: it knows which state each counted update came with. `breaks` does to the device what a broken one
// would do when its training has ended.
int mismatches(uint64_t seed, void (*breaks)(Dialogue&)) {
  Dialogue d = dialogue(seed);
  Prng chance(seed * 7 + 1);
  std::optional<Digest> counted;  // with what the last update came that counts
  int wrong = 0;
  if (seed % 2 == 0) d.privacy = rules_of(SecurityLevel::masked);
  for (int round = 0; round < 12; ++round) {
    const auto before = counted;
    d.reach(ParticipantPhase::training);
    const auto train = std::get<DoTrain>(d.next());
    wrong += counted != (train.state ? std::optional(train.state->content) : std::nullopt);
    if (chance.chance(0.2)) d.restart();
    d.tell(d.good_answer());
    breaks(d);
    if (chance.chance(0.3)) d.restart();
    if (chance.chance(0.3)) d.tell(d.failed_answer(Error(ErrorCode::unavailable, "down")));
    d.skip_wait();
    const bool is_lost = chance.chance(0.3);
    if (!is_lost) counted = Dialogue::state_after(train);
    d.tell(is_lost ? d.failed_answer(Error(ErrorCode::round_closed, "too late")) : d.good_answer());
    d.skip_wait();
    if (chance.chance(0.3)) d.restart();
    // The attempt may be lost with all its receipts; this device is in the next one.
    if (chance.chance(0.2)) {
      counted = before;
      d.round.attempt = Attempt(d.round.attempt.value() + 1);
    } else {
      next_round(d);
    }
  }
  return wrong;
}

TEST(StateKeeping, HasWhatTheServerHasCountedThroughAnyMishaps) {
  for (uint64_t seed = 1; seed <= 100; ++seed) EXPECT_EQ(mismatches(seed, [](Dialogue&) {}), 0) << "seed " << seed;
}

// The broken variant: a state that is kept as soon as it is trained.
TEST(StateKeeping, WouldNotWithAnEarlyCommit) {
  const auto early_commit = [](Dialogue& d) {
    ParticipantState state = d.state();
    Plan plan;
    plan.job = d.job;
    commit_state(plan, d.now, state);
    d.machine = std::make_unique<ParticipantMachine>(d.policy, state);
  };
  int caught = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) caught += mismatches(seed, early_commit) > 0;
  EXPECT_GT(caught, 90);
}

}  // namespace
}  // namespace coterie::test
