// Buffered rounds at a real server: an update that came after its round's end counts in the next one, once.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/os/clock.h"
#include "tests/integration/support/fixture.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};
constexpr Millis kLongest{60'000};
constexpr size_t kValues = 32;
const float kOneLate = 1 / std::sqrt(2.0f);  // what an update weighs that is one version late

class BufferedRound : public ServerTest {
 protected:
  void SetUp() override { start(); }

  // Two updates close a buffer, three devices are at work.
  std::string create() {
    nlohmann::json spec = spec_for(2, 2);
    spec["rounds"]["policy"] = "buffered";
    spec["rounds"]["concurrency"] = 3;
    spec["rounds"]["staleness_max"] = 5;
    spec["update"]["clip_l2"] = 1;
    const auto job = admin_->create_job(flat_model(kValues), spec);
    EXPECT_TRUE(test::is_ok(job));
    return job ? *job : "";
  }

  // An update that moves value `index` by `by`.
  static std::vector<float> moving(size_t index, float by) {
    std::vector<float> values(kValues);
    values[index] = by;
    return values;
  }

  // Until the server says for certain that the round is over without the update.
  static void send_in_vain(RawDevice& device, const Assignment& assignment, size_t index) {
    const Instant until = os::monotonic_now() + kLongest;
    for (;;) {
      const auto outcome = device.upload(assignment, moving(index, 1));
      ASSERT_TRUE(std::holds_alternative<Failure>(outcome)) << "it counts, and was to be late";
      if (std::get<Failure>(outcome).error.code() == ErrorCode::ticket_expired) return;
      ASSERT_LT(os::monotonic_now(), until) << std::get<Failure>(outcome).error.message();
      std::this_thread::yield();
    }
  }

  // Shows `ticket` until there is a round to join.
  static Assignment join(RawDevice& device, const Bytes& ticket) {
    const Instant until = os::monotonic_now() + kLongest;
    while (os::monotonic_now() < until) {
      const auto answer = device.api().check_in(
          device.id(), {Population("default"), "raw-device", static_cast<uint32_t>(kHold.count()), {}, ticket});
      if (const auto* assignment = std::get_if<Assignment>(&answer)) return *assignment;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "no round to join";
    return {};
  }

  std::string metrics() {
    const auto answer = admin_->call("GET", "/metrics");
    EXPECT_TRUE(test::is_ok(answer));
    return answer ? std::string(as_text(answer->body)) : "";
  }
};

TEST_F(BufferedRound, CountsAnUpdateThatCameTooLateForItsOwn) {
  const std::string job = create();
  const auto quick = enrolled_device(), other = enrolled_device(), slow = enrolled_device();
  const auto first = quick->wait_for_assignment(kHold), second = other->wait_for_assignment(kHold),
             third = slow->wait_for_assignment(kHold);
  ASSERT_TRUE(test::is_ok(first) && test::is_ok(second) && test::is_ok(third));
  ASSERT_TRUE(std::holds_alternative<Receipt>(quick->upload_until_decided(*first, moving(0, 1))));
  ASSERT_TRUE(std::holds_alternative<Receipt>(other->upload_until_decided(*second, moving(1, 1))));

  send_in_vain(*slow, *third, 2);
  Assignment joined = join(*slow, third->ticket);
  EXPECT_EQ(joined.job, JobId(job));
  EXPECT_NE(joined.round, third->round);
  ASSERT_EQ(joined.model_version, ModelVersion(1));
  const Digest newest = joined.model;

  // The ticket says what it was handed: neither the newest model, nor an update without its weight is taken.
  EXPECT_EQ(failure_of(slow->upload(joined, moving(2, kOneLate))).code(), ErrorCode::malformed) << "of another model";
  joined.model = third->model;
  EXPECT_EQ(failure_of(slow->upload(joined, moving(2, 1))).code(), ErrorCode::malformed) << "over its part of the clip";
  const auto counted = slow->upload_until_decided(joined, moving(2, kOneLate));
  ASSERT_TRUE(std::holds_alternative<Receipt>(counted)) << std::get<Failure>(counted).error.message();
  EXPECT_EQ(std::get<Receipt>(counted).round, joined.round) << "the round that counts it";

  const auto fresh = quick->wait_for_assignment(kHold);
  ASSERT_TRUE(test::is_ok(fresh));
  EXPECT_EQ(fresh->model, newest);
  Assignment of_before = *fresh;
  of_before.model = third->model;
  EXPECT_EQ(failure_of(quick->upload(of_before, moving(0, 1))).code(), ErrorCode::malformed) << "it was handed another";
  ASSERT_TRUE(std::holds_alternative<Receipt>(quick->upload_until_decided(*fresh, moving(0, 1))));
  ASSERT_TRUE(wait_for_job(job, "completed"));

  const auto one = admin_->download_weights(job, 1), two = admin_->download_weights(job, 2);
  ASSERT_TRUE(test::is_ok(one) && test::is_ok(two));
  EXPECT_FLOAT_EQ((*one)[2], 0);
  EXPECT_NEAR((*two)[2] - (*one)[2], kOneLate / 2, 1e-6) << "divided by both, and not by what they weigh";
  EXPECT_NEAR((*two)[0] - (*one)[0], 0.5, 1e-6);
  EXPECT_NE(metrics().find("coterie_updates_joined_total 1\n"), std::string::npos);
  EXPECT_EQ(metrics().find("coterie_updates_wasted_total{"), std::string::npos) << "no work was for nothing";
}

}  // namespace
}  // namespace coterie::integration
