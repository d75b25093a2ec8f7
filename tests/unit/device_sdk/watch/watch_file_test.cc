#include "device_sdk/watch/watch_file.h"

#include <gmock/gmock.h>

#include "base/os/file.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {
namespace {

using ::testing::HasSubstr;

std::string wrong_with(const std::string& text) {
  const Result<WatchPlan> plan = parse_watch(text);
  EXPECT_FALSE(plan) << text;
  return plan ? "" : plan.error().message();
}

TEST(WatchFile, FillsThePlan) {
  const Result<WatchPlan> plan = parse_watch(R"({"every": 10, "hits_max": 7, "checks": [
    {"check": "weight_change_too_large", "tensors": "conv*", "ratio_above": 0.5, "steps": 100, "from_step": 20},
    {"check": "activation_range", "op": "tanh", "range_start": -1, "range_end": 1, "percent_below": 5},
    {"check": "loss_not_decreasing", "window_steps": 50},
    {"check": "tensor_overflow"}]})");
  ASSERT_OK(plan);
  EXPECT_EQ(plan->every, 10u);
  EXPECT_EQ(plan->hits_max, 7u);
  ASSERT_EQ(plan->checks.size(), 4u);
  const WatchedCheck& change = plan->checks[0];
  EXPECT_EQ(change.check->name, "weight_change_too_large");
  EXPECT_EQ(change.tensors, "conv*");
  EXPECT_EQ(change.values[0], 0.5);
  EXPECT_EQ(change.steps, 100u);
  EXPECT_EQ(change.from_step, 20u);
  EXPECT_EQ(plan->checks[1].op, "tanh");
  EXPECT_EQ(plan->checks[1].values[2], 5);
  EXPECT_FALSE(plan->checks[1].values[3]) << "what is not given is not asked for";
  EXPECT_EQ(plan->checks[2].values[2], 50);
  EXPECT_EQ(plan->checks[2].values[0], 0.01) << "the standard";
}

TEST(WatchFile, SaysAllThatIsWrongAndWhatWasMeant) {
  const std::string wrong = wrong_with(R"({"evry": 1, "checks": [{"check": "dead_rellu"},
    {"check": "weight_change_too_large", "ratio_abov": 1},
    {"check": "activation_range", "op": "tahn", "percent_below": 101},
    {"check": "loss_not_decreasing", "window_steps": 1.5, "tensors": "*"},
    {"check": "tensor_too_large"}, {"check": "update_norm_outlier", "window_looks": "many"}, 3, {}]})");
  EXPECT_THAT(wrong, HasSubstr("/evry: unknown key; did you mean `every`?"));
  EXPECT_THAT(wrong, HasSubstr("/checks/0/check: there is no such check; did you mean `dead_relu`?"));
  EXPECT_THAT(wrong, HasSubstr("/checks/1/ratio_abov: unknown key; did you mean `ratio_above`?"));
  EXPECT_THAT(wrong, HasSubstr("/checks/2/op: there is no such kind of op; did you mean `tanh`?"));
  EXPECT_THAT(wrong, HasSubstr("/checks/2/percent_below: must be a number in [0, 100]"));
  EXPECT_THAT(wrong, HasSubstr("/checks/3/window_steps: must be a whole number in [0, 1e+09]"));
  EXPECT_THAT(wrong, HasSubstr("/checks/3/tensors: unknown key"));
  EXPECT_THAT(wrong, HasSubstr("/checks/4/check: needs one of mean_magnitude_above, max_above, min_above, mean_above"));
  EXPECT_THAT(wrong, HasSubstr("/checks/5/window_looks: must be a number"));
  EXPECT_THAT(wrong, HasSubstr("/checks/6: must be an object"));
  EXPECT_THAT(wrong, HasSubstr("/checks/7/check: is required"));
}

TEST(WatchFile, WhatIsNoPlanIsRefused) {
  EXPECT_THAT(wrong_with(""), HasSubstr("byte 0"));
  EXPECT_THAT(wrong_with("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(wrong_with("{}"), HasSubstr("/checks: is required"));
  EXPECT_THAT(wrong_with(R"({"checks": [{"check": "tensor_overflow"}]} 1)"), HasSubstr("something follows"));
  EXPECT_THAT(wrong_with(R"({"every": 2, "every": 3, "checks": [{"check": "tensor_overflow"}]})"),
              HasSubstr("/every: is there twice"));
  EXPECT_THAT(wrong_with(R"({"checks": [{"check": "tensor_overflow", "from_step": -1}]})"),
              HasSubstr("/checks/0/from_step: must be a whole number from 0 on"));
  EXPECT_THAT(wrong_with(R"({"checks": [{"check": "tensor_overflow", "tensors": 3}]})"), HasSubstr("must be a string"));
  EXPECT_THAT(wrong_with(R"({"checks": []})"), HasSubstr("/checks: must be a list of 1 to 64 checks"));
  EXPECT_THAT(wrong_with(R"({"checks": {"check": "tensor_overflow"}})"), HasSubstr("must be a list"));
  EXPECT_THAT(wrong_with(R"({"checks": null})"), HasSubstr("must be a list"));
  EXPECT_THAT(wrong_with(R"({"every": 0, "checks": [{"check": "tensor_overflow"}]})"), HasSubstr("/every: must be in"));
  EXPECT_THAT(wrong_with(R"({"hits_max": 10001, "checks": [{"check": "tensor_overflow"}]})"), HasSubstr("/hits_max"));
  EXPECT_THAT(wrong_with(R"({"checks": [{"check": "tensor_too_large", "max_above": 1e39}]})"), HasSubstr("max_above"));
  std::string many = R"({"checks": [)";
  for (int i = 0; i < 65; ++i) many += (i > 0 ? "," : "") + std::string(R"({"check": "tensor_overflow"})");
  EXPECT_THAT(wrong_with(many + "]}"), HasSubstr("1 to 64"));
}

TEST(WatchFile, SettingsThatSayNothingTogether) {
  const auto range = [](const std::string& settings) {
    return R"({"checks": [{"check": "tensor_range", )" + settings + "}]}";
  };
  EXPECT_THAT(wrong_with(range(R"("range_start": 5, "range_end": 1, "percent_below": 1)")),
              HasSubstr("/checks/0/range_end: must be at least range_start"));
  EXPECT_THAT(wrong_with(range(R"("range_start": 5, "span_above": 1)")),
              HasSubstr("/checks/0/range_start: has no effect without percent_below or percent_above"));
  EXPECT_THAT(wrong_with(range(R"("range_end": 5, "span_above": 1)")), HasSubstr("/checks/0/range_end: has no effect"));
  EXPECT_THAT(wrong_with(range(R"("percent_below": 1)")), HasSubstr("needs range_start, range_end or both"));
  EXPECT_OK(parse_watch(range(R"("range_start": 1, "range_end": 1, "percent_above": 1)")));
  EXPECT_OK(parse_watch(range(R"("range_end": 5, "percent_below": 1, "span_above": 1)")));
}

TEST(WatchFile, AFileThatIsTooLargeIsNotRead) {
  const TemporaryDirectory folder;
  const std::string path = folder.path() + "/watch.json";
  ASSERT_OK(os::write_file_atomically(path, as_bytes(std::string(70'000, ' '))));
  const Result<WatchPlan> plan = read_watch_file(path);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::too_large);
}

// docs/DEBUGGING.md has the table that the rows give.
TEST(WatchFile, TheDocumentHasEachCheck) {
  const Result<Bytes> page = os::read_file(source_dir() + "/docs/DEBUGGING.md", 1 << 20);
  ASSERT_OK(page);
  EXPECT_THAT(std::string(as_text(*page)), HasSubstr(check_table())) << "the table should be:\n" << check_table();
}

}  // namespace
}  // namespace coterie::test
