// Bodies of requests take memory as their bytes come, within the plane's budget.
#include <gmock/gmock.h>

#include "tests/unit/fl_server/net/http_world.h"

namespace coterie {
namespace {

using integration::status_of;
using ::testing::HasSubstr;

constexpr uint64_t kMega = 1 << 20;

class RequestBodies : public test::HttpWorld {
 protected:
  static std::string head_of(uint64_t bytes, const std::string& more = {}) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n" + more + "\r\n";
  }
  int status_of_next(integration::RawHttp& client) {
    const auto answer = client.read_answer(kPatience);
    return answer ? status_of(*answer) : 0;
  }
  uint64_t held() const { return http_.body_bytes("device"); }
};

TEST_F(RequestBodies, ALengthThatIsDeclaredTakesNoMemory) {
  start({.bodies_bytes_max = 64 * kMega}, std::make_unique<test::BodyReader>(8ull << 30));
  auto client = this->client();
  ASSERT_OK(client.send(head_of(4ull << 30)));
  ASSERT_OK(client.send("a"));
  ASSERT_TRUE(comes_true([&] { return held() > 0; }));
  EXPECT_EQ(held(), kFirstBodyStepBytes);
  ASSERT_OK(client.send(std::string(kFirstBodyStepBytes, 'b')));
  // While it moves it has both; then at most twice what has come.
  EXPECT_TRUE(comes_true([&] { return held() == 2 * kFirstBodyStepBytes; })) << held();
}

TEST_F(RequestBodies, WhatDoesNotFitIsOverloadedAndTheRestIsServed) {
  start({.bodies_bytes_max = 8 * kMega}, std::make_unique<test::BodyReader>(64 * kMega));
  auto large = client(), small = client();
  ASSERT_OK(large.send(head_of(32 * kMega)));
  // The refusal comes while it is sent: what is sent behind it may not arrive.
  for (int i = 0; i < 5; ++i) (void)large.send(std::string(kMega, 'a'));
  const auto answer = large.read_answer(kPatience);
  ASSERT_OK(answer);
  EXPECT_EQ(status_of(*answer), 503) << *answer;
  EXPECT_THAT(*answer, HasSubstr("Retry-After: "));
  EXPECT_THAT(metrics_.exposition(), HasSubstr("coterie_requests_refused_total{reason=\"bodies\"} 1"));
  EXPECT_TRUE(comes_true([&] { return held() == 0; })) << "given back: " << held();
  ASSERT_OK(small.send(head_of(3)));
  ASSERT_OK(small.send("abc"));
  EXPECT_EQ(status_of_next(small), 200);
}

TEST_F(RequestBodies, ThatAreLateAreAnsweredBeforeTheConnectionEnds) {
  start({.body_grace = Millis(1), .body_bytes_per_second_min = kMega}, std::make_unique<test::BodyReader>(kMega));
  auto client = this->client();
  ASSERT_OK(client.send(head_of(100) + "half of it"));
  const auto answer = client.read_answer(kPatience);
  ASSERT_OK(answer);
  EXPECT_EQ(status_of(*answer), 408) << *answer;
  EXPECT_THAT(*answer, testing::AllOf(HasSubstr("did not come in time"), HasSubstr("Connection: close")));
  EXPECT_TRUE(client.is_closed_within(kPatience));
  EXPECT_TRUE(comes_true([&] { return held() == 0; })) << "given back: " << held();
}

TEST_F(RequestBodies, OfEverySizeComeWholeAndTheNextRequestBehindThem) {
  start({}, std::make_unique<test::BodyReader>(4 * kMega));
  auto client = this->client();
  for (const size_t size : {0, 1, 16'383, 16'384, 16'385, 65'536, 1'000'003}) {
    ASSERT_OK(client.send(head_of(size) + std::string(size, 'x')));
    const auto answer = client.read_answer(kPatience);
    ASSERT_OK(answer);
    EXPECT_TRUE(answer->ends_with("\r\n\r\n" + std::to_string(size))) << *answer;
  }
  EXPECT_EQ(held(), 0u);
}

TEST(BodyBudget, LeavesItsLastQuarterToSmallBodies) {
  BodyBudget budget(8 * kMega);
  BodyBudget::Share large(budget), small(budget);
  EXPECT_FALSE(large.resize(6 * kMega + 1, 100 * kMega));
  EXPECT_TRUE(large.resize(6 * kMega, 100 * kMega));
  EXPECT_FALSE(BodyBudget::Share(budget).resize(1, kSmallBodyBytesMax + 1));
  EXPECT_TRUE(small.resize(kSmallBodyBytesMax, kSmallBodyBytesMax));
  EXPECT_EQ(budget.bytes(), 7 * kMega);
  EXPECT_FALSE(small.resize(~uint64_t{0}, kSmallBodyBytesMax)) << "and does not wrap";
  EXPECT_EQ(small.bytes(), kMega) << "a share that was refused more keeps what it has";
  large = {};
  EXPECT_EQ(budget.bytes(), kMega);
}

TEST(BodyBudget, ThatIsGoneTakesBackSharesAllTheSame) {
  BodyBudget::Share share;
  {
    BodyBudget budget(kMega);
    share = BodyBudget::Share(budget);
    ASSERT_TRUE(share.resize(10, 10));
  }
  EXPECT_TRUE(share.resize(0, 10));
}

TEST(BodySteps, DoubleAndEndAtTheWhole) {
  EXPECT_EQ(next_body_step(0, 100), 100u);
  EXPECT_EQ(next_body_step(0, 1 << 30), kFirstBodyStepBytes);
  EXPECT_EQ(next_body_step(kFirstBodyStepBytes, 1 << 30), 2 * kFirstBodyStepBytes);
  EXPECT_EQ(next_body_step(1 << 29, (1 << 29) + 5), (1u << 29) + 5);
}

}  // namespace
}  // namespace coterie
