// Opening on several threads: the same sum, the same devices blamed, whatever the number.
#include "fl_server/runtime/open_masks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/log.h"
#include "tests/support/matchers.h"
#include "tests/support/secagg_world.h"

namespace coterie {
namespace {

using test::SecaggWorld;
using Phase = SecaggWorld::Phase;

constexpr size_t kLanes = 200;

// What the masks of a session add to lanes of zeros.
Result<std::vector<uint64_t>> opened(std::vector<const SecaggWorld*> worlds,
                                     const secagg::SessionParameters& parameters, size_t threads) {
  WorkPool pool;
  pool.start(threads);
  std::vector<const secagg::Server*> sessions;
  std::vector<secagg::SummedSession> summed;
  for (const SecaggWorld* world : worlds) {
    sessions.push_back(&world->server());
    summed.push_back({world->server().session(), world->survivors().size()});
  }
  COT_ASSIGN(const SumMasks masks, open_masks(sessions, parameters, pool));
  EXPECT_EQ(masks.sessions, summed);
  std::vector<uint64_t> lanes(kLanes);
  EXPECT_EQ(masks.masks.size(), sessions.size());
  for (const MaskSum& own : masks.masks) own.apply(0, std::span(lanes));
  return lanes;
}

class OpenMasks : public testing::TestWithParam<SecurityLevel> {};

// 70 devices are three parts; every ninth has vanished behind its shares, so that its masks with 62 others are opened.
TEST_P(OpenMasks, IsBitForBitTheSameOnAnyNumberOfThreads) {
  const secagg::SessionParameters parameters = test::secagg_parameters(GetParam(), kLanes);
  SecaggWorld world(parameters, 70);
  world.takes_part = [](uint32_t who, Phase phase) { return phase < Phase::masking || who % 9 != 0; };
  ASSERT_OK(world.run());
  const auto opening = world.server().opening().open();
  ASSERT_OK(opening);
  const auto expected_sum = secagg::to_mask_sum(parameters.suite, opening->masks);
  ASSERT_OK(expected_sum);
  std::vector<uint64_t> expected(kLanes);
  expected_sum->apply(0, std::span(expected));
  ASSERT_NE(expected, std::vector<uint64_t>(kLanes));
  for (const size_t threads : {0, 1, 2, 3, 8}) {
    const auto lanes = opened({&world}, parameters, threads);
    ASSERT_OK(lanes);
    EXPECT_EQ(*lanes, expected) << threads << " threads";
  }
}

TEST_P(OpenMasks, OfSeveralCohortsIsTheSumOfEach) {
  const secagg::SessionParameters parameters = test::secagg_parameters(GetParam(), kLanes);
  SecaggWorld large(parameters, 70), small(parameters, 5);
  large.takes_part = [](uint32_t who, Phase phase) { return phase < Phase::masking || who % 9 != 0; };
  ASSERT_OK(large.run());
  ASSERT_OK(small.run());
  std::vector<uint64_t> expected = *opened({&large}, parameters, 0);
  const std::vector<uint64_t> of_small = *opened({&small}, parameters, 0);
  for (size_t i = 0; i < kLanes; ++i) expected[i] += of_small[i];
  for (const size_t threads : {0, 2, 8}) EXPECT_EQ(*opened({&large, &small}, parameters, threads), expected);
}

// A third of the holders lie: no secret can be told from their shares.
TEST_P(OpenMasks, TooManyWrongSharesAreAnErrorOnAnyNumberOfThreads) {
  const secagg::SessionParameters parameters = test::secagg_parameters(GetParam(), kLanes);
  SecaggWorld world(parameters, 70);
  world.on_unmasking = [](uint32_t who, Unmasking& unmasking) {
    if (who % 3 != 0) return;
    for (OpenedShare& share : unmasking.shares) share.value[0] ^= 1;
  };
  ASSERT_OK(world.run());
  for (const size_t threads : {0, 2, 8}) {
    const auto lanes = opened({&world}, parameters, threads);
    ASSERT_FALSE(lanes);
    EXPECT_EQ(secagg::fault_of(lanes.error()), secagg::Fault::bad_shares) << threads << " threads";
  }
}

std::string g_log;

TEST_P(OpenMasks, NamesHowManyGaveWrongSharesOnce) {
  const secagg::SessionParameters parameters = test::secagg_parameters(GetParam(), kLanes);
  SecaggWorld world(parameters, 70);
  world.on_unmasking = [](uint32_t who, Unmasking& unmasking) {
    if (who != 5 && who != 11) return;
    for (OpenedShare& share : unmasking.shares) share.value[0] ^= 1;
  };
  ASSERT_OK(world.run());
  const auto opening = world.server().opening().open();
  ASSERT_OK(opening);
  ASSERT_FALSE(
      opening->blamed.empty());  // a wrong share that was not needed is not seen: in a ring, perhaps one of the two
  g_log.clear();
  set_log_sink(+[](LogLevel level, std::string_view event, std::span<const LogField> fields) {
    g_log += to_json_line(level, event, fields);
  });
  const auto lanes = opened({&world}, parameters, 3);
  set_log_sink(nullptr);
  ASSERT_OK(lanes);
  EXPECT_NE(g_log.find("\"wrong_shares\""), g_log.npos) << g_log;
  EXPECT_NE(g_log.find("\"devices\":" + std::to_string(opening->blamed.size()) + "}"), g_log.npos) << g_log;
}

INSTANTIATE_TEST_SUITE_P(Levels, OpenMasks, testing::Values(SecurityLevel::masked, SecurityLevel::active));

}  // namespace
}  // namespace coterie
