// Rounds of watched jobs: what devices found is read off their sum, and moves the model by nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "fl_server/records/watch_record.h"
#include "proto/messages/watch_lanes.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint64_t kValues = 16 + 3;  // of base()
const WatchSettings kWatch{.checks = {"weight_unchanged", "loss_not_decreasing"}};

const auto watched = [](HorizontalSettings& settings) { settings.training.watch = kWatch; };

// A dense layer: its weight, which is filled up to 16 values, and its bias.
Bytes base() {
  ModelBuilder build("one", {4}, 3);
  return *build.finish(build.dense(build.input(), 3));
}

// What a device sends on which these lanes are 1.
TestUpdate update_of(const FrozenRound& round, const std::vector<float>& delta, uint32_t weight,
                     const std::vector<size_t>& lanes) {
  std::vector<float> values = delta;
  values.resize(kValues + watch_lane_count(kWatch));
  for (const size_t lane : lanes) values[kValues + lane] = round.job_.spec.horizontal().update.value_abs_max;
  return {values, weight};
}

TEST(WatchedRounds, SayOnWhichShareOfTheRoundAnythingWasFound) {
  FrozenRound round(StrategySettings(), base(), watched);
  ASSERT_EQ(round.update_values(), kValues + watch_lane_count(kWatch));
  const std::vector<float> a = test::some_values(1, kValues, 0.1), b = test::some_values(2, kValues, 0.1);
  const size_t loss = watch_lane(kWatch, 1);
  round.add_partial("p",
                    {update_of(round, a, 1, {0, 1}), update_of(round, b, 3, {0, loss}), update_of(round, a, 4, {})});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  ASSERT_TRUE(finalized->model.watch.has_value());
  const WatchOutcome& outcome = *finalized->model.watch;
  EXPECT_EQ(outcome.looked, 0.5) << "by weight";
  EXPECT_EQ(outcome.hits,
            (std::vector<WatchShare>{{"weight_unchanged", "dense1", 0.125}, {"loss_not_decreasing", "", 0.375}}));
}

TEST(WatchedRounds, MoveTheModelAsIfNobodyLooked) {
  for (const char* name : {"fedavg", "fedavgm", "fedadam"}) {
    FrozenRound looked(StrategySettings::of(name), base(), watched);
    FrozenRound alone(StrategySettings::of(name), base());
    const std::vector<float> a = test::some_values(1, kValues, 0.1), b = test::some_values(2, kValues, 0.1);
    looked.add_partial("p", {update_of(looked, a, 1, {0, 1}), update_of(looked, b, 3, {2, 3})});
    alone.add_partial("p", {{a, 1}, {b, 3}});
    const auto with = looked.finalize(), without = alone.finalize();
    ASSERT_OK(with);
    ASSERT_OK(without);
    EXPECT_EQ(with->model.digest, without->model.digest) << name;
    EXPECT_FALSE(without->model.watch.has_value());
  }
}

// A lane is at most what a device weighs, and no lie makes a share that is none.
TEST(WatchedRounds, KeepSharesInTheirRangeWhateverIsSent) {
  FrozenRound round(StrategySettings(), base(), watched);
  TestUpdate low = update_of(round, std::vector<float>(kValues, 0.1f), 1, {});
  low.values[kValues] = -64;
  low.values[kValues + 1] = -64;
  TestUpdate high = update_of(round, std::vector<float>(kValues, 0.1f), 1, {watch_lane(kWatch, 1)});
  round.add_partial("p", {low, high});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.watch->looked, 0);
  EXPECT_EQ(finalized->model.watch->hits, (std::vector<WatchShare>{{"loss_not_decreasing", "", 0.5}}));
}

TEST(WatchRecord, IsReadAsItWasWrittenAndNothingElseIs) {
  const WatchOutcome outcome{.looked = 0.1, .hits = {{"dead_relu", "conv1..conv3", 1}, {"label_drift", "", 0.3}}};
  const Bytes bytes = encode_watch(outcome);
  EXPECT_EQ(*decode_watch(bytes), outcome);
  EXPECT_EQ(*decode_watch(encode_watch({})), WatchOutcome{});
  size_t readable = 0;
  for (size_t size = 0; size < bytes.size(); ++size) readable += decode_watch(ByteView(bytes).first(size)) ? 1 : 0;
  EXPECT_EQ(readable, 2u) << "at the end of an entry alone";
  EXPECT_ERROR(decode_watch(encode_watch({.looked = 1.5})), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_watch(encode_watch({.hits = {{"a", "b", std::nan("")}}})), ErrorCode::data_loss, "no known form");
}

}  // namespace
}  // namespace coterie
