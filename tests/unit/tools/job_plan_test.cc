// What a job is said to cost beside what the engine, the sessions and the ledger themselves say.
#include "tools/job_plan/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/trainer.h"
#include "fl_server/json/job_json.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/trained_values.h"
#include "scheduler/job/records.h"
#include "scheduler/job/round_release.h"
#include "secure/crypto/digest.h"
#include "tests/support/matchers.h"
#include "tests/unit/device_sdk/runtime/runtime_fixtures.h"
#include "tools/job_plan/job_check.h"
#include "tools/job_plan/job_plan_text.h"
#include "tools/model/zoo.h"

namespace coterie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

Bytes mlp() { return *make_model(ModelKind::mlp, {8, 8, 1}, 10, 1); }

// A job at `level` that goes with mlp().
nlohmann::json job_at(SecurityLevel level) {
  JobSettings settings{.common = {}, .kind = HorizontalSettings{}};
  settings.common.name = "digits";
  settings.horizontal().privacy.level = level;
  nlohmann::json job = to_json(settings);
  job.erase("model");
  job["rounds"]["goal_count"] = 10;
  job["rounds"]["over_selection"] = 1.3;
  return job;
}

JobPlan plan_of_job(const nlohmann::json& json, uint64_t examples = 100) {
  const CheckedJob checked = check_job(json, json.contains("analytics") ? Bytes() : mlp());
  EXPECT_TRUE(checked.problems.empty()) << checked.problems.front().pointer << checked.problems.front().detail;
  Result<JobPlan> plan = plan_job(checked.settings, *checked.model, examples);
  EXPECT_OK(plan);
  return *plan;
}

std::vector<std::string> pointers(const Problems& problems) {
  std::vector<std::string> all;
  for (const Problem& problem : problems) all.push_back(problem.pointer);
  return all;
}

TEST(JobPlan, SaysWhatADeviceNeeds) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["training"]["local_epochs"] = 3;
  const Model model = *Model::load(mlp());
  const JobPlan plan = plan_of_job(job);
  EXPECT_EQ(plan.device.up_bytes, model.value_count() * sizeof(float));
  EXPECT_GT(plan.device.down_bytes, model.file().size()) << "and the plan";
  EXPECT_LT(plan.device.down_bytes, model.file().size() + 1024);
  EXPECT_EQ(plan.device.examples, 300u);
  EXPECT_EQ(plan.device.operations, 3 * model.flops() * 300);
  EXPECT_EQ(plan.round.tickets, 13u);
  EXPECT_EQ(plan.round.up_bytes, 10 * plan.device.up_bytes);
  EXPECT_EQ(plan.round.down_bytes, 13 * plan.device.down_bytes);
  EXPECT_FALSE(plan.round.cohort || plan.spending);

  job["training"]["steps_max"] = 2;
  EXPECT_EQ(plan_of_job(job).device.examples, 32u) << "two batches of 16";
}

// Three of ten devices in five pairs: 5 (1 - C(8, 3) / C(10, 3)).
TEST(JobPlan, SaysHowManyCohortsLiarsSpoil) {
  EXPECT_NEAR(spoiled_cohorts(10, 5, 0), 0, 1e-12);
  EXPECT_NEAR(spoiled_cohorts(10, 5, 1), 1, 1e-12);
  EXPECT_NEAR(spoiled_cohorts(10, 5, 3), 5 * (1 - 56.0 / 120), 1e-12);
  EXPECT_NEAR(spoiled_cohorts(10, 3, 10), 3, 1e-12) << "3, 3 and 4";
  nlohmann::json job = job_at(SecurityLevel::masked);
  job["rounds"]["over_selection"] = 1;
  job["privacy"]["dropout_share"] = 0;
  job["privacy"]["cohort_max"] = 2;
  job["rounds"]["goal_count_min"] = 6;
  job["update"]["weight_max"] = 1;
  job["aggregation"] = {{"rule", "median"}};
  const JobPlan plan = plan_of_job(job);
  ASSERT_TRUE(plan.round.rule);
  EXPECT_EQ(plan.round.rule->withstands, 2u);
  EXPECT_EQ(plan.round.rule->liars, 2u);
  EXPECT_NEAR(plan.round.rule->spoiled, 5 * (1 - 28.0 / 45), 1e-12);
  EXPECT_NEAR(plan.round.rule->spoiled_by_more, 5 * (1 - 56.0 / 120), 1e-12);
  EXPECT_THAT(job_plan_text(plan), HasSubstr("withstands 2 cohorts with liars of 5"));
  EXPECT_THAT(job_plan_text(plan), HasSubstr("2 devices of a round: 1.9 cohorts on average; one more, and it is 2.7"));
  job["aggregation"] = {{"rule", "trimmed_mean"}, {"liars_max", 1}};
  EXPECT_EQ(plan_of_job(job).round.rule->liars, 1u);
  EXPECT_FALSE(plan_of_job(job_at(SecurityLevel::masked)).round.rule);
}

TEST(JobPlan, CountsBothPartsOfAnUpdateAndTheControlThatIsHandedOut) {
  const uint64_t vector_bytes = Model::load(mlp())->value_count() * sizeof(float);
  const JobPlan plain = plan_of_job(job_at(SecurityLevel::none));
  for (const SecurityLevel level : {SecurityLevel::none, SecurityLevel::active}) {
    nlohmann::json job = job_at(level);
    job["strategy"] = {{"kind", "scaffold"}, {"population_size", 100}};
    job["update"]["weight_max"] = 1;
    job["update"].erase("weight_share_max");
    const JobPlan plan = plan_of_job(job);
    EXPECT_GE(plan.device.down_bytes, plain.device.down_bytes + vector_bytes);
    EXPECT_LT(plan.device.down_bytes, plain.device.down_bytes + vector_bytes + 1024);
    if (level == SecurityLevel::none) {
      EXPECT_EQ(plan.device.up_bytes, 2 * vector_bytes);
    } else {
      EXPECT_EQ(plan.device.up_bytes, 2 * 2 * vector_bytes + 3 * sizeof(uint64_t)) << "lanes of 64 bits";
    }
  }
}

// Mime Lite asks for the gradient at the given model, q-FFL for the loss there.
TEST(JobPlan, CountsThePassBeforeATraining) {
  const Model model = *Model::load(mlp());
  const JobPlan plain = plan_of_job(job_at(SecurityLevel::none));
  nlohmann::json job = job_at(SecurityLevel::none);
  job["strategy"] = {{"kind", "mime_lite"}};
  const JobPlan mime = plan_of_job(job);
  EXPECT_EQ(mime.device.operations, plain.device.operations + 3 * model.flops() * 100);
  EXPECT_GE(mime.device.memory_bytes, plain.device.memory_bytes + model.value_count() * sizeof(float))
      << "its gradient lies in memory";
  EXPECT_EQ(mime.device.up_bytes, 2 * plain.device.up_bytes);
  job["strategy"] = {{"kind", "qffl"}};
  job["update"]["weight_max"] = 1;
  const JobPlan qffl = plan_of_job(job);
  EXPECT_EQ(qffl.device.operations, plain.device.operations + model.flops() * 100);
  EXPECT_EQ(qffl.device.memory_bytes, plain.device.memory_bytes) << "an evaluation takes less than a training";
  EXPECT_EQ(qffl.device.up_bytes, plain.device.up_bytes + sizeof(float));
}

TEST(JobPlan, CountsTheValuesThatTravelWhereOthersDoNotTrain) {
  const Model model = *Model::load(mlp());
  const JobPlan whole = plan_of_job(job_at(SecurityLevel::none));
  nlohmann::json job = job_at(SecurityLevel::none);
  job["training"]["train_last"] = 1;
  const uint64_t last = *trained_value_count(model.graph(), {.train_last = 1});
  ASSERT_LT(last, model.value_count() / 2);
  EXPECT_EQ(plan_of_job(job).device.up_bytes, last * sizeof(float));
  job["training"] = {{"lora", {{"rank", 1}}}};
  const JobPlan lora = plan_of_job(job);
  EXPECT_LT(lora.device.up_bytes, whole.device.up_bytes / 4);
  EXPECT_GT(lora.device.operations, whole.device.operations) << "the companions' own";
}

// A device holds the examples whose columns it permutes, and has the model answer them again for each order.
TEST(JobPlan, CountsTheAnswersOfAnEvaluation) {
  nlohmann::json job = {{"name", "judge"},
                        {"analytics",
                         {{"kind", "evaluation"},
                          {"model", std::string(64, 'a')},
                          {"model_bytes", 5000},
                          {"input_values", 64},
                          {"classes", {"no", "yes"}}}},
                        {"rounds", {{"goal_count", 10}}},
                        {"privacy", {{"level", "none"}}}};
  const DevicePlan plain = plan_of_job(job, 100).device;
  EXPECT_EQ(plain.answers, 100u);
  job["analytics"]["importance"] = {{"repeats", 3},
                                    {"columns", {{{"name", "a"}, {"feature", 0}}, {{"name", "b"}, {"feature", 9}}}}};
  const JobPlan plan = plan_of_job(job, 100);
  EXPECT_EQ(plan.device.answers, 100u * (1 + 2 * 3));
  EXPECT_GE(plan.device.memory_bytes, plain.memory_bytes + 100 * 64 * sizeof(float));
  EXPECT_GT(plan.device.up_bytes, plain.up_bytes);
  EXPECT_THAT(job_plan_text(plan), HasSubstr("700 of the model, to count them"));
  EXPECT_EQ(job_plan_json(plan)["device"]["answers"], 700);
}

TEST(JobPlan, CountsWhatADeviceKeepsAndTrainsOfItsOwn) {
  const Model model = *Model::load(mlp());
  nlohmann::json job = job_at(SecurityLevel::none);
  const JobPlan whole = plan_of_job(job);
  EXPECT_EQ(whole.device.own_bytes, 0u);
  job["training"]["personal"] = {{"parameters", {"dense2.*"}}};
  const JobPlan part = plan_of_job(job);
  EXPECT_EQ(part.device.own_bytes, (64 * 10 + 10) * sizeof(float));
  EXPECT_EQ(part.device.up_bytes, (64 * 64 + 64) * sizeof(float));
  EXPECT_EQ(part.device.examples, whole.device.examples);
  job["training"]["personal"]["first_epochs"] = 3;
  EXPECT_EQ(plan_of_job(job).device.examples, whole.device.examples + 300);
  job["training"]["personal"] = {{"kind", "model"}, {"lambda", 1}};
  const JobPlan ditto = plan_of_job(job);
  EXPECT_EQ(ditto.device.own_bytes, model.value_count() * sizeof(float));
  EXPECT_EQ(ditto.device.up_bytes, whole.device.up_bytes);
  EXPECT_EQ(ditto.device.examples, 2 * whole.device.examples);
  EXPECT_EQ(ditto.device.operations, 2 * whole.device.operations);
}

TEST(JobPlan, TellsWhatEachWidthTakes) {
  nlohmann::json job = job_at(SecurityLevel::none);
  const JobPlan plain = plan_of_job(job);
  job["training"]["widths"] = {{"classes", {1, 0.5, 0.25}}};
  const JobPlan plan = plan_of_job(job);
  EXPECT_EQ(plan.device.up_bytes, plain.device.up_bytes + 2 * sizeof(float)) << "all of the model, and two scalars";
  ASSERT_EQ(plan.device.widths.size(), 3u);
  EXPECT_EQ(plan.device.widths[0].memory_bytes, plain.device.memory_bytes);
  EXPECT_EQ(plan.device.widths[0].operations, plain.device.operations);
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_LT(plan.device.widths[i].memory_bytes, plan.device.widths[i - 1].memory_bytes);
    EXPECT_LT(plan.device.widths[i].operations, plan.device.widths[i - 1].operations);
    EXPECT_LT(plan.device.widths[i].values, plan.device.widths[i - 1].values);
  }
  EXPECT_THAT(job_plan_text(plan), HasSubstr("  width       0.25: "));
  EXPECT_EQ(job_plan_json(plan)["device"]["widths"][1]["width"], 0.5);
  EXPECT_FALSE(job_plan_json(plain)["device"].contains("widths"));
}

// A device fetches all models, makes a pass with each, trains one, and sends a slot for each.
TEST(JobPlan, CountsWhatClustersCost) {
  const Model model = *Model::load(mlp());
  const JobPlan one = plan_of_job(job_at(SecurityLevel::none));
  nlohmann::json job = job_at(SecurityLevel::none);
  job["training"]["personal"] = {{"kind", "clusters"}, {"count", 3}};
  EXPECT_THAT(pointers(check_job(job, mlp()).problems), ElementsAre("/training")) << "the file holds one model";
  const Bytes three = *stack_of_one(model, 3, kClusterSpread, 1);
  const CheckedJob checked = check_job(job, three);
  ASSERT_TRUE(checked.problems.empty()) << checked.problems.front().detail;
  const JobPlan plan = *plan_job(checked.settings, *checked.model, 100);
  const uint64_t slot = cluster_payload_bytes(model.value_count() * sizeof(float));
  EXPECT_EQ(plan.device.up_bytes, 3 * slot + 3 * sizeof(float)) << "filled up to whole alignments";
  EXPECT_GT(plan.device.down_bytes, three.size());
  EXPECT_LT(plan.device.memory_bytes, one.device.memory_bytes + 4096) << "one of them is trained";
  EXPECT_EQ(plan.device.operations, one.device.operations + 3 * 100 * model.flops());
  EXPECT_EQ(plan.device.own_bytes, sizeof(float)) << "which one";
  EXPECT_THAT(job_plan_text(plan), HasSubstr(": 3 models and the plan\n"));
  EXPECT_THAT(job_plan_text(plan), HasSubstr(": its update, with a slot for each\n"));
  EXPECT_EQ(job_plan_json(plan)["device"]["clusters"], 3);
  EXPECT_FALSE(job_plan_json(one)["device"].contains("clusters"));
  EXPECT_THAT(pointers(check_job(job_at(SecurityLevel::none), three).problems), ElementsAre("/training"))
      << "a job that trains one model has one";
}

TEST(JobPlan, SaysHowFarMuMayGo) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["training"]["proximal_mu"] = 1;
  const JobPlan fixed = plan_of_job(job);
  job["training"] = {{"proximal_mu", 0.25}, {"adaptive_mu", {{"max", 2}}}};
  const JobPlan plan = plan_of_job(job);
  EXPECT_EQ(plan.device.memory_bytes, fixed.device.memory_bytes);
  EXPECT_THAT(job_plan_text(plan), HasSubstr("  mu          0.25 in round 1, then by the loss, up to 2\n"));
  EXPECT_EQ(job_plan_json(plan)["mu"], (nlohmann::json{{"first", 0.25}, {"max", 2.0}}));
  EXPECT_FALSE(job_plan_json(fixed).contains("mu"));
}

TEST(JobPlan, SaysHowManyDevicesAreNeededWhereTheyRest) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["rounds"]["count"] = 5;
  EXPECT_EQ(plan_of_job(job).population_min, 0u);
  job["rounds"]["separation_min"] = 1;
  EXPECT_FALSE(job_plan_json(plan_of_job(job)).contains("population_min"));
  job["rounds"]["separation_min"] = 3;
  EXPECT_EQ(plan_of_job(job).population_min, 30u);
  job["rounds"]["separation_min"] = 400;
  const JobPlan plan = plan_of_job(job);
  EXPECT_EQ(plan.population_min, 50u) << "five rounds have no more";
  EXPECT_EQ(job_plan_json(plan)["population_min"], 50u);
  EXPECT_THAT(job_plan_text(plan), HasSubstr("50 at least"));
}

TEST(JobPlan, CountsVersionsThatComeAsDeltas) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["rounds"]["count"] = 10;
  const JobPlan plain = plan_of_job(job);
  EXPECT_EQ(plain.device.delta_down_bytes, plain.device.down_bytes);
  job["download"] = {{"bits", 8}, {"keyframe_every", 4}};
  const JobPlan plan = plan_of_job(job);
  EXPECT_NEAR(static_cast<double>(plan.device.delta_down_bytes), static_cast<double>(plain.device.down_bytes) / 4,
              2048);
  // Rounds 1, 5 and 9 begin with the first model and with keyframes.
  EXPECT_EQ(plan.down_bytes, plan.round.tickets * (3 * plan.device.down_bytes + 7 * plan.device.delta_down_bytes));
  EXPECT_EQ(plan.up_bytes, plain.up_bytes);
}

TEST(JobPlan, HasTheMemoryOfATrainer) {
  test::Examples examples(50, 64, 10);
  const JobPlan plan = plan_of_job(job_at(SecurityLevel::none), examples.size());
  const Model model = *Model::load(mlp());
  const auto trainer = Trainer::create(model, TrainingSettings{}, examples, 1);
  ASSERT_OK(trainer);
  EXPECT_EQ(plan.device.memory_bytes, trainer->memory().arena_bytes + trainer->memory().order_bytes);
  EXPECT_GT(trainer->memory().order_bytes, 0u);
}

TEST(JobPlan, SaysWhomACohortCanLose) {
  nlohmann::json job = job_at(SecurityLevel::active);
  const JobPlan plan = plan_of_job(job);
  ASSERT_TRUE(plan.round.cohort.has_value());
  // Rosters of 12 (10 of them stay when a tenth is lost), everybody with everybody: two thirds and one open a secret.
  EXPECT_EQ(plan.round.cohort->cohorts, 1u);
  EXPECT_EQ(plan.round.cohort->devices, 12u);
  EXPECT_EQ(plan.round.cohort->threshold, 9u);
  EXPECT_EQ(plan.round.cohort->losses_max, 3u);
  EXPECT_EQ(plan.device.up_bytes, (Model::load(mlp())->value_count() + 3) * sizeof(uint64_t))
      << "lanes, a weight and two to check them";

  job["privacy"]["cohort_min"] = 11;
  job["rounds"]["goal_count_min"] = 11;
  job["rounds"]["goal_count"] = 12;
  const JobPlan strict = plan_of_job(job);
  EXPECT_EQ(strict.round.cohort->losses_max, strict.round.cohort->devices - 11) << "a sum is of 11 at least";
}

// The ledger is asked round after round until it says no.
uint64_t rounds_of_the_ledger(const JobSettings& settings, uint64_t value_count) {
  JobRecord job;
  job.id = JobId("j1");
  job.spec = settings;
  job.value_count = value_count;
  const LedgerRelease release = release_of(settings.horizontal(), value_count);
  Ledger ledger;
  uint64_t rounds = 0;
  while (why_no_release(ledger, job)->empty()) {
    const RoundKey key{RoundId(++rounds), Attempt(1)};
    EXPECT_OK(ledger.append(*ledger.reserve(job.id, key, release, budget_of(settings.horizontal()), WallTime())));
    EXPECT_OK(ledger.append(*ledger.commit(key, release, 10, content_digest(mlp()), WallTime())));
  }
  return rounds;
}

TEST(JobPlan, HasTheRoundsThatTheLedgerLets) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["rounds"]["count"] = 40;
  job["update"]["clip_l2"] = 1;
  job["update"]["weight_max"] = 1;
  job["privacy"]["noise_multiplier"] = 2;
  job["privacy"]["target_delta"] = 1e-5;
  job["privacy"]["epsilon_budget"] = 5;
  const JobPlan plan = plan_of_job(job);
  ASSERT_TRUE(plan.spending.has_value());
  EXPECT_GT(plan.spending->epsilon, 5);
  EXPECT_GT(plan.spending->rounds, 0u);
  EXPECT_LT(plan.spending->rounds, 40u);
  const CheckedJob checked = check_job(job, mlp());
  EXPECT_EQ(plan.spending->rounds, rounds_of_the_ledger(checked.settings, checked.model->value_count()));

  EXPECT_EQ(plan.up_bytes, plan.round.up_bytes * plan.spending->rounds) << "no bytes of rounds that never are";

  job["privacy"]["epsilon_budget"] = 50;
  EXPECT_EQ(plan_of_job(job).spending->rounds, 40u);
}

TEST(JobCheck, NamesWhatAServerWouldRefuse) {
  nlohmann::json job = job_at(SecurityLevel::none);
  job["rounds"]["count"] = 0;
  job["training"]["learnig_rate"] = 1;
  EXPECT_THAT(pointers(check_job(job, {}).problems), UnorderedElementsAre("/rounds/count", "/training/learnig_rate"));

  job = job_at(SecurityLevel::none);
  EXPECT_THAT(check_job(job, {}).problems, testing::IsEmpty());
  EXPECT_THAT(pointers(check_job(job, Bytes(100, 1)).problems), ElementsAre("/model"));
  job["model"] = Digest().hex();
  EXPECT_THAT(pointers(check_job(job, mlp()).problems), ElementsAre("/model"));

  job.erase("model");
  job["training"]["personal"] = {{"parameters", {"dense3.*"}}};
  EXPECT_THAT(check_job(job, mlp()).problems,
              ElementsAre(testing::Field(&Problem::detail, HasSubstr("personal: dense3.* matches no parameter"))));
  job["training"].erase("personal");
  job["training"]["freeze"] = {"nothing.*"};
  EXPECT_THAT(pointers(check_job(job, mlp()).problems), ElementsAre("/training"));
  job["training"] = {{"lora", {{"rank", 4096}}}};
  const Problems large = check_job(job, mlp()).problems;
  ASSERT_THAT(pointers(large), ElementsAre("/training"));
  EXPECT_THAT(large.front().detail, HasSubstr("companions of rank 4096"));

  job = job_at(SecurityLevel::none);
  job["update"]["clip_l2"] = 1;
  job["update"]["weight_max"] = 1;
  job["privacy"]["noise_multiplier"] = 0.1;
  job["privacy"]["target_delta"] = 1e-5;
  job["privacy"]["epsilon_budget"] = 0.1;
  const Problems spent = check_job(job, mlp()).problems;
  ASSERT_THAT(pointers(spent), ElementsAre("/privacy/epsilon_budget"));
  EXPECT_THAT(spent.front().detail, HasSubstr("not one round fits"));
}

}  // namespace
}  // namespace coterie
