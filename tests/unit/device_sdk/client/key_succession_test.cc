// A server whose signing key is replaced: devices that have heard of it go on, and nobody else can say so.
#include <gtest/gtest.h>

#include "secure/identity/signing_keys.h"
#include "tests/unit/device_sdk/client/dialogue.h"

namespace coterie::test {
namespace {

class KeySuccession : public testing::Test {
 protected:
  void SetUp() override {
    dialogue_.reach(ParticipantPhase::idle);
    dialogue_.skip_wait();
  }
  std::vector<KeyStatement> statement(const Signer& before, const Signer& after, Millis until) {
    const auto made = state_next_key(before, after.public_key(), dialogue_.now + until);
    EXPECT_OK(made);
    return {*made};
  }
  // What the device makes of an assignment that this key has signed.
  ParticipantPhase assigned_by(std::unique_ptr<Signer>& key) {
    std::swap(dialogue_.signer, key);
    const Assignment assignment = dialogue_.assignment();
    std::swap(dialogue_.signer, key);
    dialogue_.tell(CheckInAnswered{assignment});
    return dialogue_.state().phase;
  }

  Dialogue dialogue_;
  std::unique_ptr<Signer> next_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 0x71)));
  std::unique_ptr<Signer> stranger_ = std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, 0x72)));
};

TEST_F(KeySuccession, IsFollowedAndOutlivesTheApp) {
  dialogue_.tell(KeysStated{statement(*dialogue_.signer, *next_, Millis(3'600'000))});
  dialogue_.restart();
  EXPECT_EQ(dialogue_.state().keys.newest, next_->public_key());
  EXPECT_EQ(assigned_by(next_), ParticipantPhase::assigned);
}

TEST_F(KeySuccession, LeavesTheOldKeyItsTimeAndNoMore) {
  dialogue_.tell(KeysStated{statement(*dialogue_.signer, *next_, Millis(3'600'000))});
  dialogue_.now += Millis(3'600'001);
  dialogue_.tell(CheckInAnswered{dialogue_.assignment()});
  EXPECT_EQ(dialogue_.state().phase, ParticipantPhase::idle) << "by the old key, when its time is over";
  ASSERT_TRUE(dialogue_.machine->last_error());
  EXPECT_EQ(dialogue_.machine->last_error()->code(), ErrorCode::refused);
  dialogue_.skip_wait();
  EXPECT_EQ(assigned_by(next_), ParticipantPhase::assigned);
}

TEST_F(KeySuccession, TheOldKeyIsBelievedMeanwhile) {
  dialogue_.tell(KeysStated{statement(*dialogue_.signer, *next_, Millis(3'600'000))});
  dialogue_.tell(CheckInAnswered{dialogue_.assignment()});
  EXPECT_EQ(dialogue_.state().phase, ParticipantPhase::assigned) << "not every server of a fleet has the new one yet";
}

TEST_F(KeySuccession, EndsTheOldKeyAtOnceWhereTheNewOneSaysSo) {
  dialogue_.tell(KeysStated{statement(*dialogue_.signer, *next_, Millis(3'600'000))});
  dialogue_.tell(KeysStated{{*end_keys_before(*next_, dialogue_.now)}});
  dialogue_.restart();
  dialogue_.tell(CheckInAnswered{dialogue_.assignment()});
  EXPECT_EQ(dialogue_.state().phase, ParticipantPhase::idle) << "by the old key, which somebody has stolen";
  dialogue_.skip_wait();
  EXPECT_EQ(assigned_by(next_), ParticipantPhase::assigned);
}

TEST_F(KeySuccession, IsKnownToWhoeverEnrollsInTheMidstOfIt) {
  Dialogue fresh(3);
  EnrollReply reply = fresh.identity();
  reply.retiring_keys = {{reply.signing_key, fresh.now + Millis(3'600'000)}};
  reply.signing_key = next_->public_key();
  fresh.tell(EnrollAnswered{reply});
  fresh.restart();
  fresh.tell(CheckInAnswered{fresh.assignment()});
  EXPECT_EQ(fresh.state().phase, ParticipantPhase::assigned) << "by a server that was not started anew yet";
}

// The statement comes before the answer that it came with, which may be a late receipt.
TEST_F(KeySuccession, EndsNoRound) {
  dialogue_.reach(ParticipantPhase::trained);
  dialogue_.now = dialogue_.state().assignment->not_after + Millis(1);
  dialogue_.tell(KeysStated{statement(*dialogue_.signer, *next_, Millis(3'600'000))});
  EXPECT_EQ(dialogue_.state().phase, ParticipantPhase::trained);
}

TEST_F(KeySuccession, OfAKeyThatIsNotPinnedIsRefused) {
  const PinnedKeys before = dialogue_.state().keys;
  dialogue_.tell(KeysStated{statement(*stranger_, *next_, Millis(3'600'000))});
  EXPECT_EQ(dialogue_.state().keys, before);
  EXPECT_EQ(assigned_by(next_), ParticipantPhase::idle) << "nobody has vouched for it";
}

TEST_F(KeySuccession, IsNothingToADeviceThatIsNotEnrolled) {
  Dialogue fresh(3);
  fresh.tell(KeysStated{statement(*fresh.signer, *next_, Millis(1'000))});
  EXPECT_EQ(fresh.state().keys, PinnedKeys());
}

}  // namespace
}  // namespace coterie::test
