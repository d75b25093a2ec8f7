// The conformance suite of what a tree of noise needs of a store: salts that are kept as long as their noise is in the
// model, and devices that are kept apart.
#include <gmock/gmock.h>

#include "scheduler/job/round_release.h"
#include "secure/dp/noise/noise_tree.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;
using enum RoundState;

constexpr uint64_t kRounds = 12;
constexpr uint32_t kSeparation = 3;

NoiseSalt salt_of(uint8_t value) {
  NoiseSalt salt;
  std::ranges::fill(salt.mutable_bytes(), value);
  return salt;
}

template <typename Backend>
class TreeNoiseStore : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    JobRecord job = noisy_job_record("j");
    HorizontalSettings& settings = job.spec.horizontal();
    settings.rounds.count = kRounds;
    settings.rounds.separation_min = kSeparation;
    settings.privacy.mechanism = NoiseMechanism::tree;
    settings.privacy.epsilon_budget =
        account_of({{release_of(settings, job.value_count), 1}}, settings.privacy.target_delta)->epsilon;
    ASSERT_OK(store().create_job(job, model_record("j", 0)));
  }
  auto& store() { return backend_.store(); }

  RoundKey collecting(uint64_t number, uint32_t attempt = 1) {
    const OpenRound open{number, std::nullopt, Attempt(attempt), model_record("j", number - 1)};
    const Result<RoundRecord> round = store().open_round(JobId("j"), open, wall(1));
    EXPECT_OK(round);
    if (!round) return {};
    EXPECT_TRUE(*store().move_round({round->key, selecting, RoundState::collecting, "", 0}, wall(2)));
    return round->key;
  }
  // With these devices counted, ready to be finalized.
  RoundKey frozen_with(uint64_t number, const std::vector<uint64_t>& devices, uint32_t attempt = 1) {
    const RoundKey key = collecting(number, attempt);
    const std::string id = std::to_string(number) + "." + std::to_string(attempt);
    EXPECT_TRUE(std::holds_alternative<BatchDone>(
        store().accept_batch(partial_record(id, key, devices.size()), rows_of(devices))));
    EXPECT_TRUE(*store().move_round({key, RoundState::collecting, frozen, "", 0}, wall(2)));
    EXPECT_TRUE(*store().move_round({key, frozen, finalizing, "", 0}, wall(2)));
    return key;
  }
  Result<JobProgress> commit(const RoundKey& key, uint64_t number, uint64_t updates) {
    const RoundTotals totals{updates, updates, 30, 1, 2, 9};
    return store().commit_round(
        JobId("j"), {{key, model_record("j", number), totals, filled_digest(0x77)}, number, false, number == kRounds},
        wall(4));
  }
  // A whole round, of two devices that no round near it has. Its salt is its number.
  RoundKey play(uint64_t number) {
    const RoundKey key = frozen_with(number, {10 * number, 10 * number + 1});
    EXPECT_OK(store().reserve_release(key, salt_of(static_cast<uint8_t>(number)), wall(3)));
    EXPECT_OK(commit(key, number, 2));
    return key;
  }
  std::vector<int> ended(const RoundKey& key) {
    const Result<std::vector<KeptNoise>> kept = store().ended_noise(key);
    EXPECT_OK(kept);
    std::vector<int> salts;
    if (kept) {
      for (const KeptNoise& node : *kept) salts.push_back(node.salt.reveal()[0]);
    }
    return salts;
  }
  // Rows with salts, where somebody can look.
  void expect_salts(uint64_t expected) {
    if constexpr (requires(Backend& b) { b.open_database(); }) {
      Result<Database> database = backend_.open_database();
      ASSERT_OK(database);
      Statement count = database->prepare("SELECT count(*) FROM noise_salt");
      ASSERT_TRUE(*count.step());
      EXPECT_EQ(count.u64(0), expected);
    }
  }

  Backend backend_;
};
using Backends = testing::Types<SqliteBackend, PostgresBackend, MemoryBackend>;
TYPED_TEST_SUITE(TreeNoiseStore, Backends, BackendNames);

TYPED_TEST(TreeNoiseStore, KeepsSaltsWhileTheirNoiseIsInTheModelAndNoLonger) {
  for (uint64_t t = 1; t <= kRounds; ++t) {
    SCOPED_TRACE(t);
    const RoundKey key = this->frozen_with(t, {10 * t, 10 * t + 1});
    ASSERT_OK(this->store().reserve_release(key, salt_of(static_cast<uint8_t>(t)), wall(3)));
    const std::vector<uint64_t> nodes = nodes_ended_by(t);
    EXPECT_EQ(this->ended(key), std::vector<int>(nodes.begin(), nodes.end()));
    this->backend_.reopen();
    EXPECT_EQ(this->ended(key), std::vector<int>(nodes.begin(), nodes.end())) << "after a restart";
    EXPECT_EQ(this->store().reserve_release(key, salt_of(99), wall(3))->reveal()[0], t) << "noise is drawn once";
    this->expect_salts(nodes_of_prefix(t - 1).size() + 1);
    ASSERT_OK(this->commit(key, t, 2));
    this->expect_salts(t == kRounds ? 0 : nodes_of_prefix(t).size());
  }
  EXPECT_EQ(this->store().get_job(JobId("j"))->state, JobState::completed);
}

TYPED_TEST(TreeNoiseStore, ErasesAllWhenTheJobEnds) {
  for (uint64_t t = 1; t <= 3; ++t) this->play(t);
  this->expect_salts(2);
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::paused, "", {}));
  this->expect_salts(2);
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, "", {}));
  this->expect_salts(0);
}

TYPED_TEST(TreeNoiseStore, ErasesAllWhenARoundIsCommittedBehindTheJobsEnd) {
  for (uint64_t t = 1; t <= 2; ++t) this->play(t);
  const RoundKey key = this->frozen_with(3, {30, 31});
  ASSERT_OK(this->store().reserve_release(key, salt_of(3), wall(3)));
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, "", {}));
  ASSERT_OK(this->commit(key, 3, 2));
  this->expect_salts(0);
}

TYPED_TEST(TreeNoiseStore, GivesAFreshSaltToEachAttemptAndKeepsThoseOfTheModel) {
  this->play(1);
  const RoundKey first = this->frozen_with(2, {20, 21});
  EXPECT_EQ(this->store().reserve_release(first, salt_of(7), wall(3))->reveal()[0], 7);
  EXPECT_THAT(this->ended(first), ElementsAre(1));
  ASSERT_TRUE(*this->store().move_round({first, finalizing, failed, "damage", 0, false, true}, wall(5)));
  this->expect_salts(1);
  const RoundKey second = this->frozen_with(2, {20, 21}, 2);
  EXPECT_EQ(this->store().reserve_release(second, salt_of(8), wall(3))->reveal()[0], 8);
  EXPECT_THAT(this->ended(second), ElementsAre(1)) << "what is in the model is taken off as it is";
  ASSERT_OK(this->commit(second, 2, 2));
  this->expect_salts(1);
  EXPECT_EQ(this->store().list_ledger(0, 100)->size(), 2u) << "the tree is charged once";
}

TYPED_TEST(TreeNoiseStore, VoidsATreeOfWhichNothingWasReleased) {
  const RoundKey first = this->frozen_with(1, {10, 11});
  ASSERT_OK(this->store().reserve_release(first, salt_of(7), wall(3)));
  EXPECT_GT(this->store().job_privacy(JobId("j"))->spent.account.epsilon, 0);
  ASSERT_TRUE(*this->store().move_round({first, finalizing, failed, "damage", 0, false, true}, wall(5)));
  EXPECT_EQ(this->store().job_privacy(JobId("j"))->spent.account.epsilon, 0);
  const RoundKey second = this->frozen_with(1, {10, 11}, 2);
  ASSERT_OK(this->store().reserve_release(second, salt_of(8), wall(3)));
  ASSERT_OK(this->commit(second, 1, 2));
  EXPECT_EQ(this->store().job_privacy(JobId("j"))->spent.releases, 1u);
}

TYPED_TEST(TreeNoiseStore, ReleasesNothingWithoutNoise) {
  const RoundKey first = this->frozen_with(1, {10, 11});
  EXPECT_ERROR(this->commit(first, 1, 2), ErrorCode::conflict, "");
  ASSERT_OK(this->store().reserve_release(first, salt_of(1), wall(3)));
  ASSERT_OK(this->commit(first, 1, 2));
  const RoundKey second = this->frozen_with(2, {20, 21});
  EXPECT_ERROR(this->commit(second, 2, 2), ErrorCode::data_loss, "") << "its tree is charged, its noise is not drawn";
}

TYPED_TEST(TreeNoiseStore, LetsDevicesRestForTheSeparation) {
  for (uint64_t t = 1; t <= 3; ++t) this->play(t);
  const RoundKey fourth = this->collecting(4);
  const auto resting = this->store().list_resting(fourth);
  ASSERT_OK(resting);
  EXPECT_THAT(*resting, testing::UnorderedElementsAre(numbered_device(20), numbered_device(21), numbered_device(30),
                                                      numbered_device(31)))
      << "those of round 1 are three rounds away";
}

TYPED_TEST(TreeNoiseStore, ReservesNothingForARoundThatCountsADeviceTooSoon) {
  this->play(1);
  this->play(2);
  const RoundKey soon = this->frozen_with(3, {10, 30});
  EXPECT_ERROR(this->store().reserve_release(soon, salt_of(3), wall(3)), ErrorCode::data_loss, "devices too soon");
  ASSERT_TRUE(*this->store().move_round({soon, finalizing, failed, "too soon", 0, false, true}, wall(5)));
  const RoundKey third = this->frozen_with(3, {30, 31}, 2);
  ASSERT_OK(this->store().reserve_release(third, salt_of(3), wall(3)));
  ASSERT_OK(this->commit(third, 3, 2));
  const RoundKey fourth = this->frozen_with(4, {10, 40});
  EXPECT_OK(this->store().reserve_release(fourth, salt_of(4), wall(3))) << "round 1 is three rounds away";
}

TYPED_TEST(TreeNoiseStore, KeepsWhoIsCountedUntilItMayBeCountedAgain) {
  for (uint64_t t = 1; t <= 4; ++t) this->play(t);
  constexpr size_t kAll = 1'000;
  ASSERT_OK(this->store().forget_accepted(wall(1'000'000), kAll));
  const RoundKey fifth = this->frozen_with(5, {50, 51});
  EXPECT_EQ(this->store().list_resting(fifth)->size(), 4u) << "of rounds 3 and 4";
  EXPECT_EQ(*this->store().count_accepted({RoundId(1), Attempt(1)}), 0u) << "round 1 may be forgotten";
  ASSERT_OK(this->store().reserve_release(fifth, salt_of(5), wall(3)));
  ASSERT_OK(this->commit(fifth, 5, 2));
  // The salt of round 4 is needed in round 8: its row stays, whatever the settings say.
  ASSERT_OK(this->store().forget_rounds(JobId("j"), 5, wall(1'000'000), kAll));
  for (uint64_t t = 6; t <= 7; ++t) this->play(t);
  ASSERT_OK(this->store().forget_accepted(wall(1'000'000), kAll));
  ASSERT_OK(this->store().forget_partials({"1.1", "2.1", "3.1", "4.1"}));
  ASSERT_OK(this->store().forget_rounds(JobId("j"), 5, wall(1'000'000), kAll));
  const RoundKey eighth = this->frozen_with(8, {80, 81});
  EXPECT_THAT(this->ended(eighth), ElementsAre(7, 6, 4));
  EXPECT_EQ(this->store().list_rounds(JobId("j"), {})->size(), 5u) << "4 to 8";
}

TYPED_TEST(TreeNoiseStore, KnowsNobodyWhoRestsWhereThereIsNoSeparation) {
  ASSERT_OK(this->store().create_job(job_record("k"), model_record("k", 0)));
  const OpenRound open{1, std::nullopt, Attempt(1), model_record("k", 0)};
  const auto round = this->store().open_round(JobId("k"), open, wall(1));
  ASSERT_OK(round);
  EXPECT_THAT(*this->store().list_resting(round->key), IsEmpty());
}

}  // namespace
}  // namespace coterie
