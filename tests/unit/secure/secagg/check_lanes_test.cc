// The lanes that tell whether a sum was unmasked right.
#include "secure/secagg/check_lanes.h"

#include <gtest/gtest.h>

#include <vector>

#include "secure/secagg/fault.h"
#include "tests/support/matchers.h"

namespace coterie::secagg {
namespace {

template <typename Lane>
class CheckLanes : public ::testing::Test {};
using Lanes = ::testing::Types<uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(CheckLanes, Lanes);

TYPED_TEST(CheckLanes, HoldForTheirSumAlone) {
  constexpr uint32_t kBits = sizeof(TypeParam) * 8;
  for (const uint32_t ring_bits : {kBits, kBits - 5, kBits / 2 + (kBits == 16 ? 0 : 1)}) {
    SessionParameters parameters;
    parameters.ring_bits = ring_bits;
    parameters.lane_count = 1;
    const Digest session{{1, 2, 3}};
    const auto ring = static_cast<TypeParam>(ring_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << ring_bits) - 1);
    std::vector<TypeParam> lanes(check_lane_count(parameters));
    EXPECT_GE((lanes.size() - 1) * ring_bits, 64u);
    write_check_lanes<TypeParam>(parameters, session, lanes);
    for (const TypeParam lane : lanes) EXPECT_EQ(lane & ~ring, 0);

    const auto verified = [&](const Digest& of, uint64_t updates, const std::vector<TypeParam>& sum) {
      const SummedSession summed[] = {{of, updates}};
      return verify_check_lanes<TypeParam>(parameters, summed, sum);
    };
    std::vector<TypeParam> sum(lanes.size());
    for (uint64_t count = 1; count <= 300; ++count) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<TypeParam>(sum[i] + lanes[i]);
      ASSERT_OK(verified(session, count, sum));
    }
    EXPECT_EQ(fault_of(verified(session, 299, sum).error()), Fault::sum_mismatch);
    EXPECT_FALSE(verified(Digest{}, 300, sum));
    for (TypeParam& lane : sum) {
      lane ^= 1;
      EXPECT_FALSE(verified(session, 300, sum));
      lane ^= 1;
    }
  }
}

TYPED_TEST(CheckLanes, OfSeveralSessionsAreTheSumOfEach) {
  SessionParameters parameters;
  parameters.lane_count = 10;
  parameters.ring_bits = sizeof(TypeParam) * 8;
  const Digest first{{1}}, second{{2}};
  std::vector<TypeParam> sum(check_lane_count(parameters)), one(sum.size());
  const auto add = [&](const Digest& session, int updates) {
    write_check_lanes<TypeParam>(parameters, session, one);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<TypeParam>(sum[i] + updates * one[i]);
  };
  add(first, 3);
  add(second, 4);
  const auto verified = [&](uint64_t of_first, uint64_t of_second) {
    const SummedSession summed[] = {{first, of_first}, {second, of_second}};
    return verify_check_lanes<TypeParam>(parameters, summed, sum);
  };
  EXPECT_OK(verified(3, 4));
  EXPECT_EQ(fault_of(verified(4, 3).error()), Fault::sum_mismatch) << "the count alone is right";
  EXPECT_EQ(fault_of(verified(7, 0).error()), Fault::sum_mismatch);
}

}  // namespace
}  // namespace coterie::secagg
