// Random operations on a database and on the obvious implementation in memory: every answer must be the same, whenever
// the database is closed and opened again.
#include "base/random.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"
#include "tests/unit/fl_server/store/store_text.h"

namespace coterie {
namespace {

using namespace test;

template <typename Backend>
class Differential {
 public:
  explicit Differential(uint64_t seed) : prng_(seed), with_noise_(seed % 4 == 0) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += static_cast<int64_t>(prng_.below(50));
      step();
      if (prng_.chance(0.02)) database_.reopen();
    }
    database_.reopen();
    for (int i = 0; i < 4; ++i) compare_everything(job(i));
  }

  int calls() const { return calls_; }
  int done() const { return done_; }

 private:
  // The same call on both; the answer as text.
  template <typename Call>
  std::string both(const std::string& what, Call call) {
    const std::string expected = text(call(memory_.store()));
    const std::string answer = text(call(database_.store()));
    EXPECT_EQ(answer, expected) << what;
    ++calls_;
    if (!expected.starts_with("error")) ++done_;
    return expected;
  }

  static JobId job(uint64_t index) { return JobId("j" + std::to_string(index)); }
  JobId some_job() { return job(prng_.below(4)); }

  RoundKey some_round() {
    const Result<JobProgress> progress = memory_.store().load_progress(some_job());
    if (progress && progress->latest && prng_.chance(0.8)) return progress->latest->key;
    return {RoundId(prng_.below(10)), Attempt(1 + static_cast<uint32_t>(prng_.below(3)))};
  }

  void step() {
    switch (prng_.below(16)) {
      case 0: return create_job();
      case 1: return change_job();
      case 2:
      case 3: return open_round();
      case 4:
      case 5:
      case 6: return move_round();
      case 7: return commit_round();
      case 8:
      case 9:
      case 10: return accept_batch();
      case 11: return forget();
      case 12: return ask_about(some_round());
      case 13: return reserve_release();
      case 14: return release_model();
      default: return compare_everything(some_job());
    }
  }

  void create_job() {
    const std::string id = some_job().value();
    const JobRecord record = id == "j3" && with_noise_ ? noisy_job_record(id, now_) : job_record(id, now_);
    both("create_job", [&](TrainingStore& s) { return s.create_job(record, model_record(id, 0)); });
  }

  void change_job() {
    const JobId id = some_job();
    const auto to = static_cast<JobState>(prng_.chance(0.8) ? 1 + prng_.below(2) : 1 + prng_.below(5));
    std::optional<uint64_t> expected;
    if (prng_.chance(0.3)) expected = 1 + prng_.below(6);
    both("set_job_state", [&](TrainingStore& s) { return s.set_job_state(id, to, "reason", expected); });
  }

  void release_model() {
    const JobId id = some_job();
    const ModelVersion version(prng_.below(4));
    if (prng_.chance(0.3)) both("roll_back_model", [&](TrainingStore& s) { return s.roll_back_model(id); });
    else both("promote_model", [&](TrainingStore& s) { return s.promote_model(id, version, wall(now_)); });
  }

  void open_round() {
    const JobId id = some_job();
    const Result<JobProgress> progress = memory_.store().load_progress(id);
    uint64_t number = 1 + prng_.below(4), base = prng_.below(3);
    uint32_t attempt = 1 + static_cast<uint32_t>(prng_.below(3));
    if (progress && prng_.chance(0.8)) {
      number = progress->job.rounds_done + 1;
      base = progress->head.version.value();
      const bool failed = progress->latest && progress->latest->state == RoundState::failed;
      attempt = failed ? progress->latest->key.attempt.value() + 1 : 1;
    }
    const OpenRound request{number, std::nullopt, Attempt(attempt), model_record(id.value(), base)};
    both("open_round", [&](TrainingStore& s) { return s.open_round(id, request, wall(now_)); });
  }

  void move_round() {
    const RoundKey key = some_round();
    using enum RoundState;
    constexpr RoundState kOrder[] = {selecting, collecting, frozen, finalizing};
    const uint64_t from = prng_.below(4);
    const RoundState to = from == 3 || prng_.chance(0.2) ? failed : kOrder[from + 1];
    const MoveRound request{key,
                            kOrder[from],
                            to,
                            to == failed ? "storm" : "",
                            static_cast<uint32_t>(prng_.below(9)),
                            to == failed && prng_.chance(0.3),
                            to == failed && prng_.chance(0.3)};
    both("move_round", [&](TrainingStore& s) { return s.move_round(request, wall(now_)); });
  }

  void commit_round() {
    const JobId id = some_job();
    const Result<JobProgress> progress = memory_.store().load_progress(id);
    if (!progress || !progress->latest) return;
    const uint64_t number = progress->latest->number;
    ModelRecord model = model_record(id.value(), progress->head.version.value() + 1);
    if (prng_.chance(0.5)) model.optimizer_state = filled_digest(9);
    if (prng_.chance(0.5)) model.evaluation_loss = 0.25;
    if (prng_.chance(0.5)) model.exact = filled_digest(8);
    if (prng_.chance(0.5)) model.deltas = {{filled_digest(6), filled_digest(7), 10}};
    const bool last = prng_.chance(0.1);
    std::optional<Digest> commitment;
    if (has_noise(progress->job.spec) != prng_.chance(0.1)) commitment = filled_digest(0x55);
    const RoundTotals totals{1 + prng_.below(9), 1, 2, 0.5, 3, 4};
    const CommitRound request{{progress->latest->key, model, totals, commitment}, number, !last, last};
    both("commit_round", [&](TrainingStore& s) { return s.commit_round(id, request, wall(now_)); });
    both("commit_round again", [&](TrainingStore& s) { return s.commit_round(id, request, wall(now_ + 1)); });
  }

  void reserve_release() {
    const Result<JobProgress> noisy = memory_.store().load_progress(job(3));
    const RoundKey key = noisy && noisy->latest && prng_.chance(0.8) ? noisy->latest->key : some_round();
    NoiseSalt fresh;
    fresh.mutable_bytes()[0] = static_cast<uint8_t>(prng_.next());
    both("reserve_release", [&](TrainingStore& s) { return s.reserve_release(key, fresh, wall(now_)); });
  }

  void accept_batch() {
    const RoundKey key = some_round();
    std::vector<uint64_t> devices;
    for (uint64_t i = 0; i < 30; ++i) {
      if (prng_.chance(0.1)) devices.push_back(i);
    }
    const PartialRecord partial = partial_record("n/" + std::to_string(prng_.below(60)), key, devices.size());
    both("accept_batch", [&](TrainingStore& s) { return s.accept_batch(partial, rows_of(devices)); });
  }

  void forget() {
    const auto sorted = [](TrainingStore& s) {
      std::vector<PartialRecord> partials = *s.list_finished_partials(1'000);
      std::sort(partials.begin(), partials.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      return partials;
    };
    both("list_finished_partials", sorted);
    std::vector<std::string> ids;
    for (const PartialRecord& partial : sorted(memory_.store())) {
      if (prng_.chance(0.5)) ids.push_back(partial.id);
    }
    both("forget_partials", [&](TrainingStore& s) { return s.forget_partials(ids); });
  }

  void ask_about(const RoundKey& key) {
    both("count_accepted", [&](TrainingStore& s) { return s.count_accepted(key); });
    both("list_accepted", [&](TrainingStore& s) { return s.list_accepted(key); });
    both("list_partials", [&](TrainingStore& s) { return s.list_partials(key); });
    const DeviceId device = numbered_device(prng_.below(30));
    both("is_accepted", [&](TrainingStore& s) { return s.is_accepted(key, device); });
  }

  void compare_everything(const JobId& id) {
    both("list_jobs", [&](TrainingStore& s) { return s.list_jobs(); });
    both("get_job", [&](TrainingStore& s) { return s.get_job(id); });
    both("released_model", [&](TrainingStore& s) { return s.released_model(id); });
    both("released_models", [&](TrainingStore& s) { return s.released_models(); });
    both("load_progress", [&](TrainingStore& s) { return s.load_progress(id); });
    both("list_rounds", [&](TrainingStore& s) { return s.list_rounds(id, {.limit = 1'000}); });
    const uint64_t before = prng_.below(5), limit = prng_.below(4);
    RoundQuery query{.limit = limit};
    if (before > 0) query.before = std::pair(before, Attempt(static_cast<uint32_t>(prng_.below(4))));
    if (prng_.chance(0.5)) query.state = static_cast<RoundState>(1 + prng_.below(6));
    both("list_rounds", [&](TrainingStore& s) { return s.list_rounds(id, query); });
    both("list_models", [&](TrainingStore& s) { return s.list_models(id); });
    both("job_privacy", [&](TrainingStore& s) { return s.job_privacy(id); });
    both("ledger_head", [&](TrainingStore& s) { return s.ledger_head(); });
    both("list_ledger", [&](TrainingStore& s) { return s.list_ledger(before, 1 + limit); });
    const ModelVersion version(prng_.below(4));
    both("get_model", [&](TrainingStore& s) { return s.get_model(id, version); });
  }

  Prng prng_;
  bool with_noise_;  // of job j3: accounting takes its time
  Backend database_;
  MemoryBackend memory_;
  int64_t now_ = 0;
  int calls_ = 0;
  int done_ = 0;
};

template <typename Backend>
class RoundStores : public testing::Test {
  void SetUp() override { SKIP_UNLESS_AVAILABLE(Backend); }
};
using Backends = testing::Types<SqliteBackend, PostgresBackend>;
TYPED_TEST_SUITE(RoundStores, Backends, BackendNames);

TYPED_TEST(RoundStores, GiveTheSameAnswersToTheSameRandomCalls) {
  const uint64_t seeds = test::seeds_on<TypeParam>(12);
  int calls = 0, done = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Differential<TypeParam> test(seed);
    test.run(250);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    calls += test.calls();
    done += test.done();
  }
  EXPECT_GT(2 * done, calls) << "most calls must do something, or the test shows little";
  std::printf("%llu seeds, %d calls on %s and in memory, %d of which did something\n",
              static_cast<unsigned long long>(seeds), calls, TypeParam::kName, done);
}

}  // namespace
}  // namespace coterie
