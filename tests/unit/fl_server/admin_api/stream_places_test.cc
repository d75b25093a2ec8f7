#include "fl_server/admin_api/stream_places.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/matchers.h"

namespace coterie {
namespace {

TEST(StreamPlaces, OfOneTenantAreAsManyAsItsQuota) {
  const auto places = std::make_shared<StreamPlaces>(4, 2);
  const auto first = places->take("a");
  auto second = places->take("a");
  ASSERT_OK(second);
  const auto third = places->take("a");
  ASSERT_ERROR(third, ErrorCode::rate_limited, "quota event_streams of tenant a: it may have 2, and would have 3");
  EXPECT_EQ(third.error().reason(), "quota_event_streams");
  EXPECT_EQ(places->taken_of("a"), 2u);
  const auto other = places->take("b");
  EXPECT_OK(other);
  second->reset();
  EXPECT_OK(places->take("a")) << "given back";
}

TEST(StreamPlaces, AreAllForWhoSeesEveryTenantButNoMore) {
  const auto places = std::make_shared<StreamPlaces>(3, 1);
  std::vector<Result<std::shared_ptr<void>>> held;
  for (int i = 0; i < 3; ++i) held.push_back(places->take(std::string(kEveryTenant)));
  EXPECT_OK(held.back());
  EXPECT_ERROR(places->take("a"), ErrorCode::rate_limited, "there are 3 streams");
  EXPECT_ERROR(places->take(std::string(kEveryTenant)), ErrorCode::rate_limited, "there are 3 streams");
}

TEST(StreamPlaces, MayBeGivenBackWhenNobodyTakesThemAnyMore) {
  auto places = std::make_shared<StreamPlaces>(1, 1);
  auto held = places->take("a");
  ASSERT_OK(held);
  places = {};
  held->reset();
}

}  // namespace
}  // namespace coterie
