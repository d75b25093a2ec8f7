// What a plan with analytics says, and in which lane a device counts an example.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "proto/generated/wire_generated.h"
#include "proto/messages/analytics_lanes.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/analytics_plan.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

AnalyticsRules ages() {
  return {.input_values = 3, .feature = 1, .missing_feature = 2, .edges = {10, 20, 30}, .values_max = 5, .lane_max = 2};
}

float as_label(int32_t label) { return std::bit_cast<float>(label); }

// Those that know every other table would train: they read no loss anywhere.
TEST(PlanAnalytics, HasNoLossWhereOlderDevicesLook) {
  const Plan plan = test::plan_with(ages());
  ASSERT_OK(validate(plan));
  const Bytes frame = encode(plan);
  const auto* training =
      flatbuffers::GetRoot<wire::Plan>(parse_frame(frame, FrameKind::plan)->header.data())->training();
  EXPECT_EQ(training->loss(), 0);
  EXPECT_EQ(training->objective(), nullptr);
  EXPECT_EQ(training->correction(), nullptr);
  EXPECT_EQ(training->target(), nullptr);
  EXPECT_EQ(training->augment(), nullptr);
  EXPECT_EQ(training->trained(), nullptr);
  EXPECT_EQ(training->early_stopping(), nullptr);
  const Result<Plan> read = decode_plan(frame);
  ASSERT_OK(read);
  EXPECT_EQ(*read, plan);
}

TEST(PlanAnalytics, GoesWithNothingThatScalesRoundsOrKeepsAnUpdate) {
  const auto expect = [](std::string_view words, auto change) {
    Plan plan = test::plan_with(ages());
    change(plan);
    EXPECT_ERROR(validate(plan), ErrorCode::invalid_argument, words);
  };
  expect("analytics do not go with a training", [](Plan& p) { p.training.local_epochs = 2; });
  expect("analytics do not go with a training", [](Plan& p) { p.training.proximal_mu = 0.1f; });
  expect("another encoding", [](Plan& p) { p.update.encoding = UpdateEncoding::float32_pooled; });
  expect("weights of devices", [](Plan& p) { p.update.fixed_point = FixedPointSpec::finest(2, 2, 1000); });
  expect("staleness", [](Plan& p) { p.staleness = {.versions_max = 3, .exponent = 0.5f}; });
  expect("deltas", [](Plan& p) { p.download.bits = 4; });
  expect("trained values alone", [](Plan& p) { p.update.whole_value_count = p.update.value_count + 1; });
  expect("value_count", [](Plan& p) { ++p.update.value_count; });
  expect("clip_l2", [](Plan& p) { p.update.clip_l2 *= 2; });
}

TEST(PlanAnalytics, LimitsEachNumberByName) {
  const auto pointer = [](auto change) {
    AnalyticsRules rules = ages();
    change(rules);
    const Problems problems = problems_of(rules);
    return problems.empty() ? std::string() : problems[0].pointer;
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(pointer([](auto&) {}), "");
  EXPECT_EQ(pointer([](auto& r) { r.kind = static_cast<AnalyticsKind>(9); }), "/kind");
  EXPECT_EQ(pointer([](auto& r) { r.source = static_cast<AnalyticsSource>(0); }), "/source");
  for (const auto& edges : std::vector<std::vector<float>>{{}, {1}, {2, 1}, {1, 1}, {1, kNan}, {1, kInfinity}}) {
    EXPECT_EQ(pointer([&](auto& r) { r.edges = edges; }), "/edges");
  }
  EXPECT_EQ(pointer([](auto& r) { r.edges.resize(kHistogramEdgesMax + 1); }), "/edges");
  EXPECT_EQ(pointer([](auto& r) { r.input_values = 0; }), "/input_values");
  EXPECT_EQ(pointer([](auto& r) { r.input_values = kInputValuesMax + 1; }), "/input_values");
  EXPECT_EQ(pointer([](auto& r) { r.feature = 3; }), "/feature");
  EXPECT_EQ(pointer([](auto& r) { r.missing_feature = 3; }), "/missing_feature");
  EXPECT_EQ(pointer([](auto& r) { r.values_max = 0; }), "/values_max");
  EXPECT_EQ(pointer([](auto& r) { r.values_max = kAnalyticsValuesMax + 1; }), "/values_max");
  EXPECT_EQ(pointer([](auto& r) { r.lane_max = 6; }), "/lane_max");
  EXPECT_EQ(pointer([](auto& r) { r.buckets = 64; }), "/buckets");
  EXPECT_EQ(pointer([](auto& r) { r = {.kind = AnalyticsKind::distinct, .buckets = 15}; }), "/buckets");
  EXPECT_EQ(
      pointer([](auto& r) { r = {.kind = AnalyticsKind::distinct, .buckets = 64, .values_max = 2, .lane_max = 2}; }),
      "/lane_max");
  EXPECT_EQ(pointer([](auto& r) { r = {.source = AnalyticsSource::label}; }), "/categories");
  EXPECT_EQ(pointer([](auto& r) { r = {.categories = kHistogramCategoriesMax + 1}; }), "/feature");
  EXPECT_EQ(pointer([](auto& r) { r = {.source = AnalyticsSource::label, .categories = kHistogramCategoriesMax + 1}; }),
            "/categories");
}

TEST(PlanAnalytics, HasALaneForEveryNumber) {
  const AnalyticsRules rules = ages();
  ASSERT_EQ(lane_count(rules), 5u);
  const auto lane = [&](float value, float missing = 0) {
    const float input[] = {99, value, missing};
    return lane_of(rules, input, 0).value();
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(lane(-kInfinity), 0u);
  EXPECT_EQ(lane(std::nextafter(10.0f, 0.0f)), 0u);
  EXPECT_EQ(lane(10), 1u) << "an edge begins its bin";
  EXPECT_EQ(lane(19.5f), 1u);
  EXPECT_EQ(lane(20), 2u);
  EXPECT_EQ(lane(30), 3u);
  EXPECT_EQ(lane(kInfinity), 3u);
  EXPECT_EQ(lane(std::numeric_limits<float>::quiet_NaN()), 4u);
  EXPECT_EQ(lane(15, 1), 4u) << "the encoder has put it there for a missing one";
}

TEST(PlanAnalytics, HasALaneForEveryCategory) {
  const AnalyticsRules labels{.source = AnalyticsSource::label, .categories = 3};
  ASSERT_EQ(lane_count(labels), 4u);
  const float none[] = {0};
  for (const int32_t label : {0, 1, 2}) EXPECT_EQ(lane_of(labels, none, as_label(label)), static_cast<uint64_t>(label));
  for (const int32_t label : {-1, 3, INT32_MIN, INT32_MAX}) EXPECT_EQ(lane_of(labels, none, as_label(label)), 3u);
  const AnalyticsRules one_hot{.input_values = 4, .feature = 1, .categories = 3};
  const auto lane = [&](float a, float b, float c) {
    const float input[] = {1, a, b, c};
    return lane_of(one_hot, input, 0).value();
  };
  EXPECT_EQ(lane(1, 0, 0), 0u);
  EXPECT_EQ(lane(0, 0, 1), 2u);
  EXPECT_EQ(lane(0, 0, 0), 3u) << "a value that nobody saw when the data were encoded";
}

TEST(PlanAnalytics, PutsEqualValuesIntoOneBucketAndOthersIntoAll) {
  const AnalyticsRules rules{.kind = AnalyticsKind::distinct, .buckets = 64};
  const auto lane = [&](float value) { return lane_of(rules, std::span(&value, 1), 0); };
  EXPECT_EQ(lane(0.0f), lane(-0.0f));
  EXPECT_EQ(lane(std::numeric_limits<float>::quiet_NaN()), std::nullopt);
  std::vector<uint32_t> found(64);
  for (int i = 0; i < 6400; ++i) ++found[*lane(static_cast<float>(i))];
  for (const uint32_t count : found) EXPECT_NEAR(count, 100, 50);
}

// The longest vector of each rule, found by going through all of them.
TEST(PlanAnalytics, KnowsHowFarOneDeviceMayMoveATable) {
  for (uint32_t values = 1; values <= 7; ++values) {
    for (uint32_t lane_most = 1; lane_most <= values; ++lane_most) {
      AnalyticsRules rules{.edges = {1, 2}, .values_max = values, .lane_max = lane_most};  // four lanes
      double longest = 0;
      const auto put = [&](auto self, uint32_t lane, uint32_t left, double squares) -> void {
        longest = std::max(longest, std::sqrt(squares));
        if (lane == 4) return;
        for (uint32_t n = 0; n <= std::min(left, lane_most); ++n) self(self, lane + 1, left - n, squares + n * n);
      };
      put(put, 0, values, 0);
      EXPECT_DOUBLE_EQ(l2_sensitivity(rules), longest) << values << " " << lane_most;
      EXPECT_GE(static_cast<double>(clip_of(rules)), longest);
      EXPECT_LT(static_cast<double>(clip_of(rules)), longest * (1 + 0x1p-22));
    }
  }
}

TEST(PlanAnalytics, IsATableThatIsAModel) {
  const AnalyticsRules rules = ages();
  const Bytes file = new_table(rules);
  const Result<std::vector<float>> counts = read_table(rules, file);
  ASSERT_OK(counts);
  EXPECT_EQ(*counts, std::vector<float>(5));
  EXPECT_EQ(new_table(rules), file);
  AnalyticsRules more = rules;
  more.values_max = 7;
  EXPECT_EQ(new_table(more), file) << "the same question";
  for (const auto& change : std::vector<std::function<void(AnalyticsRules&)>>{
           [](AnalyticsRules& r) { r.feature = 0; }, [](AnalyticsRules& r) { r.edges[1] = 21; },
           [](AnalyticsRules& r) { r.source = AnalyticsSource::target; }}) {
    AnalyticsRules asked = rules;
    change(asked);
    EXPECT_NE(new_table(asked), file);
  }
  AnalyticsRules other = rules;
  other.edges.push_back(40);
  EXPECT_ERROR(read_table(other, file), ErrorCode::malformed, "table: has 5 lanes, the job's has 6");
  EXPECT_FALSE(read_table(rules, ByteView(file).first(file.size() - 1)));
}

}  // namespace
}  // namespace coterie
