// Rounds with secure aggregation against a real server process: the model is that of a round without, devices vanish in
// every phase, and nothing of a single update is ever in what the server stores or says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "proto/codec/codec.h"
#include "proto/ring/ring_vector.h"
#include "tests/integration/support/fixture.h"
#include "tests/integration/support/masked_device.h"

namespace coterie::integration {
namespace {

constexpr Millis kHold{20'000};
constexpr uint32_t kDevices = 9;
constexpr size_t kValues = 64;
constexpr double kNoiseMultiplier = 0.2;
constexpr double kClip = 42;  // no update here is longer

// All devices get tickets; `goal` of them close the round. As many may vanish as it can do without: whoever else is
// slow, on a busy machine, is waited for.
nlohmann::json masked_spec(const std::string& level, uint32_t goal) {
  const double dropout_share = static_cast<double>(kDevices - goal) / kDevices;
  return {{"rounds",
           {{"count", 1},
            {"goal_count", goal},
            {"goal_count_min", 4},
            {"over_selection", static_cast<double>(kDevices) / goal},
            {"pool_min", kDevices},
            {"collecting_ms_max", 20'000}}},
          {"privacy",
           {{"level", level},
            {"cohort_min", 4},
            {"corrupt_share", 0.1},
            {"dropout_share", dropout_share},
            {"phase_ms_max", 3'000}}}};
}

// The same with noise of the devices, little enough for the mean to be seen behind it.
nlohmann::json noisy_spec() {
  nlohmann::json spec = masked_spec("active_dp", kDevices);
  spec["rounds"]["goal_count_min"] = 8;
  spec["privacy"].update(
      {{"cohort_min", 8}, {"noise_multiplier", kNoiseMultiplier}, {"target_delta", 1e-5}, {"epsilon_budget", 300}});
  spec["update"] = {{"clip_l2", kClip}, {"weight_max", 1}};
  return spec;
}

// Values that occur nowhere else: a search for them in the server's files means something.
std::vector<float> update_of(uint32_t device) {
  std::vector<float> values(kValues);
  for (size_t i = 0; i < kValues; ++i) values[i] = 0.001f * static_cast<float>(1 + device * 100 + 13 * i) + 3.0f;
  return values;
}

class MaskedRounds : public ServerTest {
 protected:
  void SetUp() override { start(); }

  static Status take_part(RawDevice& device, const Assignment& assignment, uint32_t number, Stop stop, Traces& traces) {
    const std::vector<float> values = update_of(number);
    return take_masked_part(
        device, assignment,
        {.values = values, .weight = 1 + number, .stop = stop, .asks_apart = number % 2 == 0, .traces = &traces});
  }

  // All devices, side by side; stops[i] is what device i does last. Returns the job.
  std::string run_round(const std::string& level, const std::vector<Stop>& stops, uint32_t goal = kDevices) {
    return run_round_of(masked_spec(level, goal), stops);
  }
  std::string run_round_of(const nlohmann::json& spec, const std::vector<Stop>& stops) {
    const auto job = admin_->create_job(flat_model(kValues), spec);
    EXPECT_TRUE(test::is_ok(job));
    if (!job) return "";  // nobody would ever be invited
    while (devices_.size() < stops.size()) {
      devices_.push_back(enrolled_device(devices_.size() % 2 == 0 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256));
    }
    take_part_all(stops);
    return *job;
  }
  void take_part_all(const std::vector<Stop>& stops) {
    traces_.resize(stops.size());
    errors_.assign(stops.size(), "");
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < stops.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto assignment = devices_[i]->wait_for_assignment(kHold);
        if (!assignment) {
          errors_[i] = "no assignment: " + assignment.error().message();
          return;
        }
        const Status done = take_part(*devices_[i], *assignment, i, stops[i], traces_[i]);
        if (!done) errors_[i] = done.error().message();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  // A round of all devices, in so many cohorts, whose sums open with all but one of them.
  void expect_mean_and_noise(const nlohmann::json& spec, uint32_t cohorts);

  // The first attempt, once it has failed.
  nlohmann::json failed_attempt_of(const std::string& job) {
    nlohmann::json first = nlohmann::json::object();
    const Instant until = os::monotonic_now() + kPatience;
    while (os::monotonic_now() < until) {
      const auto rounds = admin_->rounds(job);
      if (rounds && !(*rounds)["rounds"].empty()) first = (*rounds)["rounds"].back();
      if (first.value("state", "") == "failed") return first;
      std::this_thread::yield();
    }
    ADD_FAILURE() << "no attempt has failed: " << first.dump() << "\n" << server_->log();
    return first;
  }

  // The weights that a round with these devices makes: sum of weight * value over sum of weights.
  static std::vector<float> mean_of(const std::vector<uint32_t>& devices) {
    std::vector<float> mean(kValues);
    for (size_t i = 0; i < kValues; ++i) {
      double sum = 0, weights = 0;
      for (const uint32_t device : devices) {
        sum += static_cast<double>(update_of(device)[i]) * (1 + device);
        weights += 1 + device;
      }
      mean[i] = static_cast<float>(sum / weights);
    }
    return mean;
  }

  void expect_model_of(const std::string& job, const std::vector<uint32_t>& devices) {
    const auto weights = admin_->download_weights(job, 1);
    ASSERT_TRUE(test::is_ok(weights));
    const std::vector<float> expected = mean_of(devices);
    for (size_t i = 0; i < kValues; ++i) EXPECT_NEAR((*weights)[i], expected[i], 1e-5f) << i;
  }

  // Every file that the server keeps, and all that it has logged.
  void expect_no_trace() {
    std::vector<std::string> texts{server_->log()};
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_ / "data")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream stream(entry.path(), std::ios::binary);
      std::ostringstream content;
      content << stream.rdbuf();
      texts.push_back(std::move(content).str());
    }
    EXPECT_GT(texts.size(), 3u);
    size_t patterns = 0;
    for (const Traces& traces : traces_) {
      for (const Bytes& pattern : traces.patterns) {
        ++patterns;
        for (const std::string& text : texts) {
          EXPECT_EQ(text.find(as_text(pattern)), std::string::npos) << "a device's secret lies open at the server";
          EXPECT_EQ(text.find(to_hex(pattern)), std::string::npos) << "a device's secret lies open at the server";
        }
      }
    }
    EXPECT_GE(patterns, 3u * kDevices);
  }

  std::vector<std::unique_ptr<RawDevice>> devices_;
  std::vector<Traces> traces_;
  std::vector<std::string> errors_;
};

TEST_F(MaskedRounds, MoveTheModelByTheMeanAndLeaveNoTrace) {
  for (const std::string level : {"masked", "active"}) {
    const std::string job = run_round(level, std::vector<Stop>(kDevices, Stop::never));
    for (const std::string& error : errors_) EXPECT_EQ(error, "") << level;
    ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
    expect_model_of(job, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    expect_no_trace();
  }
}

// Three of three devices each: nine updates are one sum.
TEST_F(MaskedRounds, OfSeveralCohortsAreAddedUp) {
  for (const std::string level : {"masked", "active"}) {
    nlohmann::json spec = masked_spec(level, kDevices);
    spec["privacy"].update({{"cohort_min", 3}, {"cohort_max", 4}});
    const std::string job = run_round_of(spec, std::vector<Stop>(kDevices, Stop::never));
    for (const std::string& error : errors_) EXPECT_EQ(error, "") << level;
    ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
    expect_model_of(job, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    expect_no_trace();
  }
}

TEST_F(MaskedRounds, GoOnWithoutThoseWhoVanish) {
  std::vector<Stop> stops(kDevices, Stop::never);
  stops[2] = Stop::behind_shares;  // its masks with the others must be opened
  stops[5] = Stop::behind_update;  // counts, but helps no further
  const std::string job = run_round("active", stops, 8);
  ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
  expect_model_of(job, {0, 1, 3, 4, 5, 6, 7, 8});
  expect_no_trace();
}

TEST_F(MaskedRounds, FailAnAttemptThatTooFewSurvive) {
  std::vector<Stop> stops(kDevices, Stop::behind_update);
  const std::string job = run_round("active", stops);
  const nlohmann::json first = failed_attempt_of(job);
  EXPECT_NE(first.value("reason", "").find("holders of device"), std::string::npos) << first.dump();
  expect_no_trace();
}

// The updates count alike, and with the noise that was asked for: of each cohort.
void MaskedRounds::expect_mean_and_noise(const nlohmann::json& spec, uint32_t cohorts) {
  const std::string job = run_round_of(spec, std::vector<Stop>(kDevices, Stop::never));
  for (const std::string& error : errors_) EXPECT_EQ(error, "");
  ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
  const auto weights = admin_->download_weights(job, 1);
  ASSERT_TRUE(test::is_ok(weights));
  double squares = 0;
  for (size_t i = 0; i < kValues; ++i) {
    double mean = 0;
    for (uint32_t device = 0; device < kDevices; ++device) mean += update_of(device)[i] / kDevices;
    squares += ((*weights)[i] - mean) * ((*weights)[i] - mean);
  }
  // Noise of all but one device of a cohort would do; all have added theirs. Rounding moves the sensitivity by a
  // twentieth at most.
  const double size = static_cast<double>(kDevices) / cohorts;
  const double sigma = kNoiseMultiplier * kClip * std::sqrt(cohorts * size / (size - 1)) / kDevices;
  const double ratio = squares / (kValues * sigma * sigma);
  EXPECT_GT(ratio, 0.45);  // chi-square of 64 degrees: below in one run of 10^5
  EXPECT_LT(ratio, 2.1);
  expect_no_trace();
  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + job);
  ASSERT_TRUE(test::is_ok(shown));
  const nlohmann::json& privacy = (*shown)["privacy"];
  EXPECT_EQ(privacy["releases"], 1) << privacy.dump();
  EXPECT_EQ(privacy["releases_open"], 0);
  EXPECT_GT(privacy["epsilon"], 10);
  EXPECT_LT(privacy["epsilon"], 300);
}

TEST_F(MaskedRounds, WithNoiseOfTheDevicesMoveTheModelByTheMeanAndThatNoise) { expect_mean_and_noise(noisy_spec(), 1); }

TEST_F(MaskedRounds, WithNoiseOfTheDevicesOfSeveralCohortsAreAddedUp) {
  nlohmann::json spec = noisy_spec();
  spec["privacy"].update({{"cohort_min", 2}, {"cohort_max", 3}});
  expect_mean_and_noise(spec, 3);
}

// What devices were asked to open is spent, though nothing came of it.
TEST_F(MaskedRounds, WithNoiseAreInTheLedgerBeforeTheirSumIsOpened) {
  const std::string job = run_round_of(noisy_spec(), std::vector<Stop>(kDevices, Stop::behind_update));
  failed_attempt_of(job);
  const auto shown = admin_->ask("GET", "/admin/v1/jobs/" + job);
  ASSERT_TRUE(test::is_ok(shown));
  EXPECT_GE((*shown)["privacy"]["releases_open"], 1) << shown->dump();
  EXPECT_GT((*shown)["privacy"]["epsilon"], 10);
}

// A session is in memory alone: what was masked for it can never be unmasked. The round is done all the same.
TEST_F(MaskedRounds, AreTriedAgainWhenTheServerDiesInASession) {
  for (const Stop reached : {Stop::behind_shares, Stop::behind_update}) {
    const std::string job = run_round("active", std::vector<Stop>(kDevices, reached));
    for (const std::string& error : errors_) EXPECT_EQ(error, "");
    expect_no_trace();
    server_->kill();
    server_.reset();
    start();
    ASSERT_FALSE(HasFatalFailure());
    take_part_all(std::vector<Stop>(kDevices, Stop::never));
    for (const std::string& error : errors_) EXPECT_EQ(error, "");
    ASSERT_TRUE(wait_for_job(job, "completed")) << server_->log();
    expect_model_of(job, {0, 1, 2, 3, 4, 5, 6, 7, 8});
    expect_no_trace();
  }
}

TEST_F(MaskedRounds, APlainUpdateIsNoMaskedOne) {
  const auto job = admin_->create_job(flat_model(kValues), masked_spec("masked", kDevices));
  ASSERT_TRUE(test::is_ok(job));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kDevices; ++i) {
    threads.emplace_back([&, device = enrolled_device()] {
      const auto assignment = device->wait_for_assignment(kHold);
      ASSERT_TRUE(test::is_ok(assignment));
      const auto outcome = device->upload(*assignment, one_hot(kValues, 1));
      EXPECT_EQ(failure_of(outcome).code(), ErrorCode::malformed) << failure_of(outcome).message();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace coterie::integration
