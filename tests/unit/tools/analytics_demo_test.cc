// A column as a job counts it, what such a job costs, and its result for people.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "fl_server/json/job_json.h"
#include "model_io/input_contract.h"
#include "proto/messages/analytics_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "tests/support/matchers.h"
#include "tools/admin/analytics_report.h"
#include "tools/demo/analytics_option.h"
#include "tools/demo/importance_job.h"
#include "tools/job_plan/job_check.h"
#include "tools/job_plan/job_plan.h"
#include "tools/job_plan/job_plan_text.h"

namespace coterie {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Inputs: age, whether it is missing, three colours, height, four bytes of a city.
InputContract people() {
  InputContract contract;
  contract.name = "people";
  contract.columns = {{.name = "age", .mean = 40, .deviation = 8, .low = 10, .high = 90, .missing = 3},
                      {.name = "colour", .is_category = true, .values = {"blue", "green", "red"}},
                      {.name = "height", .mean = 170, .deviation = 10, .low = 150, .high = 200},
                      {.name = "city", .text_bytes = 4}};
  contract.inputs = {{.name = "features", .type = ColumnType::float32, .shape = {10}}};
  contract.target = {.column = "income", .classes = {"high", "low"}};
  return contract;
}

constexpr uint32_t kDevices = 30;

AnalyticsSettings settings_for(std::string_view text, uint32_t values = 4) {
  const Result<AnalyticsChoice> choice = parse_analytics_choice(text);
  EXPECT_OK(choice);
  const Result<AnalyticsSettings> settings = analytics_of(*choice, people(), values, kDevices);
  EXPECT_OK(settings);
  EXPECT_OK(validate(rules_of(*settings)));
  return *settings;
}

TEST(AnalyticsChoice, FindsTheColumnInTheContract) {
  const AnalyticsSettings age = settings_for("histogram:age,bins=4");
  EXPECT_EQ(age.rules.feature, 0u);
  EXPECT_EQ(age.rules.missing_feature, 1u);
  EXPECT_EQ(age.rules.input_values, 10u);
  ASSERT_EQ(age.edges.size(), 5u);
  EXPECT_EQ(age.edges[1], 30);
  // Somebody of 30, as the contract encodes it, is in the bin that 30 begins; the oldest is in the last one.
  for (const auto& [years, lane] : std::vector<std::pair<double, uint64_t>>{{29, 1}, {30, 2}, {90, 4}, {91, 5}}) {
    std::vector<float> input;
    add_standard(people().columns[0], true, years, input);
    input.resize(10);
    EXPECT_EQ(lane_of(rules_of(age), input, 0), lane) << years;
  }
  EXPECT_EQ(settings_for("histogram:height").rules.feature, 5u);
  const AnalyticsSettings colour = settings_for("histogram:colour");
  EXPECT_EQ(colour.rules.feature, 2u);
  EXPECT_EQ(colour.categories.size(), 3u);
  EXPECT_EQ(settings_for("histogram:income").rules.source, AnalyticsSource::label);
  EXPECT_EQ(settings_for("histogram:target").categories, (std::vector<std::string>{"high", "low"}));
  EXPECT_EQ(settings_for("distinct:age,buckets=64").rules.buckets, 64u);
}

TEST(AnalyticsChoice, NamesWhatIsWrong) {
  for (const char* text : {"", "age", "histogram", "histogram:", "mean:age", "histogram:,bins=2"}) {
    EXPECT_ERROR(parse_analytics_choice(text), ErrorCode::invalid_argument, "");
  }
  EXPECT_ERROR(parse_analytics_choice("histogram:age,bins=0"), ErrorCode::invalid_argument, "bins must be");
  EXPECT_ERROR(parse_analytics_choice("histogram:age,width=3"), ErrorCode::invalid_argument, "bins=N");
  EXPECT_ERROR(parse_analytics_choice("distinct:age,buckets=x"), ErrorCode::invalid_argument, "buckets must be");
  EXPECT_ERROR(parse_analytics_choice("distinct:age,bins=3"), ErrorCode::invalid_argument,
               "distinct has buckets=N and values=N behind the column, not bins=3");
  EXPECT_ERROR(parse_analytics_choice("histogram:age,refine=1"), ErrorCode::invalid_argument, "from 2 to 32, not 1");
  EXPECT_ERROR(parse_analytics_choice("heavy_hitters:city,threshold=1"), ErrorCode::invalid_argument, "from 2 to");
  EXPECT_ERROR(parse_analytics_choice("evaluation:age"), ErrorCode::invalid_argument,
               "heavy_hitters:COLUMN, importance or activation_ranges, not");
  EXPECT_ERROR(parse_analytics_choice("importance:age"), ErrorCode::invalid_argument,
               "importance or activation_ranges, not");
  EXPECT_ERROR(parse_analytics_choice("importance,repeats=33"), ErrorCode::invalid_argument, "from 1 to 32, not 33");
  EXPECT_EQ(parse_analytics_choice("activation_ranges,steps=8,values=9")->steps, 8u);
  EXPECT_ERROR(parse_analytics_choice("activation_ranges,steps=17"), ErrorCode::invalid_argument, "from 1 to 16");
  EXPECT_ERROR(parse_analytics_choice("activation_ranges,repeats=3"), ErrorCode::invalid_argument,
               "activation_ranges has steps=N and values=N behind it, not repeats=3");
  EXPECT_ERROR(parse_analytics_choice("importance,bins=3"), ErrorCode::invalid_argument,
               "importance has repeats=N and values=N behind it, not bins=3");
  const std::pair<const char*, const char*> refused[] = {
      {"histogram:size", "people has no column size; it has target, age, colour, height, city"},
      {"histogram:city", "column city is a text; take heavy_hitters:city"},
      {"heavy_hitters:age", "column age is no text"},
      {"heavy_hitters:target", "column target is no text"},
      {"histogram:colour,refine", "refine comes closer to quantiles of numbers, and column colour has none"},
      {"histogram:income,refine", "column income has none"}};
  for (const auto& [text, why] : refused) {
    EXPECT_ERROR(analytics_of(*parse_analytics_choice(text), people(), 1, kDevices), ErrorCode::invalid_argument, why);
  }
}

TEST(AnalyticsChoice, CountsNoTargetOfSeveral) {
  InputContract contract = people();
  contract.targets = {{.column = "income", .classes = {"high", "low"}}, {.column = "wage", .is_number = true}};
  contract.target = {};
  for (const std::string column : {"target", "wage"}) {
    EXPECT_ERROR(analytics_of(*parse_analytics_choice("histogram:" + column), contract, 1, kDevices),
                 ErrorCode::invalid_argument, "takes one target, and an example of people has 2: income, wage");
  }
  EXPECT_OK(analytics_of(*parse_analytics_choice("histogram:age"), contract, 1, kDevices));
  EXPECT_ERROR(importance_of_columns(*parse_analytics_choice("importance"), contract, {}, 1),
               ErrorCode::invalid_argument, "--analytics importance takes one target");
}

TEST(AnalyticsChoice, OfSeveralRoundsIsAJobAsItStands) {
  const AnalyticsSettings city = settings_for("heavy_hitters:city,alphabet=cab,prefixes=9");
  EXPECT_EQ(city.rules.feature, 6u);
  EXPECT_EQ(city.rules.hitters->length_max, 4u);
  EXPECT_EQ(city.rules.hitters->alphabet, (std::vector<uint8_t>{'a', 'b', 'c'}));
  EXPECT_EQ(city.rules.hitters->prefixes_max, 9u);
  EXPECT_EQ(city.rules.values_max, 4u);
  EXPECT_EQ(city.rules.lane_max, 1u) << "a device has a string or has it not";
  EXPECT_EQ(city.threshold, 3u) << "a tenth of 30 devices";
  EXPECT_EQ(settings_for("heavy_hitters:city,threshold=8").threshold, 8u);
  const AnalyticsSettings age = settings_for("histogram:age,refine=4");
  EXPECT_TRUE(age.refines);
  EXPECT_EQ(parse_analytics_choice("histogram:age,refine=4")->rounds, 4u);
  EXPECT_FALSE(parse_analytics_choice("histogram:age,refine")->rounds);
  for (const AnalyticsSettings& analytics : {city, age}) {
    JobSettings job{.common = {.name = "counts"}, .kind = HorizontalSettings{}};
    set_defaults(analytics, job.horizontal());
    job.horizontal().analytics = analytics;
    EXPECT_THAT(validate(job), IsEmpty());
  }
}

// The highest that was seen belongs to the last bin also where float32 has few steps left, as of times.
TEST(AnalyticsChoice, TheHighestBelongsToTheLastBin) {
  InputContract contract = people();
  for (const auto& [mean, deviation] : {std::pair{1.7e9, 86'400.0}, {0.0, 1e-3}, {-5e6, 2.0}}) {
    ContractColumn& column = contract.columns[0];
    column.mean = mean;
    column.deviation = deviation;
    column.low = mean - 2 * deviation;
    column.high = mean + 3 * deviation;
    const Result<AnalyticsSettings> settings =
        analytics_of(*parse_analytics_choice("histogram:age"), contract, 1, kDevices);
    ASSERT_OK(settings);
    ASSERT_OK(validate(rules_of(*settings)));
    std::vector<float> input;
    add_standard(column, true, column.high, input);
    input.resize(10);
    EXPECT_EQ(lane_of(rules_of(*settings), input, 0), 10u) << mean;
  }
}

TEST(AnalyticsChoice, RefusesAStandardisedColumnOfOneValue) {
  InputContract contract = people();
  contract.columns[0].deviation = 0;
  const auto choose = [&] { return analytics_of(*parse_analytics_choice("histogram:age"), contract, 1, kDevices); };
  EXPECT_ERROR(choose(), ErrorCode::invalid_argument, "column age has one value only");
  contract.standardise = false;
  EXPECT_OK(choose());
}

TEST(AnalyticsJobPlan, NeedsNoModel) {
  JobSettings job{.common = {.name = "ages"}, .kind = HorizontalSettings{}};
  HorizontalSettings& settings = job.horizontal();
  const AnalyticsSettings analytics = settings_for("histogram:age");
  set_defaults(analytics, settings);
  settings.analytics = analytics;
  settings.privacy.level = SecurityLevel::none;
  nlohmann::json json = to_json(job);
  json.erase("model");
  const CheckedJob checked = check_job(json, {});
  ASSERT_THAT(checked.problems, IsEmpty());
  const Result<JobPlan> plan = plan_job(checked.settings, *checked.model, 100);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->device.examples, 4u);
  EXPECT_EQ(plan->device.up_bytes, 13 * sizeof(float)) << "ten bins, below, above, missing";
  EXPECT_THAT(job_plan_text(*plan), HasSubstr("its counts"));
  EXPECT_THAT(check_job(json, Bytes{1, 2}).problems, Not(IsEmpty())) << "a model of one's own";
}

// A table has a block for each round; what a device sends is one of them.
TEST(AnalyticsJobPlan, OfFrequentStringsHasABlockForEachRound) {
  const nlohmann::json job = {{"name", "words"},
                              {"analytics",
                               {{"kind", "heavy_hitters"},
                                {"source", "feature"},
                                {"input_values", 8},
                                {"length_max", 8},
                                {"alphabet", "ab"},
                                {"prefixes_max", 5},
                                {"threshold", 3}}},
                              {"privacy", {{"level", "none"}}}};
  const CheckedJob checked = check_job(job, {});
  ASSERT_THAT(checked.problems, IsEmpty());
  const Result<JobPlan> plan = plan_job(checked.settings, *checked.model, 100);
  ASSERT_OK(plan);
  EXPECT_EQ(plan->rounds, 8u);
  EXPECT_EQ(plan->device.up_bytes, 15 * sizeof(float));
}

TEST(AnalyticsReport, IsForPeople) {
  nlohmann::json answer = {{"schema", "coterie.analytics_result.v1"},
                           {"kind", "histogram"},
                           {"column", "a\x1b[31mge"},
                           {"rounds", 1},
                           {"updates", 50},
                           {"noise_deviation", 2.5},
                           {"bins",
                            {{{"from", nullptr}, {"to", 10}, {"count", 20}, {"low", 15}, {"high", 25}},
                             {{"from", 10}, {"to", nullptr}, {"count", 40}, {"low", 35}, {"high", 45}},
                             {{"name", "<missing>"}, {"count", -1}, {"low", 0}, {"high", 4}}}},
                           {"quantiles", {{{"quantile", 0.5}, {"from", 10}, {"to", nullptr}}}}};
  const Result<AnalyticsReport> report = parse_analytics(answer);
  ASSERT_OK(report);
  const std::string text = analytics_text(*report);
  EXPECT_THAT(text, HasSubstr("below 10"));
  EXPECT_THAT(text, HasSubstr("10 and above"));
  EXPECT_THAT(text, HasSubstr("quantile 0.5 lies in: 10 and above"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const std::string svg = draw_analytics(*report);
  EXPECT_THAT(svg, HasSubstr("&lt;missing&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("\x1b")));
  answer["updates"] = nullptr;
  answer["bins"][2]["name"] = "";
  answer["bins"][1] = {{"name", std::string(128, 'x')}, {"count", 123456.7}, {"low", 123456.7}, {"high", 123456.7}};
  const std::string other = analytics_text(*parse_analytics(answer));
  EXPECT_THAT(other, HasSubstr("(empty)"));
  EXPECT_THAT(other, HasSubstr("updates in 1 round"));
  std::istringstream lines(other);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  answer["schema"] = "other";
  EXPECT_ERROR(parse_analytics(answer), ErrorCode::malformed, "coterie.analytics_result.v1");
}

TEST(AnalyticsReport, HasFrequentStringsWhateverBytesTheyHave) {
  nlohmann::json answer = {{"schema", "coterie.analytics_result.v1"},
                           {"kind", "heavy_hitters"},
                           {"column", "word"},
                           {"rounds", 6},
                           {"updates", 60u},
                           {"threshold", 7.25},
                           {"left_out", 0},
                           {"strings",
                            {{{"text", "a\x1b[31m"}, {"count", 40}, {"low", 40}, {"high", 40}},
                             {{"hex", "c3"}, {"may_go_on", true}, {"count", 30}, {"low", 30}, {"high", 30}}}},
                           {"prefixes", {{{"text", "b\x1b"}, {"count", 9}, {"low", 9}, {"high", 9}}}}};
  const std::string text = analytics_text(*parse_analytics(answer));
  EXPECT_THAT(text, HasSubstr("60 updates in 6 rounds"));
  EXPECT_THAT(text, HasSubstr("0xc3... "));
  EXPECT_THAT(text, HasSubstr("told from a count of 7.25 on"));
  EXPECT_THAT(text, HasSubstr("not yet known how it ends: b"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("may be missing")));
  answer["left_out"] = 12;
  for (int i = 0; i < 9; ++i) answer["prefixes"].push_back({{"text", std::string(64, 'x')}, {"count", 8}});
  const std::string more = analytics_text(*parse_analytics(answer));
  EXPECT_THAT(more, HasSubstr("counts up to 12 may be missing"));
  EXPECT_THAT(more, HasSubstr("and 5 more"));
  std::istringstream lines(more);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(AnalyticsReport, SaysWhatNoiseHidesOfDistinctValues) {
  nlohmann::json answer = {
      {"schema", "coterie.analytics_result.v1"},
      {"kind", "distinct"},
      {"distinct",
       {{"estimate", 20.2}, {"low", 18}, {"high", 23}, {"buckets", 4096}, {"occupied", 18}, {"seen_from", 0}}}};
  EXPECT_THAT(analytics_text(*parse_analytics(answer)),
              HasSubstr("about 20.2 values, from 18 to 23\n18 of 4,096 buckets are occupied"));
  answer["distinct"]["high"] = nullptr;
  answer["distinct"]["seen_from"] = 18.7;
  const std::string noisy = analytics_text(*parse_analytics(answer));
  EXPECT_THAT(noisy, HasSubstr("about 20.2 values that 19 devices or more have\n"));
  EXPECT_THAT(noisy, HasSubstr("at least 18 in all"));
}

}  // namespace
}  // namespace coterie
