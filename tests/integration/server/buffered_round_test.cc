// Buffered rounds at a real server: an update that came after its round's end counts in the next one, once.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "base/os/clock.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/masked_device.h"

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

  // The models of a job that counts a late update, of whom `send` sends one as the level has it. Three updates close a
  // buffer; four devices are at work, and the last of them is late.
  using Send = std::function<void(RawDevice&, const Assignment&, const std::vector<float>&)>;
  std::vector<std::vector<float>> models_at(const std::string& level, const Send& send) {
    nlohmann::json spec = spec_for(3, 2);
    spec["rounds"]["policy"] = "buffered";
    spec["rounds"]["concurrency"] = 4;
    spec["rounds"]["goal_count_min"] = 3;
    spec["privacy"] = {{"level", level}, {"cohort_min", 3}};
    if (level == "none") spec["privacy"] = {{"level", level}};
    const auto job = admin_->create_job(flat_model(kValues), spec);
    EXPECT_TRUE(test::is_ok(job));
    if (!job) return {};
    std::vector<std::unique_ptr<RawDevice>> devices;
    std::vector<Assignment> assigned;
    for (int i = 0; i < 4; ++i) {
      devices.push_back(enrolled_device());
      const auto assignment = devices.back()->wait_for_assignment(kHold);
      EXPECT_TRUE(test::is_ok(assignment));
      if (!assignment) return {};
      assigned.push_back(*assignment);
    }
    // Each in a thread of its own: a session needs them all at a time.
    const auto together = [&](const std::vector<std::pair<size_t, std::vector<float>>>& parts) {
      std::vector<std::thread> threads;
      for (const auto& part : parts) {
        threads.emplace_back([&, part] { send(*devices[part.first], assigned[part.first], part.second); });
      }
      for (std::thread& thread : threads) thread.join();
    };
    together({{0, uneven(0, 1)}, {1, uneven(1, 1)}, {2, uneven(2, 1)}});
    EXPECT_TRUE(wait_for_version(*job, 1));
    assigned[3] = join(*devices[3], assigned[3].ticket);
    EXPECT_EQ(assigned[3].model_version, ModelVersion(1));
    if (level == "none") assigned[3].model = assigned[0].model;  // an update in the clear says what it was trained from
    for (const size_t i : {0, 1}) assigned[i] = *devices[i]->wait_for_assignment(kHold);
    together({{0, uneven(4, 1)}, {1, uneven(5, 1)}, {3, uneven(3, kOneLate)}});
    EXPECT_TRUE(wait_for_job(*job, "completed"));
    std::vector<std::vector<float>> models;
    for (const uint64_t version : {1, 2}) {
      const auto weights = admin_->download_weights(*job, version);
      EXPECT_TRUE(test::is_ok(weights));
      if (weights) models.push_back(*weights);
    }
    return models;
  }

  // Values of which no two are alike, times a weight as a device multiplies them.
  static std::vector<float> uneven(size_t device, float weight) {
    std::vector<float> values(kValues);
    for (size_t i = 0; i < kValues; ++i) values[i] = 0.01f * static_cast<float>(1 + 7 * device + i) * weight;
    return values;
  }

  bool wait_for_version(const std::string& job, uint64_t version) {
    const Instant until = os::monotonic_now() + kLongest;
    while (os::monotonic_now() < until) {
      if (admin_->download_weights(job, version)) return true;
    }
    return false;
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

// Secure aggregation changes who sees an update, and nothing else: the same arrivals make the same models, bit for bit.
TEST_F(BufferedRound, MakesTheSameModelsBehindMasks) {
  const auto plain = models_at("none", [](RawDevice& device, const Assignment& assignment, const auto& values) {
    EXPECT_TRUE(std::holds_alternative<Receipt>(device.upload_until_decided(assignment, values)));
  });
  ASSERT_EQ(plain.size(), 2u);
  const auto masked = models_at("masked", [](RawDevice& device, const Assignment& assignment, const auto& values) {
    EXPECT_OK(take_masked_part(device, assignment, {.values = values}));
  });
  EXPECT_EQ(masked, plain);
  EXPECT_NE(metrics().find("coterie_updates_joined_total 2\n"), std::string::npos);
  EXPECT_EQ(metrics().find("coterie_updates_wasted_total{"), std::string::npos) << "no work was for nothing";
}

// Four devices of a masked buffer of three, three of which are in a session whose roster is closed.
class BufferUnderWay : public BufferedRound {
 protected:
  void SetUp() override {
    BufferedRound::SetUp();
    nlohmann::json spec = spec_for(3, 1);
    spec["rounds"].update({{"policy", "buffered"}, {"concurrency", 4}, {"goal_count_min", 3}});
    spec["privacy"] = {{"level", "masked"}, {"cohort_min", 3}};
    const auto job = admin_->create_job(flat_model(kValues), spec);
    ASSERT_TRUE(test::is_ok(job));
    job_ = *job;
    for (int i = 0; i < 4; ++i) {
      devices_.push_back(enrolled_device());
      const auto assignment = devices_.back()->wait_for_assignment(kHold);
      ASSERT_TRUE(test::is_ok(assignment));
      assigned_.push_back(*assignment);
    }
    for (const Status& shared : take_parts({0, 1, 2}, Stop::behind_shares)) ASSERT_OK(shared);
  }

  std::vector<Status> take_parts(const std::vector<size_t>& who, Stop stop) {
    std::vector<Status> taken(who.size());
    std::vector<std::thread> threads;
    for (size_t at = 0; at < who.size(); ++at) {
      threads.emplace_back([&, at] {
        const std::vector<float> values = uneven(who[at], 1);
        taken[at] = take_masked_part(*devices_[who[at]], assigned_[who[at]], {.values = values, .stop = stop});
      });
    }
    for (std::thread& thread : threads) thread.join();
    return taken;
  }

  std::string job_;
  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::vector<Assignment> assigned_;
};

// Its ticket says that it has been in this attempt: it waits for the next one.
TEST_F(BufferUnderWay, IsNotWhatALateDeviceIsAskedInto) {
  EXPECT_ERROR(take_parts({3}, Stop::never)[0], ErrorCode::round_closed, "");
  const CheckinRequest late{Population("default"), "raw-device", 0, {}, assigned_[3].ticket};
  EXPECT_TRUE(std::holds_alternative<RetryWindow>(devices_[3]->api().check_in(devices_[3]->id(), late)));
}

// Nobody's masked update has left: all are trained, and meet again in the next attempt, which is of the same model.
TEST_F(BufferUnderWay, ThatIsKilledMeetsAgain) {
  server_->kill();
  start();
  for (const size_t i : {0, 1, 2}) {
    assigned_[i] = join(*devices_[i], assigned_[i].ticket);
    EXPECT_EQ(assigned_[i].round.attempt, Attempt(2));
    EXPECT_EQ(assigned_[i].model_version, ModelVersion(0));
  }
  for (const Status& taken : take_parts({0, 1, 2}, Stop::never)) EXPECT_OK(taken);
  ASSERT_TRUE(wait_for_job(job_, "completed"));
  const auto weights = admin_->download_weights(job_, 1);
  ASSERT_TRUE(test::is_ok(weights));
  EXPECT_NEAR((*weights)[0], (uneven(0, 1)[0] + uneven(1, 1)[0] + uneven(2, 1)[0]) / 3, 1e-5);
}

}  // namespace
}  // namespace coterie::integration
