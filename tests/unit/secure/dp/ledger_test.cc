#include "secure/dp/ledger/ledger.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/ledger_samples.h"

namespace coterie {
namespace {

using namespace test;
using testing::HasSubstr;

const JobId kJob("j1");
constexpr PrivacyBudget kBudget{8, 1e-6};

class LedgerTest : public testing::Test {
 protected:
  void reserve(const RoundKey& round, const LedgerRelease& release = gaussian_release(4), const JobId& job = kJob) {
    add(ledger_.reserve(job, round, release, kBudget, ledger_time(records_.size())));
  }
  void commit(const RoundKey& round, const LedgerRelease& release = gaussian_release(4)) {
    add(ledger_.commit(round, release, 12, some_commitment(), ledger_time(records_.size())));
  }
  void void_reserve(const RoundKey& round) { add(ledger_.void_reserve(round, ledger_time(records_.size()))); }
  void add(const Result<LedgerRecord>& record) {
    ASSERT_OK(record);
    ASSERT_OK(ledger_.append(*record));
    records_.push_back(*record);
  }
  PrivacySpent spent(const JobId& job = kJob) const { return ledger_.spent(job, kBudget.delta).value(); }
  double epsilon_of(uint64_t count, double multiplier = 4) const {
    return account_for({{noise_of(gaussian_release(multiplier)), Sampling::none(), count}}, kBudget.delta)->epsilon;
  }

  Ledger ledger_;
  std::vector<LedgerRecord> records_;
};

// ---- What is spent

TEST_F(LedgerTest, OfNothingSpentNothing) {
  const PrivacySpent nothing = spent();
  EXPECT_EQ(nothing.releases, 0u);
  EXPECT_EQ(nothing.account.epsilon, 0);
  EXPECT_EQ(nothing.account.method, "none");
  EXPECT_EQ(ledger_.head(), Digest{});
}

TEST_F(LedgerTest, CountsAReserveInFull) {
  reserve(round_key(1));
  EXPECT_EQ(spent().releases, 1u);
  EXPECT_EQ(spent().open_reserves, 1u);
  EXPECT_EQ(spent().account.epsilon, epsilon_of(1));
  reserve(round_key(1, 2));  // the next attempt of the round spends for itself
  EXPECT_EQ(spent().account.epsilon, epsilon_of(2));
}

TEST_F(LedgerTest, CountsACommitForItsReserve) {
  reserve(round_key(1));
  reserve(round_key(2));
  commit(round_key(1));
  EXPECT_EQ(spent().releases, 2u);
  EXPECT_EQ(spent().open_reserves, 1u);
  EXPECT_EQ(spent().account.epsilon, epsilon_of(2));
  EXPECT_TRUE(ledger_.is_committed(round_key(1)));
  EXPECT_FALSE(ledger_.is_committed(round_key(2)));
}

TEST_F(LedgerTest, CountsWhatWasReleasedWhereThatIsMoreProtective) {
  reserve(round_key(1), gaussian_release(4));
  commit(round_key(1), gaussian_release(6));
  EXPECT_EQ(spent().account.epsilon, epsilon_of(1, 6));
  EXPECT_LT(spent().account.epsilon, epsilon_of(1, 4));
}

TEST_F(LedgerTest, DoesNotCountAVoidedReserve) {
  reserve(round_key(1));
  void_reserve(round_key(1));
  EXPECT_EQ(spent().releases, 0u);
  EXPECT_EQ(spent().open_reserves, 0u);
}

TEST_F(LedgerTest, KeepsJobsApart) {
  reserve(round_key(1), gaussian_release(4), JobId("a"));
  reserve(round_key(2), gaussian_release(5), JobId("b"));
  EXPECT_EQ(spent(JobId("a")).account.epsilon, epsilon_of(1, 4));
  EXPECT_EQ(spent(JobId("b")).account.epsilon, epsilon_of(1, 5));
}

TEST_F(LedgerTest, ComposesDifferentReleases) {
  reserve(round_key(1), gaussian_release(4));
  reserve(round_key(2), skellam_release(5));
  const Composition both = {{noise_of(gaussian_release(4)), Sampling::none(), 1},
                            {noise_of(skellam_release(5)), Sampling::none(), 1}};
  EXPECT_DOUBLE_EQ(spent().account.epsilon, account_for(both, kBudget.delta)->epsilon);
}

// (epsilon, delta - (1 + e^(epsilon + 1)) t), by the formula in the header.
TEST_F(LedgerTest, ChargesTheSamplersErrorToDelta) {
  LedgerRelease release = gaussian_release(4);
  release.total_variation = 1e-9;
  const std::map<LedgerRelease, uint64_t> three = {{release, 3}};
  const double exact = epsilon_of(3);
  const double left = kBudget.delta - (1 + std::exp(exact + 1)) * 3e-9;
  const PrivacyAccount account = account_of(three, kBudget.delta).value();
  EXPECT_NEAR(account.epsilon, account_for({{noise_of(release), Sampling::none(), 3}}, left)->epsilon, 1e-9);
  EXPECT_GT(account.epsilon, exact);
  EXPECT_EQ(account.delta, kBudget.delta);
}

TEST_F(LedgerTest, HasNoGuaranteeWhereTheSamplersErrorTakesAllOfDelta) {
  LedgerRelease release = gaussian_release(4);
  release.total_variation = 1e-6;
  EXPECT_EQ(account_of({{release, 1}}, kBudget.delta)->epsilon, std::numeric_limits<double>::infinity());
  EXPECT_ERROR(ledger_.admits(kJob, release, {1e300, kBudget.delta}), ErrorCode::permission_denied, "inf");
}

// ---- The budget

TEST_F(LedgerTest, StopsBeforeTheBudgetWouldBePassed) {
  uint64_t round = 0;
  while (ledger_.admits(kJob, gaussian_release(4), kBudget)) {
    ASSERT_LT(++round, 1000u);
    reserve(round_key(round));
    commit(round_key(round));
  }
  EXPECT_LE(spent().account.epsilon, kBudget.epsilon);
  EXPECT_GT(epsilon_of(round + 1), kBudget.epsilon) << "it could have gone on";
  EXPECT_ERROR(ledger_.reserve(kJob, round_key(round + 1), gaussian_release(4), kBudget, ledger_time(0)),
               ErrorCode::permission_denied, "the privacy budget is used up");
  EXPECT_OK(ledger_.reserve(JobId("other"), round_key(round + 1), gaussian_release(4), kBudget, ledger_time(0)));
}

TEST_F(LedgerTest, StopsAtOpenReservesAsAtCommits) {
  uint64_t round = 0;
  while (ledger_.admits(kJob, gaussian_release(4), kBudget)) {
    ASSERT_LT(++round, 1000u);
    reserve(round_key(1, static_cast<uint32_t>(round)));  // one round, all of its attempts lost
  }
  EXPECT_GT(epsilon_of(round + 1), kBudget.epsilon);
}

TEST_F(LedgerTest, AdmitsExactlyTheBudget) {
  EXPECT_OK(ledger_.admits(kJob, gaussian_release(4), {epsilon_of(1), kBudget.delta}));
  EXPECT_ERROR(ledger_.admits(kJob, gaussian_release(4), {std::nextafter(epsilon_of(1), 0), kBudget.delta}),
               ErrorCode::permission_denied, "budget");
  EXPECT_ERROR(ledger_.admits(kJob, gaussian_release(4), {std::nan(""), kBudget.delta}), ErrorCode::permission_denied,
               "");
  EXPECT_ERROR(ledger_.admits(kJob, gaussian_release(std::nan("")), kBudget), ErrorCode::invalid_argument, "");
}

// ---- One reserve and one end an attempt

TEST_F(LedgerTest, ReservesOnceAnAttempt) {
  reserve(round_key(1));
  ASSERT_NE(ledger_.find_reserve(round_key(1)), nullptr);
  EXPECT_EQ(*ledger_.find_reserve(round_key(1)), records_[0]);
  EXPECT_EQ(ledger_.find_reserve(round_key(1, 2)), nullptr);
  EXPECT_ERROR(ledger_.reserve(kJob, round_key(1), gaussian_release(4), kBudget, ledger_time(0)), ErrorCode::conflict,
               "round 1 attempt 1 has a reserve");
}

TEST_F(LedgerTest, CommitsOnlyWhatIsReserved) {
  const auto commit_of = [&](const RoundKey& round, const LedgerRelease& release) {
    return ledger_.commit(round, release, 1, some_commitment(), ledger_time(0));
  };
  EXPECT_ERROR(commit_of(round_key(1), gaussian_release(4)), ErrorCode::conflict, "has no reserve");
  reserve(round_key(1));
  EXPECT_ERROR(commit_of(round_key(1), gaussian_release(3.999)), ErrorCode::conflict, "more than it reserved");
  EXPECT_ERROR(commit_of(round_key(1), skellam_release(4)), ErrorCode::conflict, "more than it reserved");
  for (const auto& worsen : std::vector<std::function<void(LedgerRelease&)>>{
           [](LedgerRelease& r) { r.l1_sensitivity += 1; }, [](LedgerRelease& r) { r.l2_sensitivity += 1; },
           [](LedgerRelease& r) { r.total_variation = 1e-30; }}) {
    LedgerRelease worse = gaussian_release(4);
    worsen(worse);
    EXPECT_ERROR(commit_of(round_key(1), worse), ErrorCode::conflict, "more than it reserved");
  }
  commit(round_key(1));
  EXPECT_ERROR(commit_of(round_key(1), gaussian_release(4)), ErrorCode::conflict, "is commit already");
}

TEST_F(LedgerTest, VoidsOnlyWhatIsOpen) {
  EXPECT_ERROR(ledger_.void_reserve(round_key(1), ledger_time(0)), ErrorCode::conflict, "has no reserve");
  reserve(round_key(1));
  reserve(round_key(2));
  commit(round_key(1));
  EXPECT_ERROR(ledger_.void_reserve(round_key(1), ledger_time(0)), ErrorCode::conflict, "is commit already");
  void_reserve(round_key(2));
  EXPECT_ERROR(ledger_.commit(round_key(2), gaussian_release(4), 1, some_commitment(), ledger_time(0)),
               ErrorCode::conflict, "is voided already");
}

// ---- The chain

class LedgerChain : public LedgerTest {
 protected:
  void SetUp() override {
    reserve(round_key(1));
    commit(round_key(1));
    reserve(round_key(2));
    void_reserve(round_key(2));
    reserve(round_key(2, 2));
    commit(round_key(2, 2));
  }
};

TEST_F(LedgerChain, ReplaysToTheSameLedger) {
  const Result<Ledger> again = Ledger::replay(records_);
  ASSERT_OK(again);
  EXPECT_EQ(again->head(), ledger_.head());
  EXPECT_EQ(again->size(), records_.size());
  EXPECT_EQ(again->spent(kJob, kBudget.delta)->account.epsilon, spent().account.epsilon);
}

// By another implementation of the header's words (hashlib, struct). For ever: later versions must read what is
// written.
TEST_F(LedgerChain, KeepsItsCanonicalBytes) {
  EXPECT_EQ(digest_of(records_[0]).hex(), "0ad417da8ca428516f587bc47145d80bb5cb55656f212b00824070a4f6d782dd");
  EXPECT_EQ(ledger_.head().hex(), "b980d1f37ee9939654203ef892d56eae8e059b1c6f3183cda0db64306c62c3f8");
}

TEST_F(LedgerChain, SeesEveryChangedField) {
  const std::vector<std::function<void(LedgerRecord&)>> changes = {
      [](LedgerRecord& r) { ++r.seq; },
      [](LedgerRecord& r) { r.previous.bytes[31] ^= 1; },
      [](LedgerRecord& r) { r.job = JobId("j2"); },
      [](LedgerRecord& r) { r.round.round = RoundId(77); },
      [](LedgerRecord& r) { r.round.attempt = Attempt(77); },
      [](LedgerRecord& r) { r.kind = r.kind == LedgerKind::commit ? LedgerKind::voided : LedgerKind::commit; },
      [](LedgerRecord& r) { r.release.mechanism = LedgerMechanism::skellam; },
      [](LedgerRecord& r) { r.release.variance *= 2; },
      [](LedgerRecord& r) { r.release.l1_sensitivity /= 2; },
      [](LedgerRecord& r) { r.release.l2_sensitivity /= 2; },
      [](LedgerRecord& r) { r.release.total_variation = 1e-40; },
      [](LedgerRecord& r) { r.delta *= 2; },
      [](LedgerRecord& r) { ++r.contributors; },
      [](LedgerRecord& r) { r.noise_commitment.bytes[0] ^= 1; },
      [](LedgerRecord& r) { r.time += Millis(1); },
  };
  for (size_t i = 0; i < records_.size(); ++i) {
    for (size_t change = 0; change < changes.size(); ++change) {
      std::vector<LedgerRecord> tampered = records_;
      changes[change](tampered[i]);
      const Result<Ledger> replayed = Ledger::replay(tampered);
      // The last record has nobody behind it: only who has noted the head can see that.
      const Status seen =
          replayed ? replayed->verify_extends(records_.size(), ledger_.head()) : Status(replayed.error());
      EXPECT_ERROR(seen, ErrorCode::data_loss, "record") << i << " " << change;
    }
  }
}

TEST_F(LedgerChain, SeesThatRecordsAreGoneOrMoved) {
  for (size_t i = 0; i + 1 < records_.size(); ++i) {
    std::vector<LedgerRecord> without = records_;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_ERROR(Ledger::replay(without), ErrorCode::data_loss, "record") << i;
    std::vector<LedgerRecord> swapped = records_;
    std::swap(swapped[i], swapped[i + 1]);
    EXPECT_ERROR(Ledger::replay(swapped), ErrorCode::data_loss, "record") << i;
  }
}

// An older copy is a ledger, too. Only a head that was noted tells it from the one that goes on.
TEST_F(LedgerChain, SeesARollbackByAHeadThatWasNoted) {
  for (size_t kept = 0; kept < records_.size(); ++kept) {
    const Ledger older = Ledger::replay(std::span(records_).first(kept)).value();
    EXPECT_ERROR(older.verify_extends(ledger_.size(), ledger_.head()), ErrorCode::data_loss, "its end is gone");
    EXPECT_OK(ledger_.verify_extends(older.size(), older.head()));
  }
}

// A ledger that was written anew, digests and all, must still obey the rules.
TEST_F(LedgerChain, SeesAForgedCommit) {
  const auto forged = [&](LedgerRecord record) {
    record.seq = ledger_.size() + 1;
    record.previous = ledger_.head();
    return ledger_.append(record);
  };
  reserve(round_key(3));
  LedgerRecord weaker = ledger_.commit(round_key(3), gaussian_release(4), 1, some_commitment(), ledger_time(0)).value();
  weaker.release.variance /= 4;
  EXPECT_ERROR(forged(weaker), ErrorCode::data_loss, "does not fit its reserve");
  EXPECT_ERROR(forged(records_[0]), ErrorCode::data_loss, "reserves for an attempt twice");
  EXPECT_ERROR(forged(records_[1]), ErrorCode::data_loss, "ends an attempt twice");
  LedgerRecord nameless = records_[1];
  nameless.round = round_key(99);
  EXPECT_ERROR(forged(nameless), ErrorCode::data_loss, "has no reserve");
  EXPECT_OK(ledger_.verify_extends(records_.size(), digest_of(records_.back()))) << "nothing was changed by these";
}

}  // namespace
}  // namespace coterie
