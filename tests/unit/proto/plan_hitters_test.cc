// What a plan that looks for frequent strings says, in which lane a string counts, and what hostile plans cannot ask.
#include <cmath>
#include <set>

#include "proto/codec/analytics_table.h"
#include "proto/codec/codec.h"
#include "proto/messages/analytics_check.h"
#include "proto/messages/analytics_lanes.h"
#include "proto/messages/hitter_lanes.h"
#include "proto/messages/plan_features.h"
#include "tests/support/matchers.h"
#include "tests/unit/proto/analytics_plan.h"
#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

AnalyticsRules looking(std::vector<std::string> prefixes = {"ab", "b "}) {
  AnalyticsRules rules{.kind = AnalyticsKind::heavy_hitters, .input_values = 8, .feature = 2};
  rules.hitters = HitterRules{.length_max = 5,
                              .alphabet = {' ', 'a', 'b'},
                              .prefixes_max = 3,
                              .length = prefixes.empty() ? 2 : static_cast<uint32_t>(prefixes[0].size()),
                              .prefixes = prefixes};
  return rules;
}

TEST(PlanHitters, ComesBackAsItWas) {
  AnalyticsRules any_byte = looking({""});
  any_byte.hitters->alphabet.clear();
  for (const AnalyticsRules& rules : {looking(), looking({""}), looking({}), any_byte}) {
    const Plan plan = test::plan_with(rules);
    ASSERT_OK(validate(plan));
    const Result<Plan> read = decode_plan(encode(plan));
    ASSERT_OK(read);
    EXPECT_EQ(*read, plan);
    EXPECT_EQ(features_of(*read), plan_feature::kHeavyHitters);
  }
}

// The largest plan that its limits allow still fits into a frame.
TEST(PlanHitters, FitsIntoAFrameHoweverMuchItFollows) {
  AnalyticsRules rules = looking();
  HitterRules& own = *rules.hitters;
  own = {.length_max = 32, .alphabet = {}, .prefixes_max = 0, .length = 31, .prefixes = {}};
  for (uint8_t byte = 1; byte <= 63; ++byte) own.alphabet.push_back(byte);
  own.prefixes_max = kHitterPrefixesMax;
  for (uint32_t i = 0; i < kHitterPrefixesMax; ++i) {
    std::string prefix(31, 9);
    prefix[0] = static_cast<char>(1 + i / 32);
    prefix[1] = static_cast<char>(1 + i % 32);
    own.prefixes.push_back(prefix);
  }
  rules.input_values = 64;
  ASSERT_OK(validate(rules));
  EXPECT_EQ(lane_count(rules), kHitterLanesMax);
  EXPECT_OK(decode_plan(encode(test::plan_with(rules))));
}

TEST(PlanHitters, LimitsEachNumberByName) {
  const auto expect = [](std::string_view words, auto change) {
    AnalyticsRules rules = looking();
    change(rules, *rules.hitters);
    EXPECT_ERROR(validate(rules), ErrorCode::invalid_argument, words);
  };
  expect("kind must be heavy_hitters", [](auto& r, auto&) { r.hitters.reset(); });
  expect("kind must be heavy_hitters", [](auto& r, auto&) {
    r = {.edges = {1, 2}}, r.hitters.emplace().length_max = 1;
  });
  expect("source must be feature", [](auto& r, auto&) { r.source = AnalyticsSource::target, r.feature = 0; });
  expect("categories", [](auto& r, auto&) { r.categories = 2; });
  expect("missing_feature", [](auto& r, auto&) { r.missing_feature = 0; });
  expect("edges", [](auto& r, auto&) { r.edges = {1, 2}; });
  expect("feature must leave room", [](auto& r, auto&) { r.feature = 4; });
  expect("length_max", [](auto&, auto& h) { h.length_max = 0; });
  expect("feature must leave room", [](auto&, auto& h) { h.length_max = UINT32_MAX; });
  expect("length_max", [](auto& r, auto& h) { r.input_values = 100, h.length_max = kHitterLengthMax + 1; });
  expect("alphabet", [](auto&, auto& h) { h.alphabet = {'b', 'a'}; });
  expect("alphabet", [](auto&, auto& h) { h.alphabet = {'a', 'a', 'b'}; });
  expect("alphabet", [](auto&, auto& h) { h.alphabet = {0, 'a'}; });
  expect("prefixes_max must be in", [](auto&, auto& h) { h.prefixes_max = 0; });
  expect("prefixes_max must be in", [](auto&, auto& h) { h.prefixes_max = kHitterPrefixesMax + 1; });
  expect("65536 lanes", [](auto&, auto& h) { h.alphabet.clear(), h.prefixes_max = 257; });
  expect("bytes of prefixes", [](auto& r, auto& h) { r.input_values = 100, h.length_max = 64, h.prefixes_max = 513; });
  expect("prefixes must be shorter", [](auto&, auto& h) { h.length = 5, h.prefixes = {"aaaaa"}; });
  expect("prefixes must be at most", [](auto&, auto& h) { h.prefixes = {"ab", "aa"}; });
  expect("prefixes must be at most", [](auto&, auto& h) { h.prefixes = {"ab", "ab"}; });
  expect("prefixes must be at most", [](auto&, auto& h) { h.prefixes = {"ab", "b"}; });
  expect("prefixes must be at most", [](auto&, auto& h) { h.prefixes = {"ab", "bc"}; });
  expect("prefixes must be at most", [](auto&, auto& h) { h.prefixes = {"aa", "ab", "b ", "ba"}; });
  expect("lane_max", [](auto& r, auto&) { r.lane_max = 2; });
}

TEST(PlanHitters, OfAStrangerAreRefusedBeforeTheyAreHeld) {
  const auto expect = [](std::string_view words, auto change) {
    Plan plan = test::plan_with(looking());
    change(*plan.analytics->hitters);
    EXPECT_ERROR(decode_plan(encode(plan)), ErrorCode::malformed, words);
  };
  expect("prefixes", [](HitterRules& h) { h.length = 3; });                             // a part of one
  expect("prefixes", [](HitterRules& h) { h.length = 0; });                             // the empty one has no bytes
  expect("prefixes", [](HitterRules& h) { h.prefixes = {std::string(40'000, 'a')}; });  // too many
  expect("prefixes", [](HitterRules& h) { h.length = 1, h.prefixes = {std::string(2'000, 'a')}; });
  expect("alphabet", [](HitterRules& h) { h.alphabet.assign(256, 'a'); });
  expect("prefixes", [](HitterRules& h) { h.prefixes = {"ab", "aa"}; });
  Plan other = test::plan_with(looking());
  other.update.value_count = 11;
  EXPECT_ERROR(decode_plan(encode(other)), ErrorCode::malformed, "value_count must be the table's lanes");
}

std::optional<uint64_t> lane(const AnalyticsRules& rules, const std::string& text) {
  std::vector<float> input(rules.input_values, 7);
  for (size_t i = 0; i < 5; ++i) input[2 + i] = i < text.size() ? static_cast<float>(static_cast<uint8_t>(text[i])) : 0;
  return lane_of(rules, input, 0);
}

TEST(PlanHitters, HasALaneForWhatFollowsEachPrefix) {
  const AnalyticsRules rules = looking();
  ASSERT_EQ(lane_count(rules), 12u);
  EXPECT_EQ(lane(rules, "ab "), 0u);
  EXPECT_EQ(lane(rules, "abaab"), 1u);
  EXPECT_EQ(lane(rules, "abb"), 2u);
  EXPECT_EQ(lane(rules, "ab"), 3u) << "it ends here";
  EXPECT_EQ(lane(rules, "b a"), 5u);
  EXPECT_EQ(lane(rules, "b "), 7u);
  for (const char* none : {"", "a", "aa", "abc", "bab"}) EXPECT_EQ(lane(rules, none), std::nullopt) << none;
  EXPECT_EQ(lane(looking({}), "ab"), std::nullopt) << "nothing is followed";
  const AnalyticsRules first = looking({""});
  EXPECT_EQ(lane(first, "ab"), 1u);
  EXPECT_EQ(lane(first, ""), std::nullopt) << "nobody is counted for an empty string";
  for (const float wrong : {-1.0f, 97.5f, 256.0f, NAN, INFINITY}) {
    std::vector<float> input(8, 97);
    input[4] = wrong;
    EXPECT_EQ(lane_of(rules, input, 0), std::nullopt) << wrong;
  }
}

// Bytes above 127 are bytes, whatever a char is.
TEST(PlanHitters, OfAnyByteHasALaneForEach) {
  AnalyticsRules rules = looking({""});
  rules.hitters->alphabet.clear();
  std::set<uint64_t> lanes;
  for (uint32_t byte = 1; byte <= 255; ++byte) {
    const std::optional<uint64_t> own = lane(rules, std::string(1, static_cast<char>(byte)));
    ASSERT_TRUE(own);
    EXPECT_EQ(symbol_at(*rules.hitters, static_cast<uint32_t>(*own)), byte);
    lanes.insert(*own);
  }
  EXPECT_EQ(lanes.size(), 255u);
  rules.hitters->length = 1;
  rules.hitters->prefixes = {"a", "\xc3"};
  EXPECT_OK(validate(rules));
  EXPECT_EQ(lane(rules, "\xc3\xa9"), 256u + 0xa9 - 1);
}

TEST(PlanHitters, OfASingleDeviceAreOfPrefixesThatItWasAskedFor) {
  const AnalyticsRules rules = looking();
  std::vector<float> lanes(12);
  EXPECT_OK(check_lanes(rules, lanes));
  lanes[7] = 1;
  EXPECT_OK(check_lanes(rules, lanes));
  lanes[7] = 2;
  EXPECT_ERROR(check_lanes(rules, lanes), ErrorCode::malformed, "a count of 2");
  lanes[7] = 0;
  lanes[8] = 1;  // of a third prefix
  EXPECT_ERROR(check_lanes(rules, lanes), ErrorCode::malformed, "a prefix that is not asked for");
  lanes[8] = 0;
  lanes[3] = 1;
  EXPECT_OK(check_lanes(rules, lanes));
  EXPECT_ERROR(check_lanes(looking({""}), lanes), ErrorCode::malformed, "not asked for") << "the empty string";
}

TEST(PlanHitters, HaveATableWithABlockForEachRound) {
  const AnalyticsRules rules = looking({""});
  const Bytes file = new_table(rules, 5);
  const Result<CountBlocks> blocks = read_blocks(rules, 5, file);
  ASSERT_OK(blocks);
  EXPECT_EQ(*blocks, CountBlocks(5, std::vector<float>(12)));
  EXPECT_NE(new_table(rules, 4), file);
  EXPECT_ERROR(read_blocks(rules, 4, file), ErrorCode::malformed, "has 5 blocks, the job's has 4");
  AnalyticsRules other = rules;
  other.hitters->prefixes_max = 4;
  EXPECT_ERROR(read_blocks(other, 5, file), ErrorCode::malformed, "has 12 lanes, the job's has 16");
}

}  // namespace
}  // namespace coterie
