// The conformance suite of canaries, on both databases: who has which version, what is heard once, and how it ends.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/os/crash_point.h"
#include "tests/unit/fl_server/store/round_store_fixture.h"

namespace coterie {
namespace {

using namespace test;
using enum CanaryState;

constexpr CanaryCounts kSame{.both = 9, .neither = 1};
constexpr CanaryCounts kWorse{.only_old = 10};

JobId job(const char* id) { return JobId(id); }

template <typename Backend>
class CanaryStoreConformance : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_AVAILABLE(Backend);
    for (const char* const id : {"j", "k"}) {
      ASSERT_OK(store().create_job(job_record(id), model_record(id, 0)));
      play_round(id, 1);
    }
    ASSERT_OK(store().promote_model(job("j"), ModelVersion(0), wall(10)));
  }
  auto& store() { return backend_.store(); }

  void play_round(const char* id, uint64_t number) {
    const OpenRound open{number, std::nullopt, Attempt(1), model_record(id, number - 1)};
    const Result<RoundRecord> round = store().open_round(job(id), open, wall(1));
    ASSERT_OK(round);
    for (const RoundState to : {RoundState::collecting, RoundState::frozen, RoundState::finalizing}) {
      const auto from = static_cast<RoundState>(static_cast<int>(to) - 1);
      ASSERT_TRUE(*store().move_round({round->key, from, to, "", 0}, wall(2)));
    }
    const CommitRound commit{{round->key, model_record(id, number), {3, 30, 300, 1.5, 200, 9}}, number, false, false};
    ASSERT_OK(store().commit_round(job(id), commit, wall(3)));
  }
  Result<CanaryRecord> open(const std::string& id, const char* of, uint64_t version, CanarySettings settings = {}) {
    if (settings.percent == 0) settings.percent = 50;
    return store().open_canary(
        {.id = id, .canary = {job(of), ModelVersion(version)}, .salt = filled_digest(7), .settings = settings},
        wall(20));
  }
  Result<ObservedCanary> observe(const std::string& id, const std::vector<CanaryObservation>& observations,
                                 const char* of = "j") {
    return store().observe_canary(job(of), id, observations, wall(30));
  }
  // One after the other, until it ends.
  Result<ObservedCanary> observe_until_end(const std::string& id, const CanaryCounts& counts, const char* of = "j") {
    for (int device = 0;; ++device) {
      COT_ASSIGN(ObservedCanary observed, observe(id, {{"d" + std::to_string(device), counts}}, of));
      if (observed.canary.state != running || observed.late > 0) return observed;
    }
  }
  NamedVersion version_for(uint64_t device) {
    const Result<GivenModel> given = store().model_for(Population("default"), numbered_device(device));
    EXPECT_OK(given);
    return given ? given->version : NamedVersion{};
  }
  // How many of 100 devices have this version; the others have `other`.
  int devices_with(const NamedVersion& version, const NamedVersion& other) {
    int with = 0;
    for (uint64_t device = 0; device < 100; ++device) {
      const NamedVersion has = version_for(device);
      EXPECT_TRUE(has == version || has == other) << has.job.value() << " " << has.version.value();
      with += has == version;
    }
    return with;
  }
  Backend backend_;
  const NamedVersion old_{job("j"), ModelVersion(0)}, new_{job("j"), ModelVersion(1)};
};
using Backends = testing::Types<SqliteBackend, PostgresBackend>;
TYPED_TEST_SUITE(CanaryStoreConformance, Backends, BackendNames);

TYPED_TEST(CanaryStoreConformance, GivesAShareOfTheDevicesItsVersionAndAllTheOldOneBehindItsEnd) {
  EXPECT_EQ(this->devices_with(this->old_, this->old_), 100);
  const auto opened = this->open("c1", "j", 1);
  ASSERT_OK(opened);
  EXPECT_EQ(opened->base, this->old_);
  EXPECT_EQ(opened->state, running);
  const int share = this->devices_with(this->new_, this->old_);
  EXPECT_GT(share, 25);
  EXPECT_LT(share, 75);
  for (uint64_t device = 0; device < 100; ++device) {
    EXPECT_EQ(this->version_for(device) == this->new_, is_in_share(filled_digest(7), 50, numbered_device(device)));
  }
  const auto given = this->store().model_for(Population("default"), numbered_device(0));
  EXPECT_EQ(given->digest, model_record("j", given->version.version.value()).digest);
  this->backend_.reopen();
  EXPECT_EQ(this->devices_with(this->new_, this->old_), share) << "the same ones";
  const auto ended = this->store().end_canary(job("j"), "c1", "enough", wall(40));
  ASSERT_OK(ended);
  EXPECT_EQ(ended->state, CanaryState::ended);
  EXPECT_EQ(ended->reason, "enough");
  EXPECT_EQ(this->devices_with(this->old_, this->old_), 100);
  EXPECT_EQ(*this->store().end_canary(job("j"), "c1", "again", wall(50)), *ended) << "an end is final";
}

TYPED_TEST(CanaryStoreConformance, IsRolledBackByWhatItHears) {
  ASSERT_OK(this->open("c1", "j", 1));
  const auto rolled_back = this->observe_until_end("c1", kWorse);
  ASSERT_OK(rolled_back);
  EXPECT_EQ(rolled_back->canary.state, CanaryState::rolled_back);
  EXPECT_TRUE(rolled_back->has_ended);
  EXPECT_EQ(rolled_back->canary.ended, wall(30));
  EXPECT_EQ(this->devices_with(this->old_, this->old_), 100);
  EXPECT_EQ(this->store().released_model(job("j"))->value().version, ModelVersion(0)) << "never was released";
  EXPECT_EQ(*this->store().get_canary(job("j"), "c1"), rolled_back->canary);
}

TYPED_TEST(CanaryStoreConformance, IsPromotedByItselfWhereItWasAsked) {
  ASSERT_OK(this->open("c1", "j", 1, {.percent = 10, .promote_after = 3}));
  const auto promoted = this->observe_until_end("c1", kSame);
  ASSERT_OK(promoted);
  EXPECT_EQ(promoted->canary.state, CanaryState::promoted);
  EXPECT_EQ(promoted->canary.heard.heard, 3u);
  EXPECT_EQ(this->devices_with(this->new_, this->new_), 100);
  EXPECT_EQ(this->store().roll_back_model(job("j"))->version, ModelVersion(0)) << "it was a release as any other";
}

TYPED_TEST(CanaryStoreConformance, HearsASourceOnce) {
  ASSERT_OK(this->open("c1", "j", 1));
  const auto first = this->observe("c1", {{"a", kWorse}, {"a", kWorse}, {"b", kSame}});
  ASSERT_OK(first);
  EXPECT_EQ(first->counted, 2u);
  EXPECT_EQ(first->repeated, 1u);
  const auto again = this->observe("c1", {{"a", kWorse}, {"b", kWorse}});
  ASSERT_OK(again);
  EXPECT_EQ(again->counted, 0u);
  EXPECT_EQ(again->repeated, 2u);
  EXPECT_EQ(again->canary, first->canary);
  for (int i = 0; i < 100; ++i) ASSERT_OK(this->observe("c1", {{"a", kWorse}}));
  EXPECT_EQ(this->store().get_canary(job("j"), "c1")->state, running) << "one device alone ends nothing";
}

// What is late is told so, and is nothing to the canary after it.
TYPED_TEST(CanaryStoreConformance, WhatIsLateEndsNothing) {
  ASSERT_OK(this->open("c1", "j", 1));
  ASSERT_OK(this->observe_until_end("c1", kWorse));
  ASSERT_OK(this->open("c2", "j", 1));
  for (int i = 0; i < 100; ++i) {
    const auto late = this->observe("c1", {{"late" + std::to_string(i), kWorse}});
    ASSERT_OK(late);
    EXPECT_EQ(late->late, 1u);
    EXPECT_FALSE(late->has_ended);
  }
  EXPECT_EQ(this->store().get_canary(job("j"), "c2")->heard.heard, 0u);
  EXPECT_EQ(this->observe("c2", {{"d0", kSame}})->counted, 1u) << "who spoke of the one before speaks of this one";
  EXPECT_ERROR(this->observe("c2", {{"x", kWorse}}, "k"), ErrorCode::not_found, "no such canary of job k");
  EXPECT_ERROR(this->observe("c3", {{"x", kWorse}}), ErrorCode::not_found, "");
}

TYPED_TEST(CanaryStoreConformance, HearsNothingBehindItsLast) {
  ASSERT_OK(this->open("c1", "j", 1, {.percent = 10, .trial = {.devices_max = 2}}));
  const auto full = this->observe("c1", {{"a", kSame}, {"b", kSame}, {"c", kWorse}});
  ASSERT_OK(full);
  EXPECT_EQ(full->counted, 2u);
  EXPECT_EQ(full->late, 1u);
  EXPECT_EQ(full->canary.state, running);
}

TYPED_TEST(CanaryStoreConformance, RunsAloneInItsPopulation) {
  EXPECT_ERROR(this->open("c1", "j", 2), ErrorCode::not_found, "version 2");
  EXPECT_ERROR(this->open("c1", "none", 1), ErrorCode::not_found, "");
  EXPECT_ERROR(this->open("c1", "j", 0), ErrorCode::conflict, "is what job j has promoted already");
  ASSERT_OK(this->open("c1", "k", 1));
  EXPECT_EQ(this->devices_with({job("k"), ModelVersion(1)}, this->old_) % 100 == 0, false) << "of another job";
  EXPECT_ERROR(this->open("c2", "j", 1), ErrorCode::conflict, "canary c1 of version 1 of job k runs");
  EXPECT_ERROR(this->store().promote_model(job("j"), ModelVersion(1), wall(30)), ErrorCode::conflict,
               "canary c1 of version 1 of job k runs");
  EXPECT_ERROR(this->store().roll_back_model(job("j")), ErrorCode::conflict, "end it first");
  ASSERT_OK(this->store().promote_model(job("k"), ModelVersion(1), wall(30)));
  EXPECT_EQ(this->store().get_canary(job("k"), "c1")->state, promoted) << "promoted by a person";
  EXPECT_EQ(this->devices_with({job("k"), ModelVersion(1)}, this->old_), 100);
  EXPECT_OK(this->open("c2", "j", 1));
}

TYPED_TEST(CanaryStoreConformance, BeginsOnlyBesideAVersionThatOthersKeep) {
  JobRecord elsewhere = job_record("e");
  elsewhere.spec.common.population = Population("elsewhere");
  ASSERT_OK(this->store().create_job(elsewhere, model_record("e", 0)));
  EXPECT_ERROR(this->open("c1", "e", 0), ErrorCode::conflict, "nothing is promoted in population elsewhere");
  EXPECT_ERROR(this->store().model_for(Population("elsewhere"), numbered_device(1)), ErrorCode::not_found,
               "no model is promoted");
  const auto job_now = this->store().get_job(job("j"));
  EXPECT_ERROR(this->store().open_canary({.id = "c1", .canary = this->new_, .salt = {}, .settings = {.percent = 5}},
                                         wall(20), job_now->revision + 1),
               ErrorCode::conflict, "somebody has changed it");
}

// As a server of the version before does, which knows no canaries: what others have is another version now.
TYPED_TEST(CanaryStoreConformance, EndsWhereOthersHaveAnotherVersionMeanwhile) {
  ASSERT_OK(this->open("c1", "j", 1));
  auto database = this->backend_.open_database();
  ASSERT_OK(database);
  Database& other = *database;
  ASSERT_OK(other.execute("INSERT INTO model_release(job, seq, version, time) VALUES('k', 1, 1, 1750000009999)"));
  const NamedVersion of_k{job("k"), ModelVersion(1)};
  EXPECT_EQ(this->devices_with(of_k, of_k), 100) << "a canary stands beside what it began beside, or not at all";
  const auto observed = this->observe("c1", {{"a", kSame}});
  ASSERT_OK(observed);
  EXPECT_EQ(observed->canary.state, CanaryState::ended);
  EXPECT_EQ(observed->late, 1u);
  EXPECT_TRUE(observed->has_ended);
}

TYPED_TEST(CanaryStoreConformance, ItsVersionAndItsJobStayWhileItRuns) {
  this->play_round("k", 2);
  this->play_round("k", 3);
  ASSERT_OK(this->open("c1", "k", 1));
  const auto gone = this->store().forget_models(job("k"), {ModelVersion(1), ModelVersion(2)});
  ASSERT_OK(gone);
  ASSERT_EQ(gone->size(), 1u);
  EXPECT_EQ(gone->front().version, ModelVersion(2));
  ASSERT_OK(this->store().set_job_state(job("k"), JobState::cancelled, ""));
  EXPECT_ERROR(this->store().delete_job(job("k"), {}), ErrorCode::conflict, "canary c1 of job k runs");
  ASSERT_OK(this->store().end_canary(job("k"), "c1", "", wall(40)));
  EXPECT_OK(this->store().delete_job(job("k"), {}));
  for (;;) {
    const auto forgotten = this->store().forget_job(job("k"), 2);
    ASSERT_OK(forgotten);
    if (forgotten->is_gone) break;
  }
}

TYPED_TEST(CanaryStoreConformance, KeepsSoManyThatAreOver) {
  for (size_t i = 0; i < kCanariesKept + 3; ++i) {
    const std::string id = "c" + std::to_string(i);
    const auto opened = this->store().open_canary(
        {.id = id, .canary = this->new_, .salt = {}, .settings = {.percent = 5}}, wall(20 + static_cast<int64_t>(i)));
    ASSERT_OK(opened);
    ASSERT_OK(this->store().end_canary(job("j"), id, "", wall(30)));
  }
  const auto canaries = this->store().list_canaries(job("j"));
  ASSERT_OK(canaries);
  EXPECT_EQ(canaries->size(), kCanariesKept);
  EXPECT_EQ(canaries->front().id, "c" + std::to_string(kCanariesKept + 2)) << "newest first";
  EXPECT_ERROR(this->store().get_canary(job("j"), "c2"), ErrorCode::not_found, "");
  EXPECT_OK(this->store().get_canary(job("j"), "c3"));
}

// Runs it in a process of its own, which is killed there.
template <typename Act>
void expect_killed_at(const std::string& point, Act act) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(os::arm_crash_point(point) && act() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point is not reached";
}

// An observation that is the last straw, killed before and behind its commit: all of it is there, or nothing; and sent
// again it comes to the same.
TEST(CanaryStoreCrash, AnObservationAndItsEndAreOneThing) {
  for (const std::string point : {"promote_model.begun", "promote_model.before_commit", "promote_model.after_commit"}) {
    SCOPED_TRACE(point);
    const TemporaryDirectory directory(memory_disk());
    const auto open = [&] { return SqlTrainingStore::open(open_sqlite(directory / "db")); };
    const std::vector<CanaryObservation> last = {{"last", kSame}};
    {
      auto store = open();
      ASSERT_OK(store);
      ASSERT_OK((*store)->create_job(job_record("j"), model_record("j", 0)));
      ASSERT_OK((*store)->create_job(job_record("k"), model_record("k", 0)));
      ASSERT_OK((*store)->promote_model(job("k"), ModelVersion(0), wall(1)));
      ASSERT_OK((*store)->open_canary({.id = "c",
                                       .canary = {job("j"), ModelVersion(0)},
                                       .salt = {},
                                       .settings = {.percent = 5, .promote_after = 2}},
                                      wall(2)));
      ASSERT_OK((*store)->observe_canary(job("j"), "c", std::vector<CanaryObservation>{{"first", kSame}}, wall(3)));
    }
    expect_killed_at(point, [&]() -> Status {
      COT_ASSIGN(auto store, open());
      return store->observe_canary(job("j"), "c", last, wall(4)) ? Status() : Error(ErrorCode::internal, "failed");
    });
    auto store = open();
    ASSERT_OK(store);
    const auto canary = (*store)->get_canary(job("j"), "c");
    ASSERT_OK(canary);
    const bool is_done = point == "promote_model.after_commit";
    EXPECT_EQ(canary->state, is_done ? promoted : running);
    EXPECT_EQ(canary->heard.heard, is_done ? 2u : 1u);
    EXPECT_EQ((*store)->released_model(job("j"))->has_value(), is_done);
    const auto again = (*store)->observe_canary(job("j"), "c", last, wall(5));
    ASSERT_OK(again);
    EXPECT_EQ(again->canary.state, promoted);
    EXPECT_EQ(again->canary.heard.heard, 2u);
    EXPECT_EQ((*store)->released_model(job("j"))->value().seq, 1u) << "released once";
  }
}

}  // namespace
}  // namespace coterie
