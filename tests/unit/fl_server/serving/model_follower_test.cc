// What a server answers with while its registry changes: a registry of the test, and a loader that ends when the test
// says so.
#include "fl_server/serving/model_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fl_server/serving/model_server.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/admin/memory_admin_store.h"
#include "tests/unit/fl_server/serving/steps/steps_world.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct RegistryJob {
  std::string id;
  std::string population = "phones";
  std::vector<uint64_t> versions;
  std::optional<ModelRelease> release = {};
  bool counts = false;  // and trains nothing
};

// The jobs in the order in which they were created.
class RegistryOfTheTest final : public JobStore, public ModelStore {
 public:
  Result<std::vector<JobRecord>> list_jobs() override {
    if (failure) return *failure;
    std::vector<JobRecord> records;
    for (const RegistryJob& job : jobs) {
      JobRecord& record = records.emplace_back();
      record.id = JobId(job.id);
      record.spec.common.population = Population(job.population);
      if (job.counts) record.spec.horizontal().analytics.emplace();
    }
    return records;
  }
  Result<std::map<JobId, ModelRelease>> released_models() override {
    std::map<JobId, ModelRelease> released;
    for (const RegistryJob& job : jobs) {
      if (job.release) released.emplace(JobId(job.id), *job.release);
    }
    return released;
  }
  Result<std::vector<ModelRecord>> list_models(const JobId& job, const ModelQuery&) override {
    std::vector<ModelRecord> models;
    for (const uint64_t version : find(job.value()).versions) {
      models.emplace_back();
      models.back().version = ModelVersion(version);
    }
    return models;
  }
  Result<ModelRecord> get_model(const JobId& job, ModelVersion version) override {
    if (!std::ranges::binary_search(find(job.value()).versions, version.value()))
      return Error(ErrorCode::not_found, "no such model");
    ModelRecord model;
    model.version = version;
    return model;
  }

  // Not asked by who serves models.
  Status create_job(const JobRecord&, const ModelRecord&, const std::optional<QuotaClaim>&) override { return no(); }
  Result<JobRecord> get_job(const JobId&) override { return no(); }
  Result<JobRecord> set_job_state(const JobId&, JobState, const std::string&, std::optional<uint64_t>) override {
    return no();
  }
  Result<std::optional<ModelRelease>> released_model(const JobId&) override { return no(); }
  Result<ModelRelease> promote_model(const JobId&, ModelVersion, WallTime, std::optional<uint64_t>) override {
    return no();
  }
  Result<ModelRelease> roll_back_model(const JobId&, std::optional<uint64_t>) override { return no(); }

  RegistryJob& find(const std::string& id) { return *std::ranges::find(jobs, id, &RegistryJob::id); }
  void promote(const std::string& job, uint64_t version) {
    find(job).release = ModelRelease{1, ModelVersion(version), wall_time_from_unix_ms(++clock_)};
  }

  std::vector<RegistryJob> jobs;
  std::optional<Error> failure;

 private:
  static Error no() { return Error(ErrorCode::internal, "not asked by who serves models"); }
  int64_t clock_ = 0;
};

class LoaderOfTheTest final : public VersionLoader {
 public:
  void begin(const VersionToLoad& wanted, const Digest&, const std::shared_ptr<const ServingSteps>& steps) override {
    begun_with = steps;
    EXPECT_FALSE(under_way) << "one at a time";
    under_way = wanted;
    begun.push_back(wanted.job + " " + std::to_string(wanted.version));
  }
  std::optional<Result<std::shared_ptr<ServedVersion>>> take() override { return std::exchange(outcome_, {}); }
  void end(Result<std::shared_ptr<ServedVersion>> outcome) {
    ASSERT_TRUE(under_way);
    under_way.reset();
    outcome_ = std::move(outcome);
  }

  std::optional<VersionToLoad> under_way;
  std::vector<std::string> begun;
  std::shared_ptr<const ServingSteps> begun_with;

 private:
  std::optional<Result<std::shared_ptr<ServedVersion>>> outcome_;
};

class ModelFollowerTest : public testing::Test {
 protected:
  static constexpr size_t kModelsMax = 3;

  void look() { EXPECT_OK(follower_.look(now_)); }
  // The version that is under way is compiled.
  void load() {
    ASSERT_TRUE(loader_.under_way);
    const uint64_t version = loader_.under_way->version;
    loader_.end(server_.prepare(*make_model(ModelKind::logistic, {2, 2, 1}, 3, version), version, false));
    EXPECT_OK(follower_.go_on(now_));
  }
  void fail(ErrorCode code) {
    loader_.end(Error(code, "the test says so"));
    EXPECT_OK(follower_.go_on(now_));
  }
  // Looks, and loads all that it wants for it. What that was.
  std::vector<std::string> follow() {
    loader_.begun.clear();
    look();
    while (loader_.under_way) load();
    return loader_.begun;
  }
  // Who answers; 0: nobody does.
  uint64_t answers(std::string_view model, std::string_view version = {}, std::string_view tenant = kEveryTenant) {
    const auto found = server_.models().find(model, version, tenant);
    return found ? (*found)->number() : 0;
  }

  RegistryOfTheTest registry_;
  test::MemoryAdminStore admin_;
  LoaderOfTheTest loader_;
  Metrics metrics_{"test"};
  ModelServer server_{{.workers = 1, .batch_max = 1}, metrics_};
  ModelFollower follower_{
      {.models_max = kModelsMax}, {.jobs = registry_, .models = registry_, .admin = admin_}, loader_, server_};
  Instant now_{Millis(1'000'000)};
};

TEST_F(ModelFollowerTest, LoadsWhatIsPromotedAndThenWhatIsNew) {
  registry_.jobs = {{.id = "a", .versions = {1, 2, 3}}, {.id = "b", .versions = {7}}};
  registry_.promote("a", 1);
  admin_.owners[Owned::job]["a"] = "acme";
  EXPECT_THAT(follow(), ElementsAre("a 1", "a 3", "b 7"));
  EXPECT_EQ(answers("a"), 1u);
  EXPECT_EQ(answers("a", "latest"), 3u);
  EXPECT_EQ(answers("phones"), 1u);
  EXPECT_EQ(answers("b"), 7u) << "nothing of it was released";
  EXPECT_EQ(answers("a", "", "acme"), 1u);
  EXPECT_EQ(answers("a", "", kDefaultTenant), 0u);
  EXPECT_EQ(answers("b", "", kDefaultTenant), 7u);
  EXPECT_THAT(follow(), IsEmpty()) << "all is there";
}

TEST_F(ModelFollowerTest, HasStepsByTheJobOrElseByItsPopulation) {
  const auto steps = [](const std::string& label) {
    return *test::parse_steps(test::after_of(
        R"({"name":"best","step":"argmax","from":"out","labels":["a","b",")" + label + R"("]})", R"({"best":"best"})"));
  };
  const auto of_job = steps("job"), of_population = steps("population");
  ModelFollower follower({.models_max = kModelsMax, .steps = {{"a", of_job}, {"phones", of_population}}},
                         {.jobs = registry_, .models = registry_, .admin = admin_}, loader_, server_);
  for (const auto& [job, expected] : {std::pair("a", of_job), std::pair("b", of_population)}) {
    registry_.jobs = {{.id = job, .versions = {1}}};
    EXPECT_OK(follower.look(now_));
    EXPECT_EQ(loader_.begun_with, expected) << job;
    loader_.end(Error(ErrorCode::malformed, "enough"));
    EXPECT_OK(follower.go_on(now_));
  }
}

// Who may ask models may not see what was counted.
TEST_F(ModelFollowerTest, ATableOfCountsAnswersNobody) {
  registry_.jobs = {{.id = "a", .versions = {1}}, {.id = "counts", .versions = {1}, .counts = true}};
  registry_.promote("counts", 1);
  EXPECT_THAT(follow(), ElementsAre("a 1"));
  EXPECT_EQ(answers("counts"), 0u);
  EXPECT_EQ(answers("phones"), 0u);
}

TEST_F(ModelFollowerTest, NobodysExperimentsTakeAReleaseAway) {
  registry_.jobs = {{.id = "released", .versions = {1}}};
  registry_.promote("released", 1);
  (void)follow();
  for (uint64_t i = 0; i < 5; ++i)
    registry_.jobs.push_back({.id = "try" + std::to_string(i), .population = "others", .versions = {1}});
  (void)follow();
  EXPECT_EQ(answers("released"), 1u);
  EXPECT_EQ(answers("phones"), 1u);
  EXPECT_EQ(answers("try4"), 1u) << "what is left is for what was created last";
  EXPECT_EQ(answers("try2"), 0u);
  EXPECT_EQ(server_.models().loaded().size(), kModelsMax);
}

TEST_F(ModelFollowerTest, ARollbackWaitsForNoCompilation) {
  registry_.jobs = {{.id = "a", .versions = {1, 2}}, {.id = "b", .versions = {}}};
  registry_.promote("a", 2);
  (void)follow();
  registry_.promote("a", 1);
  (void)follow();
  registry_.promote("a", 2);
  registry_.find("b").versions = {5, 6};
  look();
  EXPECT_EQ(answers("a"), 2u);
  ASSERT_TRUE(loader_.under_way);
  registry_.promote("a", 1);
  look();
  EXPECT_EQ(answers("a"), 1u);
  EXPECT_TRUE(loader_.under_way) << "b is still being compiled";
}

TEST_F(ModelFollowerTest, WhatWasCompiledTakesTheNamesOfNow) {
  registry_.jobs = {{.id = "a", .versions = {1, 2}}};
  registry_.promote("a", 1);
  (void)follow();
  registry_.find("a").versions = {1, 2, 3};
  registry_.promote("a", 3);
  look();
  EXPECT_EQ(loader_.under_way, (VersionToLoad{"a", 3, true}));
  EXPECT_EQ(answers("a"), 1u) << "until it is there";
  registry_.promote("a", 1);
  look();
  load();
  EXPECT_EQ(answers("a"), 1u) << "it was rolled back meanwhile";
  EXPECT_EQ(answers("a", "3"), 3u);

  registry_.find("a").versions = {1, 2, 3, 4};
  look();
  registry_.jobs.clear();
  look();
  loader_.end(server_.prepare(*make_model(ModelKind::logistic, {2, 2, 1}, 3, 4), 4, false));
  look();
  EXPECT_TRUE(server_.models().empty()) << "the job was deleted meanwhile";
}

TEST_F(ModelFollowerTest, NothingAnswersInPlaceOfAReleaseThatCannotBeLoaded) {
  registry_.jobs = {{.id = "a", .versions = {1, 2}}};
  (void)follow();
  EXPECT_EQ(answers("a"), 2u) << "nothing is released";
  registry_.promote("a", 1);
  look();
  EXPECT_EQ(answers("a"), 2u) << "it is on its way";
  fail(ErrorCode::malformed);
  EXPECT_ERROR(server_.models().find("a", ""), ErrorCode::unavailable, "the promoted version is not loaded");
  EXPECT_EQ(answers("a", "2"), 2u);
  registry_.find("a").versions = {1, 2, 3};
  EXPECT_THAT(follow(), ElementsAre("a 3"));
  EXPECT_EQ(answers("a"), 0u);
  registry_.promote("a", 3);
  look();
  EXPECT_EQ(answers("a"), 3u);
}

TEST_F(ModelFollowerTest, TheNewestDoesNotAnswerForAReleaseThatANewNodeCannotLoad) {
  registry_.jobs = {{.id = "a", .versions = {1, 2}}};
  registry_.promote("a", 1);
  look();
  fail(ErrorCode::malformed);
  load();
  EXPECT_EQ(answers("a", "2"), 2u);
  EXPECT_EQ(answers("a"), 0u);
  EXPECT_EQ(answers("phones"), 0u);
}

TEST_F(ModelFollowerTest, WhatMayPassIsTriedAgainAndWhatIsWrongIsNot) {
  registry_.jobs = {{.id = "a", .versions = {1}}, {.id = "b", .versions = {1}}};
  look();
  ASSERT_EQ(loader_.under_way, (VersionToLoad{"b", 1, false}));
  fail(ErrorCode::malformed);
  ASSERT_EQ(loader_.under_way, (VersionToLoad{"a", 1, false}));
  fail(ErrorCode::unavailable);
  EXPECT_FALSE(loader_.under_way);
  now_ += FailedLoads::kFirst - Millis(1);
  EXPECT_THAT(follow(), IsEmpty());
  now_ += Millis(1);
  EXPECT_THAT(follow(), ElementsAre("a 1"));
  now_ += FailedLoads::kMost;
  EXPECT_THAT(follow(), IsEmpty()) << "the file of b stays what it is";
  registry_.find("b").versions = {1, 2};
  EXPECT_THAT(follow(), ElementsAre("b 2"));
}

TEST_F(ModelFollowerTest, WhatFoundNoRoomSendsOthersAwayOnce) {
  registry_.jobs = {{.id = "a", .versions = {1}}, {.id = "b", .versions = {1}}};
  registry_.promote("a", 1);
  look();
  EXPECT_EQ(loader_.under_way, (VersionToLoad{"a", 1, true}));
  fail(ErrorCode::too_large);
  load();
  EXPECT_EQ(answers("b"), 1u);
  now_ += FailedLoads::kFirst;
  look();
  EXPECT_EQ(loader_.under_way, (VersionToLoad{"a", 1, false})) << "b would come and go without end";
  fail(ErrorCode::too_large);
  EXPECT_FALSE(loader_.under_way);
  registry_.jobs.pop_back();
  look();
  EXPECT_FALSE(loader_.under_way);
  now_ += FailedLoads::kFirst;
  look();
  EXPECT_EQ(loader_.under_way, (VersionToLoad{"a", 1, false})) << "what was not promoted went for it in vain before";
  fail(ErrorCode::too_large);
  registry_.jobs.push_back({.id = "c", .versions = {1}});
  registry_.promote("c", 1);
  look();
  ASSERT_EQ(loader_.under_way, (VersionToLoad{"c", 1, true}));
  load();
  registry_.jobs.pop_back();
  look();
  EXPECT_EQ(loader_.under_way, (VersionToLoad{"a", 1, true})) << "a promoted one has left its room";
}

TEST_F(ModelFollowerTest, IsSettledWhenAllWasTried) {
  registry_.jobs = {{.id = "a", .versions = {1}}, {.id = "b", .versions = {1}}};
  EXPECT_FALSE(follower_.is_settled());
  registry_.failure = Error(ErrorCode::unavailable, "the database is away");
  EXPECT_ERROR(follower_.look(now_), ErrorCode::unavailable, "away");
  EXPECT_FALSE(follower_.is_settled());
  registry_.failure.reset();
  look();
  EXPECT_FALSE(follower_.is_settled());
  load();
  EXPECT_FALSE(follower_.is_settled()) << "another is to come";
  fail(ErrorCode::timed_out);
  EXPECT_TRUE(follower_.is_settled());
  EXPECT_EQ(answers("b"), 1u);
}

TEST_F(ModelFollowerTest, WhatTheRegistryForgetsAnswersNoMore) {
  registry_.jobs = {{.id = "a", .versions = {1, 2}}, {.id = "b", .versions = {1}}};
  (void)follow();
  registry_.find("a").versions = {1, 2, 3};
  (void)follow();
  EXPECT_EQ(answers("a", "2"), 2u);
  registry_.jobs = {{.id = "a", .versions = {3}}};
  look();
  EXPECT_EQ(answers("a", "2"), 0u);
  EXPECT_EQ(answers("a"), 3u);
  EXPECT_EQ(answers("b"), 0u);
  registry_.failure = Error(ErrorCode::unavailable, "the database is away");
  EXPECT_FALSE(follower_.look(now_));
  EXPECT_EQ(answers("a"), 3u) << "what is here goes on answering";
}

}  // namespace
}  // namespace coterie
