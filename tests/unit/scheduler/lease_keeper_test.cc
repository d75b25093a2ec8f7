#include "scheduler/lease/lease_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"

namespace coterie {
namespace {

Instant at(int64_t ms) { return Instant(Millis(ms)); }

LeaseAnswer granted(uint64_t epoch) { return {true, LeaseEpoch(epoch), "me", Millis(10'000)}; }
LeaseAnswer refused(Millis left) { return {false, LeaseEpoch(7), "other", left}; }
Result<LeaseAnswer> failed() { return Error(ErrorCode::unavailable, "the store is away"); }

template <typename Effect>
const Effect* only(const LeaseEffects& effects) {
  return effects.size() == 1 ? std::get_if<Effect>(&effects[0]) : nullptr;
}

// Asks in 1,000 ms of every three seconds; holds for nine of ten.
class Keeper : public ::testing::Test {
 protected:
  uint64_t ask(const LeaseEffects& effects) {
    const AskLease* asked = only<AskLease>(effects);
    EXPECT_NE(asked, nullptr);
    return asked == nullptr ? 0 : asked->serial;
  }
  void hold(uint64_t epoch, int64_t now) {
    const LeaseEffects effects = keeper_.answered(ask(keeper_.start(at(now))), granted(epoch), at(now));
    ASSERT_NE(only<LeaseHeld>(effects), nullptr);
    EXPECT_EQ(only<LeaseHeld>(effects)->epoch, LeaseEpoch(epoch));
  }
  LeaseKeeper keeper_{LeaseSettings{}};
};

TEST_F(Keeper, HoldsFromTheGrantUntilAMarginBeforeItsTimeIsOver) {
  EXPECT_EQ(keeper_.next_deadline(), std::nullopt);
  const uint64_t serial = ask(keeper_.start(at(100)));
  EXPECT_FALSE(keeper_.holds(at(100)));
  EXPECT_NE(only<LeaseHeld>(keeper_.answered(serial, granted(4), at(900))), nullptr);
  EXPECT_TRUE(keeper_.holds(at(9'099)));
  EXPECT_FALSE(keeper_.holds(at(9'100))) << "counted from the question: the store's time began after it";
}

TEST_F(Keeper, RenewsInTimeAndGoesOnUnderTheSameEpoch) {
  hold(1, 0);
  for (int64_t now = 3'000; now < 60'000; now += 3'000) {
    EXPECT_EQ(keeper_.next_deadline(), at(now));
    EXPECT_TRUE(keeper_.answered(ask(keeper_.time_passed(at(now))), granted(1), at(now + 5)).empty());
    EXPECT_TRUE(keeper_.holds(at(now + 8'999)));
  }
}

TEST_F(Keeper, IsLostWhenItCannotBeRenewed) {
  hold(3, 0);
  Instant now = at(0);
  LeaseEffects effects;
  for (int questions = 0; only<LeaseLost>(effects) == nullptr; ++questions) {
    ASSERT_LT(questions, 100);
    ASSERT_TRUE(keeper_.next_deadline().has_value());
    now = *keeper_.next_deadline();
    effects = keeper_.time_passed(now);
    if (const AskLease* asked = only<AskLease>(effects)) keeper_.answered(asked->serial, failed(), now);
  }
  EXPECT_EQ(now, at(9'000));
  EXPECT_EQ(only<LeaseLost>(effects)->epoch, LeaseEpoch(3));
  EXPECT_FALSE(keeper_.holds(now));
  EXPECT_EQ(keeper_.next_deadline(), std::nullopt);
  EXPECT_TRUE(keeper_.time_passed(at(1'000'000)).empty());
}

TEST_F(Keeper, IsLostAtOnceWhenSomebodyElseHasIt) {
  hold(3, 0);
  const LeaseEffects effects = keeper_.answered(ask(keeper_.time_passed(at(3'000))), refused(Millis(9'000)), at(3'010));
  ASSERT_NE(only<LeaseLost>(effects), nullptr);
  EXPECT_THAT(only<LeaseLost>(effects)->reason, ::testing::HasSubstr("other"));
  EXPECT_FALSE(keeper_.holds(at(3'010)));
}

TEST_F(Keeper, IsLostWhenAnotherHeldItInBetween) {
  hold(3, 0);
  EXPECT_NE(only<LeaseLost>(keeper_.answered(ask(keeper_.time_passed(at(3'000))), granted(5), at(3'010))), nullptr);
}

// SIGSTOP for a minute: nothing may be done before the loss is seen, whatever comes first.
TEST_F(Keeper, ThatWasAsleepHoldsNothing) {
  hold(3, 0);
  const uint64_t serial = ask(keeper_.time_passed(at(3'000)));
  EXPECT_FALSE(keeper_.holds(at(63'000)));
  EXPECT_NE(only<LeaseLost>(keeper_.answered(serial, granted(3), at(63'000))), nullptr);
}

TEST_F(Keeper, WaitsForTheHolderAndSaysSoOnce) {
  LeaseEffects effects = keeper_.answered(ask(keeper_.start(at(0))), refused(Millis(8'000)), at(10));
  ASSERT_NE(only<LeaseWaits>(effects), nullptr);
  EXPECT_EQ(only<LeaseWaits>(effects)->holder, "other");
  EXPECT_EQ(keeper_.next_deadline(), at(3'010));
  effects = keeper_.answered(ask(keeper_.time_passed(at(3'010))), refused(Millis(400)), at(3'020));
  EXPECT_TRUE(effects.empty());
  EXPECT_EQ(keeper_.next_deadline(), at(3'420)) << "when the other's time is over";
}

TEST_F(Keeper, AsksAnewWhatIsNotAnsweredAndTakesTheNewestAnswer) {
  const uint64_t first = ask(keeper_.start(at(0)));
  const uint64_t second = ask(keeper_.time_passed(at(3'000)));
  EXPECT_TRUE(keeper_.answered(first, granted(2), at(3'100)).empty());
  EXPECT_NE(only<LeaseHeld>(keeper_.answered(second, granted(2), at(3'200))), nullptr);
  EXPECT_TRUE(keeper_.answered(second, refused(Millis(1)), at(3'300)).empty());
}

TEST_F(Keeper, DoesNotUseAGrantThatComesTooLate) {
  const uint64_t serial = ask(keeper_.start(at(0)));
  EXPECT_TRUE(keeper_.answered(serial, granted(2), at(9'500)).empty());
  EXPECT_FALSE(keeper_.holds(at(9'500)));
  EXPECT_EQ(keeper_.next_deadline(), at(9'500));
}

// Three keepers whose clocks run up to 5 % apart, whose questions and answers are late, repeated by the network, or
// lost, and that fall asleep. The row is the store's.
class Storm {
 public:
  explicit Storm(uint64_t seed) : prng_(seed) {
    for (size_t i = 0; i < 3; ++i) peers_.push_back({LeaseKeeper(settings_), prng_.uniform(0.95, 1.05)});
    for (size_t i = 0; i < 3; ++i) take(i, peers_[i].keeper.start(local(i)));
  }
  void run() {
    while (now_ < 300'000) {
      now_ += 1 + static_cast<int64_t>(prng_.below(400));
      for (size_t i = 0; i < peers_.size(); ++i) {
        if (now_ < peers_[i].asleep_until) continue;
        if (prng_.chance(0.002)) peers_[i].asleep_until = now_ + static_cast<int64_t>(prng_.below(40'000));
        deliver(i);
        const auto due = peers_[i].keeper.next_deadline();
        if (due && local(i) >= *due) take(i, peers_[i].keeper.time_passed(local(i)));
      }
      check();
    }
  }
  uint64_t changes() const { return row_epoch_; }

 private:
  struct Message {
    int64_t at;
    uint64_t serial;
    std::optional<LeaseAnswer> answer;  // none: on its way to the store
  };
  struct Peer {
    LeaseKeeper keeper;
    double rate;
    std::deque<Message> messages = {};
    int64_t asleep_until = 0;
    uint32_t incarnation = 0;
    bool was_told = false;
  };

  Instant local(size_t i) const { return at(static_cast<int64_t>(static_cast<double>(now_) * peers_[i].rate)); }
  std::string name(size_t i) const { return std::to_string(i) + "/" + std::to_string(peers_[i].incarnation); }
  int64_t soon() { return now_ + static_cast<int64_t>(prng_.chance(0.05) ? prng_.below(20'000) : prng_.below(200)); }

  void take(size_t i, const LeaseEffects& effects) {
    Peer& peer = peers_[i];
    for (const LeaseEffect& effect : effects) {
      if (const auto* asked = std::get_if<AskLease>(&effect)) {
        for (int copies = prng_.chance(0.1) ? 0 : prng_.chance(0.1) ? 2 : 1; copies > 0; --copies) {
          peer.messages.push_back({soon(), asked->serial, std::nullopt});
        }
      } else if (std::get_if<LeaseHeld>(&effect) != nullptr) {
        peer.was_told = true;
      } else if (std::get_if<LeaseLost>(&effect) !=
                 nullptr) {  // starts anew, with a new name; what is on its way goes on
        EXPECT_TRUE(peer.was_told);
        ++peer.incarnation;
        peer.was_told = false;
        peer.messages.clear();
        peer.keeper = LeaseKeeper(settings_);
        take(i, peer.keeper.start(local(i)));
      }
    }
  }
  void deliver(size_t i) {
    for (size_t left = peers_[i].messages.size(); left > 0 && !peers_[i].messages.empty(); --left) {
      Message message = peers_[i].messages.front();
      peers_[i].messages.pop_front();
      if (message.at > now_) {
        peers_[i].messages.push_back(message);
      } else if (!message.answer) {
        message.answer = ask_row(name(i));
        message.at = soon();
        if (!prng_.chance(0.1)) peers_[i].messages.push_back(message);
      } else {
        take(i, peers_[i].keeper.answered(message.serial, *message.answer, local(i)));
      }
    }
  }
  LeaseAnswer ask_row(const std::string& who) {
    if (who == row_holder_ || now_ >= row_expires_) {
      if (std::exchange(row_holder_, who) != who) ++row_epoch_;
      row_expires_ = now_ + settings_.ttl.count();
    }
    return {who == row_holder_, LeaseEpoch(row_epoch_), row_holder_, Millis(row_expires_ - now_)};
  }
  void check() {
    for (size_t i = 0; i < peers_.size(); ++i) {
      if (!peers_[i].keeper.holds(local(i))) continue;
      EXPECT_EQ(row_holder_, name(i)) << "at " << now_;
      EXPECT_LT(now_, row_expires_) << "the store would give it to another";
    }
  }

  LeaseSettings settings_;
  Prng prng_;
  int64_t now_ = 0;
  std::vector<Peer> peers_;
  std::string row_holder_;
  uint64_t row_epoch_ = 0;
  int64_t row_expires_ = 0;
};

TEST(LeaseStorm, NobodyHoldsWhatTheStoreWouldGiveToAnother) {
  uint64_t changes = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Storm storm(seed);
    storm.run();
    changes += storm.changes();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(changes, 400u) << "the storms must have changed holders";
}

}  // namespace
}  // namespace coterie
