// What a plan says of deltas.
#include <gtest/gtest.h>

#include "tests/unit/proto/rejection.h"

namespace coterie {
namespace {

TEST(PlanDownload, LimitsDeltasByName) {
  const auto with = [](uint32_t bits, size_t deltas, uint64_t bytes = 10) {
    return [=](Plan& plan) {
      plan.download = {.bits = bits, .deltas = std::vector<DeltaFile>(deltas, {Digest{{1}}, Digest{{2}}, bytes})};
    };
  };
  for (const uint32_t bits : {2u, 8u}) test::expect_accepted<Plan>(with(bits, kDeltaChainMax));
  test::expect_accepted<Plan>(with(8, 0));
  for (const uint32_t bits : {1u, 9u, 255u}) test::expect_rejected<Plan>("download", with(bits, 1));
  test::expect_rejected<Plan>("download", with(8, kDeltaChainMax + 1));
  for (const uint64_t bytes : {uint64_t{0}, kDeltaBytesMax + 1}) {
    test::expect_rejected<Plan>("delta", with(8, 1, bytes));
  }
  EXPECT_ERROR(validate(test::changed<Plan>(with(0, 1))), ErrorCode::invalid_argument, "deltas must be absent");
}

}  // namespace
}  // namespace coterie
