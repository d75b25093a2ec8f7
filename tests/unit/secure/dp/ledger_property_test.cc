// Random histories of rounds: whatever happens, the ledger says at least what was released.
#include <algorithm>
#include <set>

#include "base/random.h"
#include "secure/dp/ledger/ledger.h"
#include "tests/support/matchers.h"
#include "tests/unit/secure/dp/ledger_samples.h"

namespace coterie {
namespace {

using namespace test;

constexpr PrivacyBudget kBudget{10, 1e-6};

// What the world has seen of one attempt, by the plainest bookkeeping.
struct Seen {
  LedgerRelease reserved;
  bool voided = false;
  std::optional<LedgerRelease> released;
};

class History {
 public:
  explicit History(uint64_t seed) : prng_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    EXPECT_EQ(Ledger::replay(records_)->head(), ledger_.head());
  }
  size_t size() const { return records_.size(); }

 private:
  void append(const Result<LedgerRecord>& record) {
    ASSERT_OK(record);
    ASSERT_OK(ledger_.append(*record));
    records_.push_back(*record);
  }

  void step() {
    const RoundKey round = round_key(1 + prng_.below(12), 1 + static_cast<uint32_t>(prng_.below(2)));
    const auto seen = seen_.find(round);
    if (seen == seen_.end()) {
      const LedgerRelease release = prng_.chance(0.5) ? gaussian_release(prng_.uniform(2, 6)) : skellam_release(5);
      const Result<LedgerRecord> record = ledger_.reserve(job_, round, release, kBudget, ledger_time(size()));
      if (!record) {
        EXPECT_EQ(record.error().code(), ErrorCode::permission_denied);
        return;
      }
      append(record);
      seen_[round] = {release, false, std::nullopt};
    } else if (!seen->second.voided && !seen->second.released) {
      if (prng_.chance(0.3)) return check();  // stays open for now
      if (prng_.chance(0.2)) {
        append(ledger_.void_reserve(round, ledger_time(size())));
        seen->second.voided = true;
      } else {
        LedgerRelease actual = seen->second.reserved;
        if (prng_.chance(0.5)) actual.variance *= prng_.uniform(1, 3);
        append(ledger_.commit(round, actual, 1 + prng_.below(50), some_commitment(), ledger_time(size())));
        seen->second.released = actual;
      }
    } else {
      EXPECT_FALSE(ledger_.reserve(job_, round, seen->second.reserved, kBudget, ledger_time(0)));
      EXPECT_FALSE(ledger_.void_reserve(round, ledger_time(0)));
    }
    check();
  }

  // Release by release, none merged, and only what is known to have left: the ledger must say no less.
  void check() const {
    Composition certain, possible;
    for (const auto& [round, seen] : seen_) {
      if (seen.voided) continue;
      possible.push_back({noise_of(seen.released.value_or(seen.reserved)), Sampling::none(), 1});
      if (seen.released) certain.push_back(possible.back());
    }
    const PrivacySpent spent = ledger_.spent(job_, kBudget.delta).value();
    ASSERT_EQ(spent.releases, possible.size());
    ASSERT_EQ(spent.open_reserves, possible.size() - certain.size());
    ASSERT_LE(spent.account.epsilon, kBudget.epsilon);
    if (!certain.empty()) {
      ASSERT_GE(spent.account.epsilon * (1 + 1e-9), account_for(certain, kBudget.delta)->epsilon);
    }
    if (!possible.empty()) {
      ASSERT_NEAR(spent.account.epsilon, account_for(possible, kBudget.delta)->epsilon, 1e-6);
    }
  }

  Prng prng_;
  JobId job_{"j"};
  Ledger ledger_;
  std::vector<LedgerRecord> records_;
  std::map<RoundKey, Seen> seen_;
};

TEST(LedgerProperty, SaysAtLeastWhatWasReleased) {
  size_t records = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    history.run(40);
    records += history.size();
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(records, 300u);
}

// Any prefix of any history is a ledger that has spent no less than its own prefixes without voids.
TEST(LedgerProperty, SpendsNeverLessAsRoundsAreAdded) {
  Ledger ledger;
  double before = 0;
  for (uint64_t round = 1; round <= 20; ++round) {
    const auto reserve =
        ledger.reserve(JobId("j"), round_key(round), gaussian_release(8), {100, 1e-6}, ledger_time(round));
    ASSERT_OK(reserve);
    ASSERT_OK(ledger.append(*reserve));
    const double reserved = ledger.spent(JobId("j"), 1e-6)->account.epsilon;
    ASSERT_GT(reserved, before);
    const auto commit = ledger.commit(round_key(round), gaussian_release(8), 3, some_commitment(), ledger_time(round));
    ASSERT_OK(commit);
    ASSERT_OK(ledger.append(*commit));
    before = ledger.spent(JobId("j"), 1e-6)->account.epsilon;
    ASSERT_EQ(before, reserved);
  }
}

}  // namespace
}  // namespace coterie
