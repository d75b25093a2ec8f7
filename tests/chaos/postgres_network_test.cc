// The round store on PostgreSQL behind a network that fails at any byte: whatever the client was told, the store is
// before or after a transaction, never in between, and repeating it under the same name does it once.
#include <gmock/gmock.h>

#include "base/os/clock.h"
#include "tests/chaos/fault_proxy.h"
#include "tests/chaos/stride.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie::chaos {
namespace {

using namespace test;
using enum RoundState;

constexpr int kRepeatsMax = 10;
constexpr const char* kCommit = "COMMIT";  // in the client's request, and in the server's answer to it

bool is_in_doubt(const BatchOutcome& outcome) { return std::holds_alternative<BatchUnknown>(outcome); }
bool is_in_doubt(ErrorCode code) { return code == ErrorCode::unavailable || code == ErrorCode::timed_out; }

class PostgresNetwork : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(PostgresDatabase);
    auto postgres = PostgresServer::start();
    ASSERT_OK(postgres);
    postgres_ = std::move(*postgres);
    auto proxy = FaultProxy::start({}, {.path = postgres_->socket_path()});
    ASSERT_OK(proxy);
    proxy_ = std::move(*proxy);
    truth_ = open({.conninfo = postgres_->conninfo()});
    ASSERT_NE(truth_, nullptr);
    ASSERT_OK(truth_->create_job(job_record("j"), model_record("j", 0)));
    key_ = round_in("j", collecting);
  }
  PostgresSettings through_proxy() const {
    return {.conninfo = PostgresServer::conninfo_at(proxy_->endpoint().port), .connect_max = Millis(2'000)};
  }
  static std::unique_ptr<SqlTrainingStore> open(const PostgresSettings& settings) {
    auto store = SqlTrainingStore::open(open_postgres(settings));
    EXPECT_OK(store);
    return store ? std::move(*store) : nullptr;
  }
  // Connected anew, so that every conversation is the same: nothing is prepared.
  void reconnect(SqlTrainingStore& store) {
    proxy_->reset_all();
    EXPECT_OK(store.count_accepted(key_));
  }
  RoundKey round_in(const std::string& job, RoundState state) {
    const Result<RoundRecord> round =
        truth_->open_round(JobId(job), {1, std::nullopt, Attempt(1), model_record(job, 0)}, wall(1));
    EXPECT_OK(round);
    for (const auto& [from, to] : {std::pair(selecting, collecting), {collecting, frozen}, {frozen, finalizing}}) {
      if (from == state) break;
      EXPECT_TRUE(*truth_->move_round({round->key, from, to, "", 0}, wall(2)));
    }
    return round->key;
  }

  // Batch number i: two devices of its own, under a name as long as every other.
  BatchOutcome accept(SqlTrainingStore& store, uint64_t i) const {
    return store.accept_batch(partial_record("node-0/0123456789abcdef/" + std::to_string(100'000 + i), key_, 2),
                              {{device(2 * i)}, {device(2 * i + 1)}});
  }
  static DeviceId device(uint64_t i) {
    DeviceId id;
    for (size_t byte = 0; byte < 8; ++byte) id.bytes[byte] = static_cast<uint8_t>(i >> (8 * byte));
    return id;
  }
  bool is_counted(uint64_t i) {
    const bool first = *truth_->is_accepted(key_, device(2 * i)),
               second = *truth_->is_accepted(key_, device(2 * i + 1));
    EXPECT_EQ(first, second) << "half a batch";
    return first;
  }
  // Until nobody is in doubt any more: done, and there.
  void repeat_until_done(SqlTrainingStore& store, uint64_t i, BatchOutcome outcome) {
    for (int repeat = 0; is_in_doubt(outcome) && repeat < kRepeatsMax; ++repeat) outcome = accept(store, i);
    EXPECT_EQ(text(outcome), "done");
    EXPECT_TRUE(is_counted(i));
  }
  void expect_counted_once(uint64_t batches) {
    EXPECT_EQ(*truth_->count_accepted(key_), 2 * batches);
    uint64_t updates = 0;
    const std::vector<PartialRecord> partials = *truth_->list_partials(key_);
    for (const PartialRecord& partial : partials) updates += partial.totals.updates;
    EXPECT_EQ(updates, 2 * batches) << "what partial sums hold is what is accepted";
  }

  std::unique_ptr<PostgresServer> postgres_;
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<SqlTrainingStore> truth_;  // on a way of its own
  RoundKey key_;
};

// ---- The answer to COMMIT

std::string kind_name(const testing::TestParamInfo<FaultKind>& info) {
  switch (info.param) {
    case FaultKind::half_open: return "HalfOpen";
    case FaultKind::blackhole: return "BlackHole";
    case FaultKind::truncate: return "Truncated";
    default: return "Reset";
  }
}

class AnswerToCommit : public PostgresNetwork, public testing::WithParamInterface<FaultKind> {};
INSTANTIATE_TEST_SUITE_P(, AnswerToCommit,
                         testing::Values(FaultKind::reset, FaultKind::truncate, FaultKind::half_open,
                                         FaultKind::blackhole),
                         kind_name);

TEST_P(AnswerToCommit, IsLostAndTheBatchIsCounted) {
  PostgresSettings hasty = through_proxy();
  hasty.statement_max = Millis(300);
  const auto store = open(hasty);
  ASSERT_NE(store, nullptr);
  proxy_->arm({.kind = GetParam(), .direction = Direction::to_client, .pattern = kCommit});
  const BatchOutcome outcome = accept(*store, 0);
  EXPECT_TRUE(proxy_->has_struck());
  EXPECT_TRUE(is_in_doubt(outcome)) << text(outcome);
  EXPECT_TRUE(is_counted(0)) << "the server had committed before it answered";
  proxy_->clear();
  repeat_until_done(*store, 0, outcome);
  expect_counted_once(1);
}

// The server never hears it. A connection that vanished keeps its locks until the server gives it up.
class RequestToCommit : public AnswerToCommit {};
INSTANTIATE_TEST_SUITE_P(, RequestToCommit,
                         testing::Values(FaultKind::reset, FaultKind::truncate, FaultKind::blackhole), kind_name);

TEST_P(RequestToCommit, IsLostAndNothingIsCountedUntilItIsRepeated) {
  PostgresSettings hasty = through_proxy();
  hasty.statement_max = Millis(3'000);
  const auto store = open(hasty);
  ASSERT_NE(store, nullptr);
  proxy_->arm({.kind = GetParam(), .direction = Direction::to_server, .pattern = kCommit});
  const BatchOutcome outcome = accept(*store, 0);
  EXPECT_TRUE(proxy_->has_struck());
  EXPECT_TRUE(is_in_doubt(outcome)) << text(outcome);
  EXPECT_FALSE(is_counted(0));
  proxy_->clear();
  repeat_until_done(*store, 0, outcome);
  expect_counted_once(1);
}

// ---- Cut anywhere

TEST_F(PostgresNetwork, ABatchIsCountedOnceWhereverItsConversationIsCut) {
  const auto store = open(through_proxy());
  ASSERT_NE(store, nullptr);
  uint64_t batch = 0, cuts = 0, in_doubt_but_counted = 0;
  for (const Direction direction : {Direction::to_server, Direction::to_client}) {
    bool is_cut = true;
    for (uint64_t at = 0; is_cut && !HasFailure(); at += stride(41), ++batch) {
      reconnect(*store);
      proxy_->arm({.kind = FaultKind::reset, .direction = direction, .after_bytes = at});
      const BatchOutcome outcome = accept(*store, batch);
      is_cut = proxy_->has_struck();
      proxy_->clear();
      SCOPED_TRACE("cut in front of byte " + std::to_string(at) +
                   (direction == Direction::to_server ? " to" : " from") + " the server: " + text(outcome));
      cuts += is_cut;
      if (is_in_doubt(outcome)) in_doubt_but_counted += is_counted(batch);
      else EXPECT_TRUE(is_counted(batch)) << "who was told done is counted";
      if (!is_cut) EXPECT_FALSE(is_in_doubt(outcome));
      repeat_until_done(*store, batch, outcome);
    }
  }
  expect_counted_once(batch);
  std::printf("%llu cuts of accept_batch, %llu of them in doubt and counted\n", static_cast<unsigned long long>(cuts),
              static_cast<unsigned long long>(in_doubt_but_counted));
  EXPECT_GE(cuts, kIsNight ? 1'000u : 25u) << "the conversation is longer than that";
}

TEST_F(PostgresNetwork, ARoundIsDoneOnceWhereverTheConversationOfItsCommitIsCut) {
  const auto store = open(through_proxy());
  ASSERT_NE(store, nullptr);
  uint64_t cuts = 0, rounds = 0, in_doubt_but_done = 0;
  for (const Direction direction : {Direction::to_server, Direction::to_client}) {
    bool is_cut = true;
    for (uint64_t at = 0; is_cut && !HasFailure(); at += stride(311, 5), ++rounds) {
      const std::string job = "job-" + std::to_string(100'000 + rounds);
      ASSERT_OK(truth_->create_job(job_record(job), model_record(job, 0)));
      const RoundKey key = round_in(job, finalizing);
      const CommitRound commit{{key, model_record(job, 1), {3, 30, 300, 1.5, 200, 9}}, 1, true, false};
      reconnect(*store);
      proxy_->arm({.kind = FaultKind::reset, .direction = direction, .after_bytes = at});
      Result<JobProgress> progress = store->commit_round(JobId(job), commit, wall(4));
      is_cut = proxy_->has_struck();
      proxy_->clear();
      SCOPED_TRACE("cut in front of byte " + std::to_string(at) +
                   (direction == Direction::to_server ? " to" : " from") +
                   " the server: " + (progress ? "done" : progress.error().message()));
      cuts += is_cut;
      const JobProgress before = *truth_->load_progress(JobId(job));  // waits for a commit that is under way
      const bool is_done = before.job.rounds_done == 1;
      EXPECT_EQ(before.head.version.value(), is_done ? 1u : 0u);
      EXPECT_EQ(before.latest->number, is_done ? 2u : 1u) << "the next round is opened with it";
      if (progress) EXPECT_TRUE(is_done);
      else EXPECT_TRUE(is_in_doubt(progress.error().code())) << progress.error().message();
      if (!progress) in_doubt_but_done += is_done;
      for (int repeat = 0; !progress && repeat < kRepeatsMax; ++repeat) {
        progress = store->commit_round(JobId(job), commit, wall(4));
      }
      ASSERT_OK(progress);
      EXPECT_EQ(text(*progress), text(*truth_->load_progress(JobId(job))));
      EXPECT_EQ(progress->job.rounds_done, 1u);
      EXPECT_EQ(truth_->list_models(JobId(job))->size(), 2u);
      EXPECT_EQ(truth_->list_rounds(JobId(job), {.limit = 10})->size(), 2u);
    }
  }
  std::printf("%llu cuts of commit_round, %llu of them in doubt and done\n", static_cast<unsigned long long>(cuts),
              static_cast<unsigned long long>(in_doubt_but_done));
  EXPECT_GE(cuts, kIsNight ? 1'600u : 25u) << "the conversation is longer than that";
}

// ---- Slow, silent, gone

// Two seconds are no failure: the driver has patience.
TEST_F(PostgresNetwork, AStallOfTwoSecondsIsWaitedFor) {
  const auto store = open(through_proxy());
  ASSERT_NE(store, nullptr);
  constexpr Millis kStall{2'000};
  proxy_->arm({.kind = FaultKind::delay, .direction = Direction::to_client, .pattern = kCommit, .delay = kStall});
  const Instant begin = os::monotonic_now();
  EXPECT_EQ(text(accept(*store, 0)), "done");
  EXPECT_GE(os::monotonic_now() - begin, kStall);
  EXPECT_TRUE(proxy_->has_struck());
  proxy_->clear();
  expect_counted_once(1);
}

TEST_F(PostgresNetwork, ABlackHoleEndsAtTheDriversOwnDeadline) {
  PostgresSettings hasty = through_proxy();
  hasty.statement_max = Millis(200);
  const auto store = open(hasty);
  ASSERT_NE(store, nullptr);
  proxy_->arm({.kind = FaultKind::blackhole, .direction = Direction::to_server});
  EXPECT_ERROR(store->list_jobs(), ErrorCode::timed_out, "no answer in 200 ms");
  const Result<Database> more = open_postgres(hasty);
  EXPECT_ERROR(more, ErrorCode::unavailable, "timeout expired") << "nor does connecting hang";
  proxy_->clear();
  EXPECT_EQ(store->list_jobs()->size(), 1u);
}

TEST_F(PostgresNetwork, AServerThatRefusesIsTriedAgainByTheNextCall) {
  const auto store = open(through_proxy());
  ASSERT_NE(store, nullptr);
  proxy_->refuse(true);
  proxy_->reset_all();
  const BatchOutcome outcome = accept(*store, 0);
  EXPECT_TRUE(is_in_doubt(outcome)) << text(outcome);
  EXPECT_FALSE(is_counted(0));
  EXPECT_ERROR(open_postgres(through_proxy()), ErrorCode::unavailable, "Connection refused");
  proxy_->refuse(false);
  repeat_until_done(*store, 0, outcome);
  expect_counted_once(1);
}

// A network that is slow, and loses a connection every few kilobytes.
TEST_F(PostgresNetwork, ManyBatchesOverAConnectionThatKeepsBreakingAreCountedOnce) {
  constexpr uint64_t kBatches = 40;
  const auto store = open(through_proxy());
  ASSERT_NE(store, nullptr);
  uint64_t breaks = 0;
  for (uint64_t i = 0; i < kBatches; ++i) {
    const Direction direction = i % 2 == 0 ? Direction::to_client : Direction::to_server;
    proxy_->arm({.kind = i % 3 == 0 ? FaultKind::truncate : FaultKind::reset,
                 .direction = direction,
                 .after_bytes = 131 * (i % 7)});
    const BatchOutcome outcome = accept(*store, i);
    breaks += proxy_->has_struck();
    proxy_->clear();
    repeat_until_done(*store, i, outcome);
  }
  EXPECT_GE(breaks, kBatches / 2);
  expect_counted_once(kBatches);
}

}  // namespace
}  // namespace coterie::chaos
