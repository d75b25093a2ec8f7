// The conformance suite of gates, on both databases: a row a life, which goes with its attempt.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

GateRow row(const std::string& life, uint64_t counted, uint64_t refused) {
  return {life, counted + refused, {{"counted", counted}, {"plan_refused/charging", refused}}};
}

template <typename Backend>
class GateStoreConformance : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    ASSERT_OK(store().create_job(job_record("j"), model_record("j", 0)));
    key_ = play_round(1);
  }
  auto& store() { return backend_.store(); }
  RoundKey play_round(uint64_t number) {
    const OpenRound open{number, std::nullopt, Attempt(1), model_record("j", number - 1)};
    const RoundRecord round = *store().open_round(JobId("j"), open, wall(1));
    for (const RoundState to : {RoundState::collecting, RoundState::frozen, RoundState::finalizing}) {
      const auto from = static_cast<RoundState>(static_cast<int>(to) - 1);
      EXPECT_TRUE(*store().move_round({round.key, from, to, "", 0}, wall(2)));
    }
    const CommitRound commit{{round.key, model_record("j", number), {3, 30, 300, 1.5, 200, 9}}, number, false, false};
    EXPECT_OK(store().commit_round(JobId("j"), commit, wall(3)));
    return round.key;
  }
  Backend backend_;
  RoundKey key_;
};

using Backends = testing::Types<SqliteBackend, PostgresBackend>;
TYPED_TEST_SUITE(GateStoreConformance, Backends, BackendNames);

TYPED_TEST(GateStoreConformance, KeepsWhatEachLifeSaidLast) {
  EXPECT_THAT(*this->store().list_gates(this->key_), IsEmpty());
  ASSERT_OK(this->store().keep_gates(this->key_, row("b/1", 1, 0)));
  ASSERT_OK(this->store().keep_gates(this->key_, row("a/1", 2, 1)));
  ASSERT_OK(this->store().keep_gates(this->key_, row("b/1", 3, 2)));
  this->backend_.reopen();
  EXPECT_THAT(*this->store().list_gates(this->key_), ElementsAre(row("a/1", 2, 1), row("b/1", 3, 2)));
}

TYPED_TEST(GateStoreConformance, ForgetsThemWithTheirAttempt) {
  ASSERT_OK(this->store().keep_gates(this->key_, row("a/1", 2, 1)));
  const RoundKey newer = this->play_round(2);
  ASSERT_OK(this->store().keep_gates(newer, row("a/1", 1, 1)));
  EXPECT_EQ(*this->store().forget_rounds(JobId("j"), 2, wall(100), 100), 1u);
  EXPECT_THAT(*this->store().list_gates(this->key_), IsEmpty());
  // A node that comes late with its last word makes no row.
  ASSERT_OK(this->store().keep_gates(this->key_, row("a/1", 2, 1)));
  EXPECT_THAT(*this->store().list_gates(this->key_), IsEmpty());
  ASSERT_OK(this->store().set_job_state(JobId("j"), JobState::cancelled, ""));
  ASSERT_OK(this->store().delete_job(JobId("j"), std::nullopt));
  for (bool is_gone = false; !is_gone;) {
    const Result<ForgottenJob> forgotten = this->store().forget_job(JobId("j"), 10);
    ASSERT_OK(forgotten);
    is_gone = forgotten->is_gone;
  }
  EXPECT_THAT(*this->store().list_gates(newer), IsEmpty());
}

}  // namespace
}  // namespace coterie
