#include "fl_server/admin_api/stream_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace coterie {
namespace {

TEST(StreamPlaces, LeaveOneTenantHalf) {
  const auto places = std::make_shared<StreamPlaces>(4);
  const auto first = places->take("a");
  auto second = places->take("a");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(places->take("a"), nullptr);
  const auto other = places->take("b");
  EXPECT_NE(other, nullptr);
  second = {};
  EXPECT_NE(places->take("a"), nullptr) << "given back";
}

TEST(StreamPlaces, AreAllForWhoSeesEveryTenantButNoMore) {
  const auto places = std::make_shared<StreamPlaces>(3);
  std::vector<std::shared_ptr<void>> held;
  for (int i = 0; i < 3; ++i) held.push_back(places->take(std::string(kEveryTenant)));
  EXPECT_NE(held.back(), nullptr);
  EXPECT_EQ(places->take("a"), nullptr);
  EXPECT_EQ(places->take(std::string(kEveryTenant)), nullptr);
}

TEST(StreamPlaces, OfOneIsAnybodys) {
  const auto places = std::make_shared<StreamPlaces>(1);
  EXPECT_NE(places->take("a"), nullptr);
}

TEST(StreamPlaces, MayBeGivenBackWhenNobodyTakesThemAnyMore) {
  auto places = std::make_shared<StreamPlaces>(1);
  auto held = places->take("a");
  places = {};
  held = {};
}

}  // namespace
}  // namespace coterie
