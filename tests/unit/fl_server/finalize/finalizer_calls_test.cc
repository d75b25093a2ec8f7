// What a finalizer tells of the calls of its stores, and that hearing them changes nothing.
#include <gmock/gmock.h>

#include <map>

#include "fl_server/telemetry/round_probe.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"

namespace coterie::test {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;
using testing::Pair;

class Calls final : public RoundProbe {
 public:
  void store_called(const RoundKey& key, std::string_view call, std::chrono::microseconds began,
                    std::chrono::microseconds took) override {
    ++counts[std::string(call)];
    keys.push_back(key);
    are_times_good = are_times_good && began.count() > 0 && took.count() >= 0;
  }
  void device_at(const RoundKey&, const DeviceId&, DeviceStep) override { ADD_FAILURE() << "no device is here"; }

  std::map<std::string, int> counts;
  std::vector<RoundKey> keys;
  bool are_times_good = true;
};

const std::vector<float> kWeights{1, 2, 3, 4};

Result<FinalizedRound> heard(FrozenRound& round, Calls& calls) {
  return Finalizer(round.rounds_, round.rounds_, round.blobs_, round.partials_, round.noise_, {}, &calls)
      .finalize(round.job_, round.round_, round.base_, wall_time_from_unix_ms(7));
}

TEST(FinalizerCalls, TellsACallForEachBlobAndEachQuestion) {
  FrozenRound round({}, kWeights);
  round.add_partial("a", {{{1, 1, 1, 1}}});
  round.add_partial("b", {{{3, 3, 3, 3}}});
  Calls calls;
  const auto finalized = heard(round, calls);
  ASSERT_OK(finalized);
  EXPECT_THAT(calls.counts, Contains(Pair("read partial sum", 2)));
  EXPECT_THAT(calls.counts, Contains(Pair("list partial sums", 1)));
  EXPECT_THAT(calls.counts, Contains(Pair("count accepted", 1)));
  EXPECT_THAT(calls.counts, Contains(Pair("read blob", 1))) << "the base";
  EXPECT_THAT(calls.counts, Contains(Pair("write blob", 1))) << "the next model";
  EXPECT_THAT(calls.counts, Not(Contains(Key("reserve release"))));
  for (const RoundKey& key : calls.keys) EXPECT_EQ(key, round.round_.key);
  EXPECT_TRUE(calls.are_times_good);
  const auto unheard = round.finalize();
  ASSERT_OK(unheard);
  EXPECT_EQ(finalized->model.digest, unheard->model.digest);
}

TEST(FinalizerCalls, TellsOfTheLedgerWhereNoiseIsReserved) {
  FrozenRound round({}, kWeights, [](HorizontalSettings& settings) {
    settings.rounds.goal_count = 1;
    settings.update.clip_l2 = 1;
    settings.update.weight_max = 1;
    settings.privacy = {SecurityLevel::none, 1.5, 1e-6, 100};
  });
  round.add_partial("a", {{{0, 0, 0, 0}}});
  round.move(RoundState::frozen);
  Calls calls;
  ASSERT_OK(heard(round, calls));
  EXPECT_THAT(calls.counts, Contains(Pair("reserve release", 1)));
}

TEST(FinalizerCalls, TellsOfTheCallThatFails) {
  FrozenRound round({}, kWeights);
  const Digest blob = round.add_partial("a", {{{1, 1, 1, 1}}});
  ASSERT_OK(round.partials_.remove(blob));
  Calls calls;
  EXPECT_ERROR(heard(round, calls), ErrorCode::not_found, "");
  EXPECT_THAT(calls.counts, Contains(Pair("read partial sum", 1)));
  EXPECT_THAT(calls.counts, Not(Contains(Key("write blob"))));
}

}  // namespace
}  // namespace coterie::test
