// What `coterie job plan` says of a job, and what the job then takes: real devices of the SDK and a real server, each
// byte counted on its way. By day a few jobs, at night twenty: networks x levels x what makes updates and downloads
// smaller x strategies. docs/FIGURES.md has the table that this prints.
#include <malloc.h>
#if __has_feature(address_sanitizer)
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

#include <algorithm>
#include <map>
#include <set>

#include "base/os/file.h"
#include "device_sdk/runtime/lora.h"
#include "device_sdk/runtime/trainer.h"
#include "scheduler/job/model_rules.h"
#include "scheduler/job/round_terms.h"
#include "secure/secagg/round_session.h"
#include "tests/integration/matrix/sdk_device.h"
#include "tests/integration/support/capture.h"
#include "tests/integration/support/fixture.h"
#include "tests/support/secagg_world.h"
#include "tools/job_plan/job_check.h"
#include "tools/job_plan/job_plan.h"
#include "tools/model/zoo.h"

namespace coterie::integration {
namespace {

constexpr uint32_t kFleet = 6;
constexpr uint64_t kOwnExamples = 24;
constexpr double kWithin = 0.25;
constexpr double kListBytesMax = 32 * 1024;
constexpr uint64_t kHeadBytesMax = 512;  // of an update, beside its payload

struct PlannedJob {
  const char* name;
  const char* network;
  const char* level;
  const char* patch;  // of the job, as JSON merge patch
  bool is_by_day = false;
};

const PlannedJob kJobs[] = {
    {"mlp", "mlp", "none", "{}", true},
    {"cnn_fedadam", "cnn", "none", R"({"strategy": {"kind": "fedadam"}})"},
    {"lenet5_fedavgm", "lenet5", "none", R"({"strategy": {"kind": "fedavgm"}})"},
    {"logistic_weights", "logistic", "none", R"({"update": {"weight_max": 8}, "training": {"local_epochs": 3}})"},
    {"mlp_masked", "mlp", "masked", "{}"},
    {"cnn_active", "cnn", "active", "{}"},
    {"lenet5_active_fedadam", "lenet5", "active", R"({"strategy": {"kind": "fedadam"}})"},
    {"mlp_6_bits", "mlp", "none", R"({"update": {"clip_l2": 1, "compression": {"bits": 6}}})"},
    {"mlp_masked_6_bits", "mlp", "masked", R"({"update": {"clip_l2": 1, "compression": {"bits": 6}}})"},
    {"cnn_active_4_bits", "cnn", "active", R"({"update": {"clip_l2": 1, "compression": {"bits": 4}}})", true},
    {"cnn_frozen", "cnn", "none", R"({"training": {"freeze": ["conv*"]}})"},
    {"mlp_active_last_layer", "mlp", "active", R"({"training": {"train_last": 1}})"},
    {"mlp_lora", "mlp", "none", R"({"training": {"lora": {"rank": 2}}})"},
    {"cnn_masked_lora", "cnn", "masked", R"({"training": {"lora": {"rank": 2, "pattern": "dense*.weight"}}})"},
    {"mlp_deltas", "mlp", "none", R"({"download": {"bits": 8}, "rounds": {"count": 5}})", true},
    {"cnn_active_keyframes", "cnn", "active",
     R"({"download": {"bits": 4, "keyframe_every": 3}, "rounds": {"count": 6}})"},
    {"mlp_scaffold", "mlp", "none",
     R"({"strategy": {"kind": "scaffold", "population_size": 6}, "update": {"weight_max": 1}})"},
    {"mlp_masked_scaffold", "mlp", "masked",
     R"({"strategy": {"kind": "scaffold", "population_size": 6}, "update": {"weight_max": 1}})"},
    {"cnn_feddyn", "cnn", "none",
     R"({"strategy": {"kind": "feddyn", "population_size": 6}, "update": {"weight_max": 1}})"},
    {"mlp_budget", "mlp", "none",
     R"({"update": {"clip_l2": 1, "weight_max": 1}, "rounds": {"count": 9},
         "privacy": {"noise_multiplier": 2, "target_delta": 1e-5, "epsilon_budget": 5}})",
     true},
};

void PrintTo(const PlannedJob& job, std::ostream* to) { *to << job.name; }

std::vector<PlannedJob> jobs_of_this_run() {
  std::vector<PlannedJob> jobs;
  for (const PlannedJob& job : kJobs) {
#ifndef COT_NIGHTLY
    if (!job.is_by_day) continue;
#endif
    jobs.push_back(job);
  }
  return jobs;
}

// What this process has, by its allocator. Nobody else is at work when it is asked.
uint64_t allocated_bytes() {
#if __has_feature(address_sanitizer)
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

// Whether a cohort's sum opens without so many of its devices, which vanish when they have shared their secrets.
bool opens_without(uint32_t losses, const CohortPlan& cohort, const Plan& plan) {
  secagg::SessionParameters session = secagg::session_parameters(plan, plan.job, {}, {}, {});
  session.lane_count = 4;
  test::SecaggWorld world(session, cohort.devices);
  world.takes_part = [&](uint32_t who, test::SecaggWorld::Phase phase) {
    return who >= losses || phase < test::SecaggWorld::Phase::masking;
  };
  return world.run() && world.sum().has_value();
}

class JobPlanRuns : public ServerTest, public ::testing::WithParamInterface<PlannedJob> {
 protected:
  nlohmann::json job() const {
    const bool is_seen = GetParam().level == std::string("none");
    nlohmann::json job = {{"name", GetParam().name},
                          {"rounds",
                           {{"count", 3},
                            {"goal_count", kFleet},
                            {"goal_count_min", kFleet},
                            {"pool_min", kFleet},
                            {"retry_delay_ms", 100}}},
                          {"training", {{"batch_size", 8}}},
                          {"privacy", {{"level", GetParam().level}}}};
    if (!is_seen) job["privacy"].update({{"cohort_min", 4}, {"corrupt_share", 0.2}});
    job.merge_patch(nlohmann::json::parse(GetParam().patch));
    return job;
  }
  // All devices take part until the job ends; its last state, and the rounds that it did.
  std::pair<std::string, uint64_t> live(const Bytes& file, const Model& model);

  Capture capture_;
};

std::pair<std::string, uint64_t> JobPlanRuns::live(const Bytes& file, const Model& model) {
  start();
  const auto id = admin_->create_job(file, job());
  EXPECT_OK(id);
  const auto token = admin_->create_token(kFleet);
  EXPECT_OK(token);
  if (!id || !token) return {};
  std::vector<std::unique_ptr<SdkDevice>> devices;
  for (uint32_t i = 0; i < kFleet; ++i) {
    devices.push_back(
        std::make_unique<SdkDevice>(SdkDeviceOptions{.state_dir = directory_ / ("device" + std::to_string(i)),
                                                     .token = *token,
                                                     .seed = i + 1,
                                                     .way = capture_.way_to({server_.get()}, 0)},
                                    Teacher(model, kOwnExamples, i + 1)));
  }
  std::string state = "running";
  uint64_t rounds = 0;
  const Instant until = os::monotonic_now() + kPatience;
  while (state == "running" && os::monotonic_now() < until) {
    server_->wait_for_log("\"model_version\":" + std::to_string(rounds + 1) + "}", Millis(500));
    const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + *id);
    if (!shown) continue;
    state = (*shown)["state"];
    rounds = (*shown)["rounds_done"];
  }
  return {state, rounds};
}

TEST_P(JobPlanRuns, TakesWhatItsPlanSays) {
  const Result<Bytes> file = make_model(*model_kind_from(GetParam().network), {12, 12, 1}, 4, 7);
  ASSERT_OK(file);
  const Model model = *Model::load(*file);
  const CheckedJob checked = check_job(job(), *file);
  for (const Problem& problem : checked.problems) FAIL() << problem.pointer << ": " << problem.detail;
  const Result<JobPlan> plan = plan_job(checked.settings, model, kOwnExamples);
  ASSERT_OK(plan);
  const auto [state, rounds] = live(*file, model);
  ASSERT_NE(state, "running") << server_->log();
  EXPECT_EQ(rounds, plan->rounds_done()) << state;

  std::map<std::string, uint64_t> bytes;
  uint64_t updates = 0;
  for (const CapturedRequest& request : capture_.requests()) {
    const std::string kind = request.kind();
    if (kind == "plans" || kind == "models") bytes["down"] += request.answer.size();
    if (kind == "updates") bytes["up"] += request.body.size(), updates += request.status == 200;
    bytes["body of " + kind] += request.body.size();
    bytes["answer of " + kind] += request.answer.size();
  }
  for (const auto& [name, count] : bytes) RecordProperty(name, std::to_string(count));
  EXPECT_EQ(updates, rounds * kFleet);
  const auto ratio = [](uint64_t planned, uint64_t seen) {
    return static_cast<double>(planned) / static_cast<double>(seen);
  };
  const double down = ratio(plan->down_bytes, bytes["down"]), up = ratio(plan->up_bytes, bytes["up"]);
  EXPECT_NEAR(down, 1, kWithin) << plan->down_bytes << " planned, " << bytes["down"] << " came";
  const auto came_up = static_cast<double>(bytes["up"]);
  EXPECT_NEAR(static_cast<double>(plan->up_bytes), came_up,
              std::max(kWithin * came_up, static_cast<double>(kHeadBytesMax * updates)));

  const HorizontalSettings& settings = checked.settings.horizontal();
  const Plan round =
      with_terms(plan_of(settings, JobId("planned"), *values_of(settings.training, model.graph(), model.value_count())),
                 terms_of(settings, {}));
  const Result<Model> trained = model_to_train(model, round.training);
  ASSERT_OK(trained);
  Teacher examples(model, kOwnExamples, 1);
  const uint64_t before = allocated_bytes();
  Result<Trainer> trainer = Trainer::create(*trained, round.training, examples, 1);
  ASSERT_OK(trainer);
  ASSERT_OK(trainer->step());
  const uint64_t allocated = allocated_bytes() - before;
  const double memory = ratio(plan->device.memory_bytes, allocated);
  // A trainer's list of steps is beside what is planned: a quarter of all, in the smallest net.
  const auto seen = static_cast<double>(allocated);
  EXPECT_NEAR(static_cast<double>(plan->device.memory_bytes), seen, std::max(kWithin * seen, kListBytesMax));

  std::string losses = "-";
  if (plan->round.cohort) {
    const CohortPlan& cohort = *plan->round.cohort;
    EXPECT_TRUE(opens_without(cohort.losses_max, cohort, round));
    EXPECT_FALSE(opens_without(cohort.losses_max + 1, cohort, round));
    losses = std::to_string(cohort.losses_max) + " of " + std::to_string(cohort.devices);
  }
  std::printf("| %s | %.3f | %.3f | %.3f | %llu of %llu | %s |\n", GetParam().name, down, up, memory,
              static_cast<unsigned long long>(plan->rounds_done()), static_cast<unsigned long long>(rounds),
              losses.c_str());
}

INSTANTIATE_TEST_SUITE_P(All, JobPlanRuns, ::testing::ValuesIn(jobs_of_this_run()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace coterie::integration
