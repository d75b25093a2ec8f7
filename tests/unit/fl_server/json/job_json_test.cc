#include "fl_server/json/job_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "aggregation/robust/registry.h"
#include "base/random.h"
#include "scheduler/selection/selection_registry.h"
#include "tests/support/matchers.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::pointers_of;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

json minimal() { return {{"name", "digits"}, {"model", std::string(64, 'a')}}; }

Problems problems_of(const json& job) {
  Problems problems;
  job_settings_from_json(job, problems);
  return problems;
}

// Nothing in it is a default.
JobSettings unusual_spec() {
  JobSettings spec;
  HorizontalSettings& settings = spec.horizontal();
  spec.common.name = "d\xc3\xa9j\xc3\xa0 \"vu\"\n";
  spec.common.population = Population("phones");
  settings.model.bytes.fill(0xab);
  settings.evaluation.emplace();
  settings.evaluation->bytes.fill(0xcd);
  settings.training = {.loss = Loss::mean_squared_error,
                       .batch_size = 17,
                       .local_epochs = 3,
                       .steps_max = 99,
                       .optimizer = {.kind = OptimizerKind::adam,
                                     .learning_rate = 0.3f,
                                     .momentum = 0.7f,
                                     .weight_decay = 1e-5f,
                                     .beta1 = 0.8f,
                                     .beta2 = 0.95f,
                                     .epsilon = 1e-7f,
                                     .smoothing = 0.9f},
                       .loss_threshold = 0.5f};
  settings.update = {.clip_l2 = 1.1f, .value_abs_max = 8.5f, .weight_max = 1};
  settings.rounds = {.count = 5,
                     .goal_count = 20,
                     .goal_count_min = 2,
                     .over_selection = 1.3,
                     .pool_min = 40,
                     .selecting_max = Millis(1'001),
                     .collecting_max = Millis(2'002),
                     .retry_delay = Millis(3'003),
                     .attempts_max = 4};
  settings.privacy = {.level = SecurityLevel::active,
                      .cohort_min = 2,
                      .cohort_max = 9,
                      .corrupt_share = .25,
                      .dropout_share = .25,
                      .phase_max = Millis(777)};
  settings.strategy = StrategySettings::of("fedadam");
  settings.strategy.values = {0.01f, 0.6f, 0.97f, 1e-4f};
  return spec;
}

TEST(JobJson, HasDefaultsForEverythingButNameAndModel) {
  Problems problems;
  const JobSettings spec = job_settings_from_json(minimal(), problems);
  EXPECT_THAT(problems, IsEmpty());
  JobSettings expected;
  expected.common.name = "digits";
  expected.horizontal().model.bytes.fill(0xaa);
  EXPECT_EQ(spec, expected);
  EXPECT_EQ(spec.horizontal().privacy.level, SecurityLevel::active);
  EXPECT_THAT(pointers_of(problems_of(json::object())), UnorderedElementsAre("/name", "/model"));
}

TEST(JobJson, CountsByDefaultOnNoFewerUpdatesThanAreUnmasked) {
  struct Row {
    json privacy;
    uint32_t goal_count, goal_count_min;
  };
  const std::initializer_list<Row> rows = {{json::object(), 10, 2},
                                           {{{"cohort_min", 7}}, 10, 7},
                                           {{{"level", "masked"}, {"cohort_min", 3}}, 3, 3},
                                           {{{"level", "none"}, {"cohort_min", 7}}, 10, 1},
                                           {{{"level", "none"}}, 1, 1}};
  for (const Row& row : rows) {
    json job = minimal();
    job["privacy"] = row.privacy;
    job["rounds"]["goal_count"] = row.goal_count;
    Problems problems;
    EXPECT_EQ(job_settings_from_json(job, problems).horizontal().rounds.goal_count_min, row.goal_count_min) << job;
    EXPECT_THAT(problems, IsEmpty()) << job;
  }
}

TEST(JobJson, ADeviceByItselfIsToldWhyItCannotHide) {
  json job = minimal();
  job["rounds"]["goal_count"] = 1;
  const Problems problems = problems_of(job);
  ASSERT_THAT(pointers_of(problems), ElementsAre("/rounds/goal_count"));
  EXPECT_THAT(problems[0].detail, testing::AllOf(testing::HasSubstr("cohort_min"), testing::HasSubstr("level none")));
}

TEST(JobJson, ReadsBackExactlyWhatItShows) {
  Problems problems;
  EXPECT_EQ(job_settings_from_json(to_json(unusual_spec()), problems), unusual_spec());
  EXPECT_THAT(problems, IsEmpty());
  const Result<JobSettings> stored = job_settings_from_stored_json(job_settings_to_json_text(unusual_spec()));
  ASSERT_OK(stored);
  EXPECT_EQ(*stored, unusual_spec());
  JobSettings noisy = unusual_spec();
  noisy.horizontal().privacy = {
      .level = SecurityLevel::none, .noise_multiplier = 0.8, .target_delta = 1e-7, .epsilon_budget = 3};
  EXPECT_EQ(job_settings_from_json(to_json(noisy), problems), noisy);
  EXPECT_THAT(problems, IsEmpty());
  JobSettings plain;
  EXPECT_FALSE(to_json(plain).contains("evaluation"));
  EXPECT_EQ(job_settings_from_stored_json(job_settings_to_json_text(plain)).value(), plain);
}

TEST(JobJson, CarriesTheMechanismOfNoiseAndSaysNothingOfTheUsualOne) {
  EXPECT_FALSE(to_json(unusual_spec())["privacy"].contains("mechanism"));
  EXPECT_FALSE(to_json(unusual_spec())["rounds"].contains("separation_min"));
  json job = minimal();
  job["update"] = {{"clip_l2", 1}, {"weight_max", 1}};
  job["rounds"] = {{"separation_min", 400}};
  job["privacy"] = {{"level", "none"},
                    {"mechanism", "tree"},
                    {"noise_multiplier", 7},
                    {"target_delta", 1e-10},
                    {"epsilon_budget", 8}};
  Problems problems;
  const JobSettings spec = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_TRUE(spec.horizontal().privacy.has_tree_noise());
  EXPECT_EQ(spec.horizontal().rounds.separation_min, 400u);
  const Result<JobSettings> stored = job_settings_from_stored_json(job_settings_to_json_text(spec));
  ASSERT_OK(stored);
  EXPECT_EQ(*stored, spec);
  job["strategy"] = {{"kind", "fedadam"}};
  job["rounds"] = json::object();
  EXPECT_THAT(pointers_of(problems_of(job)), UnorderedElementsAre("/strategy/kind", "/rounds/separation_min"));
  job["privacy"]["mechanism"] = "forest";
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/privacy/mechanism"));
}

TEST(JobJson, CarriesBufferedRoundsAndSaysNothingOfSynchronousOnes) {
  EXPECT_FALSE(to_json(unusual_spec())["rounds"].contains("policy"));
  json job = minimal();
  job["privacy"] = {{"level", "none"}};
  job["rounds"] = {{"policy", "buffered"},
                   {"goal_count", 30},
                   {"concurrency", 100},
                   {"staleness_max", 7},
                   {"staleness_exponent", 0.25}};
  Problems problems;
  const JobSettings spec = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_TRUE(spec.horizontal().rounds.is_buffered());
  EXPECT_EQ(spec.horizontal().rounds.staleness_max, 7u);
  EXPECT_EQ(spec.horizontal().update.weight_share_max, 1) << "no default that does not go with it";
  const Result<JobSettings> stored = job_settings_from_stored_json(job_settings_to_json_text(spec));
  ASSERT_OK(stored);
  EXPECT_EQ(*stored, spec);
  job["privacy"]["level"] = "active";
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/rounds/policy"));
  job["rounds"] = {{"policy", "at_leisure"}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/rounds/policy"));
}

TEST(JobJson, CarriesSchedulesOfRatesAndSaysNothingOfConstantOnes) {
  EXPECT_FALSE(to_json(unusual_spec())["training"].contains("schedule"));
  EXPECT_FALSE(to_json(unusual_spec())["strategy"].contains("schedule"));
  json job = minimal();
  job["training"]["schedule"] = {{"kind", "step"}, {"period", 3}, {"gamma", 0.5}};
  job["strategy"]["schedule"] = {{"kind", "cosine"}, {"min", 0.1}, {"warmup_rounds", 2}};
  Problems problems;
  const JobSettings spec = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  const RateSchedules& schedules = spec.horizontal().schedules;
  EXPECT_EQ(schedules.device, (RateSchedule{.kind = RateScheduleKind::step, .period = 3, .gamma = 0.5}));
  EXPECT_EQ(schedules.server, (RateSchedule{.kind = RateScheduleKind::cosine, .warmup_rounds = 2, .min = 0.1}));
  EXPECT_EQ(to_json(spec)["training"]["schedule"], job["training"]["schedule"]);
  const Result<JobSettings> stored = job_settings_from_stored_json(job_settings_to_json_text(spec));
  ASSERT_OK(stored);
  EXPECT_EQ(*stored, spec);
  job["training"]["schedule"] = {{"kind", "linear"}};
  job["strategy"]["schedule"] = {{"warmup_rounds", 10}, {"gama", 1}};
  EXPECT_THAT(
      pointers_of(problems_of(job)),
      UnorderedElementsAre("/training/schedule/kind", "/strategy/schedule/warmup_rounds", "/strategy/schedule/gama"));
}

TEST(JobJson, CapsTheShareOfADeviceOfNewJobsAlone) {
  json job = minimal();
  job["privacy"]["level"] = "none";
  job["rounds"]["goal_count"] = 20;
  Problems problems;
  const JobSettings spec = job_settings_from_json(job, problems);
  EXPECT_EQ(spec.horizontal().update.weight_share_max, 0.1);
  EXPECT_EQ(job_settings_from_stored_json(job_settings_to_json_text(spec)).value(), spec);
  EXPECT_EQ(job_settings_from_stored_json(job.dump()).value().horizontal().update.weight_share_max, 1)
      << "stored by a server of before there were shares";
  job["update"]["weight_share_max"] = 1;
  const JobSettings uncapped = job_settings_from_json(job, problems);
  EXPECT_EQ(uncapped.horizontal().update.weight_share_max, 1);
  EXPECT_EQ(job_settings_from_json(to_json(uncapped), problems), uncapped) << "what is shown makes the same job";
  job["update"]["weight_share_max"] = 0.01;
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/update/weight_share_max"));
}

TEST(JobJson, KnowsEveryStrategyThatThereIs) {
  for (const StrategyRule* rule : strategies()) {
    json job = minimal();
    job["strategy"] = {{"kind", rule->name}};
    StrategySettings expected = StrategySettings::of(rule->name);
    if (keeps_state(rule->correction)) {  // what such a strategy wants to be told
      job["strategy"]["population_size"] = 100;
      expected = expected.with("population_size", 100);
    }
    if (keeps_state(rule->correction) || rule->counts_alike) job["update"] = {{"weight_max", 1}};
    Problems problems;
    const JobSettings spec = job_settings_from_json(job, problems);
    EXPECT_THAT(problems, IsEmpty()) << rule->name;
    EXPECT_EQ(spec.horizontal().strategy, expected);
    const json shown = to_json(spec)["strategy"];
    EXPECT_EQ(shown["kind"], rule->name);
    EXPECT_EQ(shown.size(), 2 + rule->settings.size()) << shown;
    for (const StrategySetting& setting : rule->settings) {
      job["strategy"][setting.name] = 0.25;
      EXPECT_EQ(job_settings_from_json(job, problems).horizontal().strategy.value_of(setting.name), 0.25f)
          << setting.name;
      job["strategy"].erase(setting.name);
    }
  }
}

TEST(JobJson, AStrategyHasNoSettingsOfOthers) {
  json job = minimal();
  job["strategy"] = {{"kind", "fedavgm"}, {"beta1", 0.9}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/strategy/beta1"));
  job["strategy"] = {{"kind", "fedavg"}, {"momentum", 0.9}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/strategy/momentum"));
}

// Word for word what the server before the registry of strategies stored.
TEST(JobJson, ReadsStrategiesThatWereStoredBeforeThereWasARegistry) {
  json job = to_json(unusual_spec());
  job["strategy"] = json::parse(R"({"aggregation_rule":"mean","beta1":0.6,"beta2":0.97,"kind":"fedadam",)"
                                R"("server_learning_rate":0.01,"tau":0.0001})");
  EXPECT_EQ(job_settings_from_stored_json(job.dump()).value().horizontal().strategy,
            unusual_spec().horizontal().strategy);
  job["strategy"] = json::parse(
      R"({"aggregation_rule":"mean","beta1":0.9,"beta2":0.99,"kind":"fedavg","server_learning_rate":0.5,"tau":0.001})");
  EXPECT_EQ(job_settings_from_stored_json(job.dump()).value().horizontal().strategy,
            StrategySettings::of("fedavg").with("server_learning_rate", 0.5f));
}

TEST(JobJson, CarriesEveryLossAndOptimizerWithWhatBelongsToIt) {
  json job = minimal();
  for (const std::string_view loss : loss_names()) {
    for (const std::string_view optimizer : optimizer_names()) {
      job["training"] = {{"loss", loss}, {"optimizer", {{"kind", optimizer}}}};
      Problems problems;
      const JobSettings read = job_settings_from_json(job, problems);
      EXPECT_THAT(problems, IsEmpty()) << loss << ", " << optimizer;
      EXPECT_EQ(to_json(read)["training"]["loss"], loss);
      EXPECT_EQ(to_json(read)["training"]["optimizer"]["kind"], optimizer);
    }
  }
  job["training"] = {{"label_smoothing", 0.1},    {"proximal_mu", 0.25},      {"normalised_steps", 7.5},
                     {"class_weights", {1, 0.3}}, {"augment", "crop=4,flip"}, {"freeze", {"a.*", "b"}}};
  Problems problems;
  const JobSettings read = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(to_json(read)["training"]["class_weights"], json({1, 0.3}));
  EXPECT_EQ(job_settings_from_json(to_json(read), problems), read);
  EXPECT_FALSE(to_json(read)["training"].contains("train_only")) << "a server of the version before does not know it";
  EXPECT_EQ(to_json(read)["training"]["augment"], "crop=4,flip");
  EXPECT_FALSE(to_json(read)["training"].contains("target")) << "likewise";
  EXPECT_FALSE(to_json(read)["training"].contains("storage")) << "likewise";
  job["training"] = {
      {"storage", "bf16"}, {"local_epochs", 5}, {"early_stopping", {{"validation_share", 0.2}, {"patience", 3}}}};
  const JobSettings stopping = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(stopping.horizontal().training.early_stopping, (EarlyStopping{0.2f, 3}));
  EXPECT_EQ(to_json(stopping)["training"]["early_stopping"], job["training"]["early_stopping"]);
  job["training"] = {{"qat", {{"parts", "weights"}, {"weight_bits", 4}}}};
  const auto rounded = job_settings_from_json(job, problems);
  EXPECT_EQ(rounded.horizontal().training.qat, (QuantisedTraining{QuantisedParts::weights, 4}));
  EXPECT_EQ(to_json(rounded)["training"]["qat"], job["training"]["qat"]);
  job["training"] = {{"ignore_label", -100}};
  EXPECT_EQ(to_json(job_settings_from_json(job, problems))["training"]["ignore_label"], -100);
  EXPECT_EQ(to_json(stopping)["training"]["storage"], "bf16");
  EXPECT_EQ(job_settings_from_json(to_json(stopping), problems), stopping);
  job["training"] = {{"local_epochs", 2}, {"early_stopping", nlohmann::json::object()}};
  EXPECT_EQ(job_settings_from_json(job, problems).horizontal().training.early_stopping, EarlyStopping{});
  job["training"] = {{"lora", {{"rank", 4}, {"pattern", "*.weight"}}}};
  const JobSettings of_lora = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(to_json(of_lora)["training"]["lora"],
            json({{"rank", 4}, {"alpha", 4}, {"pattern", "*.weight"}, {"seed", 0}}));
  EXPECT_EQ(job_settings_from_json(to_json(of_lora), problems), of_lora);
  job["training"] = {{"loss", "huber"}, {"target", "values"}};
  const JobSettings of_values = job_settings_from_json(job, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(of_values.horizontal().training.target, TargetKind::values);
  EXPECT_EQ(job_settings_from_json(to_json(of_values), problems), of_values);
  job["training"] = {{"loss", "triplet_margin"}, {"target", "values"}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/training/target"));
  job["training"] = {{"target", "numbers"}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/training/target"));
  for (const json& weights : {json("1"), json({"1"}), json({1, nullptr}), json({1e39})}) {
    job["training"] = {{"class_weights", weights}};
    EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/training/class_weights")) << weights;
  }
}

TEST(JobJson, CarriesEveryAggregationRuleWithItsSettings) {
  for (const RobustRule* rule : robust_rules()) {
    json job = minimal();
    job["privacy"] = {{"level", "none"}};
    job["aggregation"] = {{"rule", rule->name}};
    Problems problems;
    JobSettings read = job_settings_from_json(job, problems);
    EXPECT_THAT(problems, IsEmpty()) << rule->name;
    const HorizontalSettings& settings = read.horizontal();
    EXPECT_EQ(settings.aggregation, AggregationSettings::of(rule->name));
    EXPECT_EQ(settings.update.weight_max, 1u);
    EXPECT_EQ(settings.rounds.goal_count_min, settings.aggregation.updates_min());
    for (float& value : read.horizontal().aggregation.values) value += 2;
    EXPECT_EQ(job_settings_from_stored_json(job_settings_to_json_text(read)).value(), read);
  }
  EXPECT_FALSE(to_json(unusual_spec()).contains("aggregation")) << "a server of the version before does not know it";
}

TEST(JobJson, CarriesEverySelectionRuleWithItsSettings) {
  for (const SelectionRule* rule : selection_rules()) {
    json job = minimal();
    job["privacy"] = {{"level", "none"}};
    job["selection"] = {{"kind", rule->name}};
    Problems problems;
    JobSettings read = job_settings_from_json(job, problems);
    EXPECT_THAT(problems, IsEmpty()) << rule->name;
    EXPECT_EQ(read.horizontal().rounds.selection, SelectionSettings::of(rule->name));
    for (float& value : read.horizontal().rounds.selection.values) value /= 2;
    EXPECT_EQ(job_settings_from_stored_json(job_settings_to_json_text(read)).value(), read);
  }
  EXPECT_FALSE(to_json(unusual_spec()).contains("selection")) << "a server of the version before does not know it";
  json job = minimal();
  job["selection"] = {{"kind", "power_of_choice"}, {"exploration", 0.5}, {"candidates_ratio", 21}};
  EXPECT_THAT(pointers_of(problems_of(job)),
              UnorderedElementsAre("/selection/exploration", "/selection/kind", "/selection/candidates_ratio"));
}

TEST(JobJson, ASettingOfAnotherAggregationRuleIsUnknown) {
  json job = minimal();
  job["privacy"] = {{"level", "none"}};
  job["aggregation"] = {{"rule", "median"}, {"liars_max", 2}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/aggregation/liars_max"));
  job["aggregation"] = {{"rule", "median_of_means"}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/aggregation/rule"));
  job["aggregation"] = {{"liars_max", 2}};
  EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre("/aggregation/liars_max"));
}

TEST(JobJson, ShowsFloatsAsAPersonWroteThem) {
  const json shown = to_json(unusual_spec());
  EXPECT_EQ(shown["training"]["optimizer"]["learning_rate"].dump(), "0.3");
  EXPECT_EQ(shown["update"]["clip_l2"].dump(), "1.1");
  EXPECT_EQ(shown["strategy"]["tau"].dump(), "0.0001");
}

TEST(JobJson, KeepsEveryFiniteFloatToTheBit) {
  Prng prng(20250301);
  for (int i = 0; i < 5'000; ++i) {
    const float value =
        i == 0 ? std::numeric_limits<float>::max() : std::bit_cast<float>(static_cast<uint32_t>(prng.next()));
    if (!std::isfinite(value)) continue;
    JobSettings spec;
    spec.horizontal().strategy = StrategySettings::of("fedadam").with("tau", value);
    Result<JobSettings> again = job_settings_from_stored_json(job_settings_to_json_text(spec));
    ASSERT_OK(again);
    EXPECT_EQ(std::bit_cast<uint32_t>(again->horizontal().strategy.value_of("tau")), std::bit_cast<uint32_t>(value));
  }
}

TEST(JobJson, ReportsProblemsOfFormAndOfRangeTogether) {
  json job = {
      {"name", ""},
      {"model", "abc"},
      {"evaluation", 5},
      {"colour", "red"},
      {"training", {{"loss", "hinge"}, {"batch_size", 0}, {"optimizer", {{"kind", "newton"}, {"learning_rate", -1}}}}},
      {"rounds", {{"count", -3}, {"goal_count", 0}, {"selecting_ms_max", 1.5}}},
      {"strategy", "fedavg"},
      {"privacy", {{"level", "some"}, {"noise_multiplier", -1}, {"clip", 1}}},
      {"update", {{"weight_max", 0}}}};
  EXPECT_THAT(
      pointers_of(problems_of(job)),
      UnorderedElementsAre("/name", "/model", "/evaluation", "/colour", "/training/loss", "/training/batch_size",
                           "/training/optimizer/kind", "/training/optimizer/learning_rate", "/rounds/count",
                           "/rounds/goal_count", "/rounds/goal_count_min", "/rounds/selecting_ms_max", "/strategy",
                           "/privacy/level", "/privacy/noise_multiplier", "/privacy/clip", "/privacy/target_delta",
                           "/privacy/epsilon_budget", "/update/clip_l2", "/update/weight_max"));
}

TEST(JobJson, ReportsAFieldOnce) {
  // Required, so absent is a problem; empty by default, so validate() finds it too.
  json job = minimal();
  job.erase("name");
  EXPECT_THAT(problems_of(job), ElementsAre(Problem{"/name", "is required"}));
}

TEST(JobJson, TakesNoNumberThatAFloatCannotHold) {
  // The strategy does not use beta1 here, so no range check would see an infinity; stored, it would not read
  // back.
  for (const char* field : {"beta1", "beta2", "tau", "server_learning_rate"}) {
    json job = minimal();
    job["strategy"][field] = 1e300;
    EXPECT_THAT(pointers_of(problems_of(job)), ElementsAre(std::string("/strategy/") + field));
  }
}

// Whatever an operator sends: what is taken can be stored and read back, or the server would not start again.
TEST(JobJson, StoresWhateverItTakesSoThatItReadsBack) {
  const json numbers = {0, 1, -1, 2.5, 1e-300, 1e39, -1e300, 4294967295u, 1e30, 3.4028235e38};
  const json whole = to_json(unusual_spec());
  size_t taken = 0;
  for (const char* group : {"training", "update", "rounds", "strategy", "privacy"}) {
    for (const auto& [key, old] : whole[group].items()) {
      for (const json& number : numbers) {
        json job = whole;
        job[group][key] = number;
        Problems problems;
        const JobSettings spec = job_settings_from_json(job, problems);
        if (!problems.empty()) continue;
        ++taken;
        const Result<JobSettings> stored = job_settings_from_stored_json(job_settings_to_json_text(spec));
        ASSERT_OK(stored) << group << "/" << key << " = " << number;
        EXPECT_EQ(*stored, spec) << group << "/" << key << " = " << number;
      }
    }
  }
  EXPECT_GT(taken, 30u);
}

TEST(JobJson, StoredTextThatIsDamagedIsDataLoss) {
  const std::string text = job_settings_to_json_text(unusual_spec());
  EXPECT_ERROR(job_settings_from_stored_json(text.substr(0, text.size() - 1)), ErrorCode::data_loss, "do not parse");
  EXPECT_ERROR(job_settings_from_stored_json(""), ErrorCode::data_loss, "do not parse");
  EXPECT_ERROR(job_settings_from_stored_json("[]"), ErrorCode::data_loss, "must be an object");
  EXPECT_ERROR(job_settings_from_stored_json("{}"), ErrorCode::data_loss, "/name is required");
  json changed = to_json(unusual_spec());
  changed["rounds"]["count"] = "five";
  EXPECT_ERROR(job_settings_from_stored_json(changed.dump()), ErrorCode::data_loss, "/rounds/count");
}

TEST(JobJson, AJobWithoutAKindIsHorizontal) {
  json job = to_json(unusual_spec());
  EXPECT_FALSE(job.contains("kind")) << "a server of the version before reads this row";
  job["kind"] = "horizontal";
  Problems problems;
  EXPECT_EQ(job_settings_from_json(job, problems), unusual_spec());
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(*job_settings_from_stored_json(job.dump()), unusual_spec());
}

TEST(JobJson, AVerticalJobIsRefusedInOneSentence) {
  const json job = {{"kind", "vertical"}, {"parties", json::array()}};
  const Problem refusal{"/kind", "vertical: this server has no vertical jobs yet; take horizontal, or leave kind out"};
  EXPECT_THAT(problems_of(job), ElementsAre(refusal));
  EXPECT_ERROR(job_settings_from_stored_json(job.dump()), ErrorCode::data_loss, "no vertical jobs yet");
}

TEST(JobJson, AKindThatNobodyKnowsIsAProblem) {
  json job = to_json(unusual_spec());
  for (const json& kind : {json("diagonal"), json(1), json(nullptr)}) {
    job["kind"] = kind;
    EXPECT_THAT(problems_of(job), ElementsAre(Problem{"/kind", "must be one of: horizontal"})) << kind;
  }
}

}  // namespace
}  // namespace coterie
