#include "fl_server/json/analytics_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "fl_server/json/job_json.h"
#include "proto/messages/evaluation_lanes.h"
#include "scheduler/job/analytics_rules.h"
#include "tests/unit/fl_server/json/problem_list.h"

namespace coterie {
namespace {

using nlohmann::json;
using test::pointers_of;
using testing::Contains;
using testing::IsEmpty;

json ages() {
  return {{"kind", "histogram"}, {"source", "feature"}, {"input_values", 3},  {"feature", 1},
          {"column", "age"},     {"edges", {10, 20.5}}, {"quantiles", {0.5}}, {"missing_feature", 2},
          {"values_max", 8},     {"lane_max", 2},       {"mean", 3},          {"deviation", 2}};
}

JobSettings read_counting(const json& analytics, Problems& problems, json job = {{"name", "ages"}}) {
  job["analytics"] = analytics;
  return job_settings_from_json(job, problems);
}

TEST(AnalyticsJson, ReadsWhatItWrites) {
  Problems problems;
  const json distinct = {{"kind", "distinct"}, {"source", "label"}, {"input_values", 3}, {"buckets", 64}};
  const json classes = {{"kind", "histogram"}, {"source", "label"}, {"input_values", 3}, {"categories", {"a", "b"}}};
  for (const json& analytics : {ages(), distinct, classes}) {
    const JobSettings read = read_counting(analytics, problems);
    EXPECT_THAT(problems, IsEmpty()) << analytics;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << analytics;
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
    EXPECT_FALSE(to_json(read).contains("training"));
    EXPECT_TRUE(to_json(read).contains("update"));
  }
  const JobSettings job = read_counting(ages(), problems);
  const HorizontalSettings& read = job.horizontal();
  EXPECT_EQ(read.rounds.count, 1u);
  EXPECT_EQ(read.update.weight_share_max, 1);
  EXPECT_EQ(read.analytics->rules.missing_feature, 2u);
}

TEST(AnalyticsJson, EachRoundAsksOtherDevicesUnlessSaid) {
  Problems problems;
  for (const auto& [said, separation] : {std::pair<json, uint32_t>{{{"count", 5}}, 5},
                                         {{{"count", 5}, {"separation_min", 1}}, 1},
                                         {{{"count", 1}}, 0},
                                         {json::object(), 0}}) {
    const JobSettings read = read_counting(ages(), problems, {{"name", "ages"}, {"rounds", said}});
    EXPECT_EQ(read.horizontal().rounds.separation_min, separation) << said;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << said;
  }
}

json judging() {
  return {{"kind", "evaluation"},
          {"model", std::string(64, 'a')},
          {"before", std::string(64, 'b')},
          {"input_values", 7},
          {"classes", {"no", "yes"}},
          {"feature", 2},
          {"categories", {"x", "y"}},
          {"harm_max", 0.5},
          {"model_bytes", 12}};
}

TEST(AnalyticsJson, ReadsEvaluationsAsItWritesThem) {
  Problems problems;
  json alone = judging();
  for (const char* key : {"before", "harm_max", "feature", "categories", "model_bytes"}) alone.erase(key);
  for (const json& analytics : {judging(), alone}) {
    const JobSettings read = read_counting(analytics, problems);
    EXPECT_THAT(problems, IsEmpty()) << analytics;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << analytics;
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
    EXPECT_FALSE(to_json(read)["analytics"].contains("source"));
  }
  const JobSettings job = read_counting(judging(), problems);
  const AnalyticsRules& rules = job.horizontal().analytics->rules;
  ASSERT_EQ(rules.evaluation->models.size(), 2u);
  EXPECT_EQ(rules.evaluation->models[0].digest.hex(), std::string(64, 'b')) << "the one before is the first";
  EXPECT_EQ(rules.evaluation->models[1].bytes, 12u);
  EXPECT_EQ(rules.values_max, 256u);
  EXPECT_EQ(rules.lane_max, 256u);
}

json permuting() {
  json analytics = judging();
  for (const char* key : {"before", "harm_max"}) analytics.erase(key);
  analytics["importance"] = {
      {"repeats", 3},
      {"columns",
       {{{"name", "age"}, {"feature", 0}, {"width", 1}}, {{"name", "workclass"}, {"feature", 2}, {"width", 5}}}}};
  return analytics;
}

TEST(AnalyticsJson, ReadsImportanceAsItWritesIt) {
  Problems problems;
  json plain = permuting();
  plain["importance"] = {{"columns", {{{"name", "age"}, {"feature", 6}}}}};
  for (const json& analytics : {permuting(), plain}) {
    const JobSettings read = read_counting(analytics, problems);
    EXPECT_THAT(problems, IsEmpty()) << analytics;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << analytics;
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
  }
  EXPECT_EQ(to_json(read_counting(permuting(), problems))["analytics"]["importance"], permuting()["importance"]);
  const JobSettings job = read_counting(plain, problems);
  EXPECT_EQ(job.horizontal().analytics->rules.evaluation->importance->repeats, 5u) << "unless said";
  EXPECT_EQ(job.horizontal().analytics->rules.evaluation->importance->columns[0], (PermutedColumn{6, 1}));
}

TEST(AnalyticsJson, ReadsActivationRangesAsItWritesThem) {
  Problems problems;
  const json least = {{"kind", "activation_ranges"},
                      {"model", std::string(64, 'a')},
                      {"input_values", 64},
                      {"tensors", {"input", "relu1"}}};
  json counts = least;
  counts.update({{"normalise", false}, {"values_max", 10}, {"exponent_low", -4}, {"steps", 8}, {"positions", 32}});
  for (const json& analytics : {least, counts}) {
    const JobSettings read = read_counting(analytics, problems);
    EXPECT_THAT(problems, IsEmpty()) << analytics;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << analytics;
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
  }
  const JobSettings job = read_counting(least, problems);
  const HorizontalSettings& settings = job.horizontal();
  EXPECT_TRUE(settings.analytics->rules.evaluation->ranges->is_normalised) << "unless said";
  EXPECT_EQ(settings.analytics->rules.values_max, 64u);
  EXPECT_EQ(settings.update.value_abs_max, 256) << "a device is worth so much of a tensor";
  EXPECT_NEAR(settings.update.clip_l2, 256 * std::sqrt(2.0), 1e-4);
  EXPECT_EQ(read_counting(counts, problems).horizontal().analytics->rules.lane_max, 320u);
  // With noise, which an evaluation refuses.
  read_counting(least, problems,
                {{"name", "ranges"},
                 {"privacy",
                  {{"level", "active_dp"}, {"noise_multiplier", 1}, {"target_delta", 1e-5}, {"epsilon_budget", 100}}}});
  EXPECT_THAT(problems, IsEmpty());
  json wrong = least;
  wrong.update({{"steps", 3}, {"classes", {"a", "b"}}});
  read_counting(wrong, problems);
  EXPECT_THAT(pointers_of(problems), Contains("/analytics/steps"));
  EXPECT_THAT(pointers_of(problems), Contains("/analytics/classes"));
}

TEST(AnalyticsJson, NamesWhatIsWrongWithImportance) {
  const auto pointers = [](const json& change) {
    Problems problems;
    json analytics = permuting();
    analytics.merge_patch(change);
    read_counting(analytics, problems);
    return pointers_of(problems);
  };
  const auto columns = [](const json& list) { return json{{"importance", {{"columns", list}}}}; };
  EXPECT_THAT(pointers(json::object()), IsEmpty());
  EXPECT_THAT(pointers({{"importance", 3}}), Contains("/analytics/importance"));
  EXPECT_THAT(pointers({{"importance", {{"repeats", 0}}}}), Contains("/analytics/importance/repeats"));
  EXPECT_THAT(pointers({{"importance", {{"seed", 1}}}}), Contains("/analytics/importance/seed"));
  EXPECT_THAT(pointers(columns(nullptr)), Contains("/analytics/importance/columns"));
  EXPECT_THAT(pointers(columns("age")), Contains("/analytics/importance/columns"));
  EXPECT_THAT(pointers(columns(json::array())), Contains("/analytics/importance/columns"));
  EXPECT_THAT(pointers(columns({3})), Contains("/analytics/importance/columns/0"));
  EXPECT_THAT(pointers(columns({{{"name", "a"}}})), Contains("/analytics/importance/columns/0/feature"));
  EXPECT_THAT(pointers(columns({{{"feature", 1}}})), Contains("/analytics/importance/columns/0/name"));
  EXPECT_THAT(pointers(columns({{{"name", "a"}, {"feature", -1}}})),
              Contains("/analytics/importance/columns/0/feature"));
  EXPECT_THAT(pointers(columns({{{"name", "a"}, {"feature", 7}}})), Contains("/analytics/importance/columns"));
  EXPECT_THAT(pointers(columns({{{"name", "a"}, {"feature", 1}, {"last", 2}}})),
              Contains("/analytics/importance/columns/0/last"));
  EXPECT_THAT(pointers({{"before", std::string(64, 'b')}}), Contains("/analytics/importance"));
}

TEST(AnalyticsJson, NamesWhatIsWrongWithAnEvaluation) {
  const auto pointers = [](const char* key, const json& value) {
    Problems problems;
    json analytics = judging();
    if (value.is_null()) analytics.erase(key);
    else analytics[key] = value;
    read_counting(analytics, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers("model", nullptr), Contains("/analytics/model"));
  EXPECT_THAT(pointers("model", "abc"), Contains("/analytics/model"));
  EXPECT_THAT(pointers("classes", nullptr), Contains("/analytics/classes"));
  EXPECT_THAT(pointers("classes", {"one"}), Contains("/analytics/classes"));
  EXPECT_THAT(pointers("classes", {"one", std::string(129, 'x')}), Contains("/analytics/classes"));
  EXPECT_THAT(pointers("harm_max", 2), Contains("/analytics/harm_max"));
  EXPECT_THAT(pointers("before", nullptr), Contains("/analytics/harm_max")) << "of a comparison alone";
  EXPECT_THAT(pointers("source", "label"), Contains("/analytics/source"));
  EXPECT_THAT(pointers("lane_max", 1), Contains("/analytics/lane_max"));
  EXPECT_THAT(pointers("edges", {1, 2}), Contains("/analytics/edges"));
}

TEST(AnalyticsJson, NamesWhatIsWrong) {
  const auto pointers = [](const char* key, const json& value) {
    Problems problems;
    json analytics = ages();
    analytics[key] = value;
    read_counting(analytics, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers("kind", "heavy"), Contains("/analytics/kind"));
  EXPECT_THAT(pointers("edges", {1, "x"}), Contains("/analytics/edges"));
  EXPECT_THAT(pointers("edges", {3, 2}), Contains("/analytics/edges"));
  EXPECT_THAT(pointers("feature", 3), Contains("/analytics/feature"));
  EXPECT_THAT(pointers("unknown", 3), Contains("/analytics/unknown"));
  EXPECT_THAT(pointers("quantiles", {0}), Contains("/analytics/quantiles"));
  Problems problems;
  read_counting(ages(), problems, {{"name", "ages"}, {"training", {{"local_epochs", 3}}}});
  EXPECT_THAT(pointers_of(problems), Contains("/analytics"));
  problems.clear();
  read_counting(ages(), problems, {{"name", "ages"}, {"update", {{"clip_l2", 1}}}});
  EXPECT_THAT(pointers_of(problems), Contains("/update/clip_l2"));
}

json looking() {
  return {{"kind", "heavy_hitters"}, {"source", "feature"}, {"input_values", 12}, {"feature", 2},    {"length_max", 10},
          {"alphabet", "cab"},       {"threshold", 7},      {"prefixes_max", 9},  {"column", "word"}};
}

TEST(AnalyticsJson, ReadsFrequentStringsAndCloserQuantilesAsItWritesThem) {
  Problems problems;
  json any_byte = looking(), closer = ages();
  any_byte.erase("alphabet");
  any_byte.erase("prefixes_max");
  closer["refine"] = true;
  closer["edges"] = {10, 20, 30, 40};
  for (const json& analytics : {looking(), any_byte, closer}) {
    const JobSettings read = read_counting(analytics, problems);
    EXPECT_THAT(problems, IsEmpty()) << analytics;
    EXPECT_EQ(job_settings_from_json(to_json(read), problems), read) << analytics;
    EXPECT_EQ(*job_settings_from_stored_json(job_settings_to_json_text(read)), read);
  }
  const JobSettings job = read_counting(looking(), problems);
  const HorizontalSettings& read = job.horizontal();
  EXPECT_EQ(read.rounds.count, 10u) << "a round for each byte";
  EXPECT_EQ(read.rounds.separation_min, 10u) << "each asks other devices";
  EXPECT_EQ(read.analytics->rules.hitters->alphabet, (std::vector<uint8_t>{'a', 'b', 'c'})) << "in order";
  EXPECT_EQ(read_counting(closer, problems).horizontal().rounds.count, 3u);
}

TEST(AnalyticsJson, NamesWhatIsWrongWithFrequentStrings) {
  const auto pointers = [](const char* key, const json& value) {
    Problems problems;
    json analytics = looking();
    if (value.is_null()) analytics.erase(key);
    else analytics[key] = value;
    read_counting(analytics, problems);
    return pointers_of(problems);
  };
  EXPECT_THAT(pointers("length_max", nullptr), Contains("/analytics/length_max"));
  EXPECT_THAT(pointers("length_max", 65), Contains("/analytics/length_max"));
  EXPECT_THAT(pointers("length_max", 11), Contains("/analytics/feature"));
  EXPECT_THAT(pointers("alphabet", "aa"), Contains("/analytics/alphabet"));
  EXPECT_THAT(pointers("alphabet", "\xc3\xa9"), Contains("/analytics/alphabet")) << "two bytes, and no letter";
  EXPECT_THAT(pointers("prefixes_max", 0), Contains("/analytics/prefixes_max"));
  EXPECT_THAT(pointers("threshold", nullptr), Contains("/analytics/threshold"));
  EXPECT_THAT(pointers("threshold", 1), Contains("/analytics/threshold"));
  EXPECT_THAT(pointers("edges", {1, 2}), Contains("/analytics/edges"));
  EXPECT_THAT(pointers("refine", true), Contains("/analytics/refine"));
  EXPECT_THAT(pointers("refine", 3), Contains("/analytics/refine"));
  Problems problems;
  json histogram = ages();
  histogram["threshold"] = 3;
  read_counting(histogram, problems);
  EXPECT_THAT(pointers_of(problems), Contains("/analytics/threshold")) << "of heavy_hitters alone";
}

TEST(AnalyticsJson, WritesFrequentStrings) {
  Problems problems;
  const AnalyticsSettings analytics = *read_counting(looking(), problems).horizontal().analytics;
  const HeavyHitters found{
      .strings = {{"caba", 40}, {"\xc3", 30, true}}, .prefixes = {{"ab", 9}}, .threshold = 7, .left_out = 8};
  const json exact = to_json(analytics, found, 0);
  EXPECT_EQ(exact["strings"][0], (json{{"text", "caba"}, {"count", 40.0}, {"low", 40.0}, {"high", 40.0}}));
  EXPECT_EQ(exact["strings"][1]["hex"], "c3") << "no text";
  EXPECT_EQ(exact["strings"][1]["may_go_on"], true);
  EXPECT_EQ(exact["prefixes"][0]["text"], "ab");
  EXPECT_EQ(exact["threshold"], 7);
  EXPECT_EQ(exact["left_out"], 8);
  EXPECT_FALSE(exact.dump().empty()) << "whatever bytes a device has sent";
  const json noisy = to_json(analytics, found, 10);
  EXPECT_NEAR(noisy["strings"][0]["low"], 40 - 19.6, 0.01);
  EXPECT_EQ(noisy["prefixes"][0]["low"], 0);
}

TEST(AnalyticsJson, WritesResults) {
  Problems problems;
  const JobSettings job = read_counting(ages(), problems);
  const AnalyticsSettings& analytics = *job.horizontal().analytics;
  const float counts[] = {1, 2, 3, 4};
  const json written = to_json(analytics, result_of(analytics, counts, 0));
  EXPECT_EQ(written["bins"].size(), 4u);
  EXPECT_EQ(written["bins"][0], (json{{"from", nullptr}, {"to", 10.0}, {"count", 1.0}, {"low", 1.0}, {"high", 1.0}}));
  EXPECT_EQ(written["bins"][3]["name"], "missing");
  EXPECT_EQ(written["quantiles"][0], (json{{"quantile", 0.5}, {"from", 10.0}, {"to", 20.5}}));
  const json classes = {{"kind", "histogram"}, {"source", "label"}, {"input_values", 3}, {"categories", {"", "b"}}};
  const AnalyticsSettings named = *read_counting(classes, problems).horizontal().analytics;
  const json of_names = to_json(named, result_of(named, std::span(counts).first(3), 0));
  EXPECT_EQ(of_names["bins"][0], (json{{"name", ""}, {"count", 1.0}, {"low", 1.0}, {"high", 1.0}}));
  const json values = {{"kind", "distinct"}, {"source", "label"}, {"input_values", 3}, {"buckets", 64}};
  const AnalyticsSettings distinct = *read_counting(values, problems).horizontal().analytics;
  const json noisy = to_json(distinct, result_of(distinct, std::vector<float>(64), 1))["distinct"];
  EXPECT_TRUE(noisy["high"].is_null());
  EXPECT_GT(noisy["seen_from"], noisy["threshold"]);
}

TEST(AnalyticsJson, WritesWhatAnEvaluationHasFound) {
  Problems problems;
  const AnalyticsSettings analytics = *read_counting(judging(), problems).horizontal().analytics;
  const EvaluationLayout layout(rules_of(analytics));
  std::vector<float> table(layout.lanes());
  const json nothing = to_json(analytics, evaluation_result_of(analytics, table));
  EXPECT_EQ(nothing["schema"], "coterie.evaluation_result.v1");
  EXPECT_TRUE(nothing["models"][0]["accuracy"].is_null());
  EXPECT_TRUE(nothing["models"][0]["worst_tenth"].is_null());
  EXPECT_EQ(nothing["comparison"]["verdict"], "not_shown");
  put_moments(layout, 1, 0, {4, 3, 2 * kLossUnits}, table);
  const json one = to_json(analytics, evaluation_result_of(analytics, table))["models"][1];
  EXPECT_EQ(one["accuracy"], (json{{"value", 0.75}, {"low", nullptr}, {"high", nullptr}}));
  EXPECT_EQ(one["loss"]["value"], 0.5);
  EXPECT_EQ(one["groups"][2]["name"], "other");
  EXPECT_EQ(one["confusion"][0].size(), 3u);
  EXPECT_FALSE(one.contains("importance"));
}

TEST(AnalyticsJson, WritesWhatColumnsAreWorth) {
  Problems problems;
  const AnalyticsSettings analytics = *read_counting(permuting(), problems).horizontal().analytics;
  const EvaluationLayout layout(rules_of(analytics));
  std::vector<float> table(layout.lanes());
  put_moments(layout, 0, 0, {4, 3, 0}, table);
  put_rises(layout, 1, 4, {.loss = 3 * 2 * kLossUnits, .errors = -3}, table);  // of 4 examples in 3 orders
  const json model = to_json(analytics, evaluation_result_of(analytics, table))["models"][0];
  EXPECT_EQ(model["importance"]["repeats"], 3);
  EXPECT_EQ(model["importance"]["columns"][1],
            (json{{"name", "workclass"},
                  {"feature", 2},
                  {"width", 5},
                  {"loss_rise", {{"value", 0.5}, {"low", nullptr}, {"high", nullptr}}},
                  {"error_rise", {{"value", -0.25}, {"low", nullptr}, {"high", nullptr}}}}));
}

}  // namespace
}  // namespace coterie
