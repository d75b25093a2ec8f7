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

    std::vector<TypeParam> sum(lanes.size());
    for (uint64_t count = 1; count <= 300; ++count) {
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<TypeParam>(sum[i] + lanes[i]);
      ASSERT_OK(verify_check_lanes<TypeParam>(parameters, session, count, sum));
    }
    EXPECT_EQ(fault_of(verify_check_lanes<TypeParam>(parameters, session, 299, sum).error()), Fault::sum_mismatch);
    EXPECT_FALSE(verify_check_lanes<TypeParam>(parameters, Digest{}, 300, sum));
    for (TypeParam& lane : sum) {
      lane ^= 1;
      EXPECT_FALSE(verify_check_lanes<TypeParam>(parameters, session, 300, sum));
      lane ^= 1;
    }
  }
}

}  // namespace
}  // namespace coterie::secagg
