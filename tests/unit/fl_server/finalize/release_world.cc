#include "tests/unit/fl_server/finalize/release_world.h"

#include <algorithm>

#include "fl_server/store/sql/sqlite.h"
#include "secure/dp/noise/noise_tree.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie::test {
namespace {

constexpr uint64_t kValues = 40;
constexpr uint64_t kRounds = 4;
constexpr uint64_t kReleasesMax = kRounds;  // that the budget takes: attempts that fail use up none of it
constexpr int kStepsMax = 3'000;

WallTime wall(int64_t ms) { return wall_time_from_unix_ms(1'760'000'000'000 + ms); }

}  // namespace

ReleaseWorld::ReleaseWorld(uint64_t seed, RoundNoiseMaker& noise, NoiseMechanism mechanism, bool adapts_clip)
    : storm_(seed), finalizer_(store_, store_, blobs_, partials_, noise, {}) {
  job_.id = JobId("j");
  job_.spec.common.name = "storm";
  job_.spec.horizontal().rounds.count = kRounds;
  job_.spec.horizontal().rounds.goal_count = 3;
  job_.spec.horizontal().rounds.attempts_max = 20;
  job_.spec.horizontal().update.clip_l2 = 1;
  job_.spec.horizontal().update.weight_max = 1;
  job_.spec.horizontal().privacy = {SecurityLevel::none, 2, 1e-6, 0};
  job_.spec.horizontal().privacy.mechanism = mechanism;
  if (is_tree()) job_.spec.horizontal().rounds.separation_min = 2;
  if (adapts_clip) job_.spec.horizontal().privacy.adaptive_clip = AdaptiveClipSettings{};
  job_.value_count = kValues;
  const LedgerRelease release = release_of(job_.spec.horizontal(), kValues);
  const uint64_t releases_max = is_tree() ? 1 : kReleasesMax;
  job_.spec.horizontal().privacy.epsilon_budget = account_of({{release, releases_max}}, 1e-6)->epsilon;
  const std::vector<float> weights(kValues);
  ModelRecord base;
  base.job = job_.id;
  base.digest = *static_cast<BlobStore&>(partials_).put(test::plain_model(weights));
  const Bytes& frame = partials_.bytes_of(base.digest);
  base.bytes = frame.size();
  while (!blobs_.put(frame)) storm_.revive();
  storm_.revive();
  reopen();
  EXPECT_OK(sqlite_->create_job(job_, base));
}

void ReleaseWorld::reopen() {
  sqlite_.reset();
  auto opened = SqlTrainingStore::open(open_sqlite(directory_ / "db"));
  ASSERT_OK(opened);
  sqlite_ = std::move(*opened);
  storm_.revive();
}

void ReleaseWorld::run() {
  for (int lives = 0; lives < 300; ++lives) {
    drive();
    if (testing::Test::HasFatalFailure()) return;
    const bool over = !storm_.dead();
    reopen();
    check();
    if (over || testing::Test::HasFailure()) return;
  }
  ADD_FAILURE() << "never came to an end";
}

// One life of the process: until it dies or the job is over.
void ReleaseWorld::drive() {
  RoundMachine machine(job_.id);
  RoundEffects effects = machine.start();
  for (int step = 0; step < kStepsMax && !storm_.dead(); ++step) {
    std::optional<RoundEvent> event;
    for (const RoundEffect& effect : effects) {
      if (const auto* asked = std::get_if<AskRound>(&effect)) event = answer(asked->serial, asked->request);
      else if (const auto* published = std::get_if<PublishRound>(&effect)) {
        if (const auto reaction = react(published->notice)) event = reaction;
      }
    }
    if (storm_.dead() || machine.ended()) return;
    if (!event) {
      ASSERT_TRUE(machine.next_deadline().has_value()) << "stuck";
      now_ = std::max(now_, machine.next_deadline()->time_since_epoch().count());
      event = TimePassed{};
    }
    effects = machine.step(*event, Instant(Millis(now_)));
  }
  ASSERT_TRUE(storm_.dead()) << "the job does not end";
}

// Devices come at once, and three of them send an update of zeros: others in every other round.
std::optional<RoundEvent> ReleaseWorld::react(const RoundNotice& notice) {
  if (notice.state == RoundState::selecting) return PoolChanged{100};
  if (notice.state != RoundState::collecting) return std::nullopt;
  const std::string id =
      "p" + std::to_string(notice.key.round.value()) + "." + std::to_string(notice.key.attempt.value());
  const uint64_t values = notice.plan.update.value_count;
  const PartialSumHeader header{notice.key, id, 3, 3, values};
  Bytes frame = encode_head(header);
  frame.resize(frame.size() + values * sizeof(uint64_t));
  RoundTotals totals;
  totals.updates = totals.weight = 3;
  std::vector<AcceptRow> rows(3);
  for (uint8_t i = 0; i < 3; ++i) {
    rows[i].device.bytes[0] = i;
    rows[i].device.bytes[1] = static_cast<uint8_t>(notice.number % 2);
  }
  const PartialRecord record{id, notice.key, totals, *partials_.put(frame)};
  EXPECT_TRUE(std::holds_alternative<BatchDone>(store_.accept_batch(record, rows)));
  return UpdatesAccepted{notice.key, 3};
}

RoundEvent ReleaseWorld::answer(uint64_t n, const RoundRequest& request) {
  struct Visitor {
    ReleaseWorld& w;
    uint64_t n;
    RoundEvent operator()(const LoadProgress&) { return ProgressLoaded{n, w.store_.load_progress(w.job_.id)}; }
    RoundEvent operator()(const OpenRound& r) {
      return RoundOpened{n, w.store_.open_round(w.job_.id, r, wall(w.now_))};
    }
    RoundEvent operator()(const CountAccepted& r) { return AcceptedCounted{n, w.store_.count_accepted(r.key)}; }
    RoundEvent operator()(const MoveRound& r) { return RoundMoved{n, w.store_.move_round(r, wall(w.now_))}; }
    RoundEvent operator()(const FinalizeRound& r) { return w.finalize(n, r); }
    RoundEvent operator()(const CommitRound& r) {
      return RoundCommitted{n, w.store_.commit_round(w.job_.id, r, wall(w.now_))};
    }
    RoundEvent operator()(const FailJob& r) {
      const Result<JobRecord> done = w.store_.set_job_state(w.job_.id, JobState::failed, r.reason);
      return JobFailed{n, done ? Status() : Status(done.error())};
    }
  };
  return std::visit(Visitor{*this, n}, request);
}

RoundEvent ReleaseWorld::finalize(uint64_t n, const FinalizeRound& request) {
  Result<FinalizedRound> round = finalizer_.finalize(request.job, request.round, request.base, wall(now_));
  if (round) drawn_[round->key].insert(round->model.digest);
  if (round && round->model.clip_norm) clips_[round->key].insert(*round->model.clip_norm);
  // Noise is drawn, and then this attempt fails: its reserve must be void, and it must never be released.
  if (round && !doomed_.contains(round->key) && storm_.prng().chance(0.15)) doomed_.insert(round->key);
  if (round && doomed_.contains(round->key)) round = Error(ErrorCode::data_loss, "the storm");
  return RoundFinalized{n, std::move(round)};
}

// What is durable, against what has been seen.
void ReleaseWorld::check() {
  const std::vector<LedgerRecord> records = sqlite_->list_ledger(0, 100'000).value();
  const Result<Ledger> ledger = Ledger::replay(records);
  ASSERT_OK(ledger);
  EXPECT_OK(ledger->verify_extends(records_seen_, head_seen_)) << "the ledger went back";
  records_seen_ = ledger->size();
  head_seen_ = ledger->head();

  for (const auto& [key, models] : drawn_) {
    EXPECT_EQ(models.size(), 1u) << "one sum got two noises";
    if (!is_tree()) EXPECT_NE(ledger->find_reserve(key), nullptr) << "noise without a durable reserve";
  }
  const PrivacySpent spent = ledger->spent(job_.id, 1e-6).value();
  if (is_tree()) return check_tree(spent);
  std::set<RoundKey> voided;
  for (const LedgerRecord& record : records) {
    if (record.kind == LedgerKind::voided) voided.insert(record.round);
  }
  for (const RoundKey& key : voided) EXPECT_TRUE(doomed_.contains(key)) << "what may be released is not void";
  const auto counted =
      static_cast<uint64_t>(std::ranges::count_if(drawn_, [&](const auto& e) { return !voided.contains(e.first); }));
  EXPECT_GE(spent.releases, counted) << "the ledger understates";
  EXPECT_LE(spent.account.epsilon, job_.spec.horizontal().privacy.epsilon_budget);

  std::set<Digest> drawn_models;
  for (const auto& [key, models] : drawn_) {
    if (!voided.contains(key)) drawn_models.insert(models.begin(), models.end());
  }
  const std::vector<ModelRecord> models = sqlite_->list_models(job_.id).value();
  released_ = models.size() - 1;
  for (size_t i = 1; i < models.size(); ++i) EXPECT_TRUE(drawn_models.contains(models[i].digest));
  check_clips(models);
  EXPECT_EQ(spent.releases - spent.open_reserves, released_) << "every model has its commit, and no other";
  const JobRecord job = sqlite_->get_job(job_.id).value();
  if (job.state == JobState::completed) EXPECT_EQ(released_, kRounds);
  EXPECT_NE(job.state, JobState::failed) << job.reason;
}

// Each attempt comes to one clip however often it is finalized, and a round's is the one that its base came with.
void ReleaseWorld::check_clips(const std::vector<ModelRecord>& models) {
  if (!job_.spec.horizontal().privacy.adaptive_clip) return;
  for (const auto& [key, clips] : clips_) EXPECT_EQ(clips.size(), 1u) << "one sum gave two clips";
  const auto rounds = sqlite_->list_rounds(job_.id, {.limit = 10'000});
  ASSERT_OK(rounds);
  for (const RoundRecord& round : *rounds) {
    EXPECT_EQ(round.clip_norm, models.at(round.base.value()).clip_norm.value_or(0)) << "round " << round.number;
    if (round.state != RoundState::done) continue;
    const ModelRecord& made = models.at(round.base.value() + 1);
    ASSERT_TRUE(made.clip_norm.has_value());
    EXPECT_TRUE(clips_[round.key].contains(*made.clip_norm)) << "a clip that no sum gave";
    EXPECT_NE(*made.clip_norm, round.clip_norm) << "noise moves it";
  }
}

// One release for all rounds, from the first noise on that may have been released.
void ReleaseWorld::check_tree(const PrivacySpent& spent) {
  std::set<Digest> drawn_models;
  bool has_noise = false;
  for (const auto& [key, models] : drawn_) {
    drawn_models.insert(models.begin(), models.end());
    has_noise = has_noise || !doomed_.contains(key);
  }
  const std::vector<ModelRecord> models = sqlite_->list_models(job_.id).value();
  released_ = models.size() - 1;
  for (size_t i = 1; i < models.size(); ++i) EXPECT_TRUE(drawn_models.contains(models[i].digest));
  if (has_noise) EXPECT_EQ(spent.releases, 1u) << "the ledger understates, or charges an attempt that failed";
  if (released_ > 0) EXPECT_EQ(spent.open_reserves, 0u) << "the tree is committed with the first model";
  EXPECT_LE(spent.releases, 1u);
  EXPECT_LE(spent.account.epsilon, job_.spec.horizontal().privacy.epsilon_budget);
  const JobRecord job = sqlite_->get_job(job_.id).value();
  EXPECT_NE(job.state, JobState::failed) << job.reason;
  // What of the noise can be made again: that of the model, and that of the attempt under way.
  auto database = open_sqlite(directory_ / "db");
  ASSERT_OK(database);
  Statement salts = database->prepare(
      "SELECT count(*) FROM noise_salt s JOIN round r ON r.id = s.round AND r.attempt = s.attempt WHERE r.state = 5");
  ASSERT_TRUE(*salts.step());
  const size_t needed = job.state == JobState::completed ? 0 : nodes_of_prefix(released_).size();
  EXPECT_EQ(salts.u64(0), needed);
  if (job.state == JobState::completed) EXPECT_EQ(released_, kRounds);
}

}  // namespace coterie::test
