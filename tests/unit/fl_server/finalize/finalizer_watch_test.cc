// Rounds of watched jobs: what devices found is read off their sum, and moves the model by nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device_sdk/runtime/model_builder.h"
#include "fl_server/finalize/watch_shares.h"
#include "fl_server/records/watch_record.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"
#include "proto/ring/ring_vector.h"
#include "scheduler/job/central_noise.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/encode/sum_decoder.h"
#include "secure/dp/encode/update_encoder.h"
#include "secure/dp/noise/wide_gaussian.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr uint64_t kValues = 16 + 3;  // of base()
const WatchSettings kWatch{.checks = {"weight_unchanged", "loss_not_decreasing"}};

const auto watched = [](HorizontalSettings& settings) { settings.training.watch = kWatch; };

// A dense layer: its weight, which is filled up to 16 values, and its bias.
Bytes base() {
  ModelBuilder build("one", {4}, 3);
  return *build.finish(build.dense(build.input(), 3));
}

// What a device sends on which these lanes are 1.
TestUpdate update_of(const FrozenRound& round, const std::vector<float>& delta, uint32_t weight,
                     const std::vector<size_t>& lanes) {
  std::vector<float> values = delta;
  values.resize(kValues + watch_lane_count(kWatch));
  for (const size_t lane : lanes) values[kValues + lane] = round.job_.spec.horizontal().update.value_abs_max;
  return {values, weight};
}

TEST(WatchedRounds, SayOnWhichShareOfTheRoundAnythingWasFound) {
  FrozenRound round(StrategySettings(), base(), watched);
  ASSERT_EQ(round.update_values(), kValues + watch_lane_count(kWatch));
  const std::vector<float> a = test::some_values(1, kValues, 0.1), b = test::some_values(2, kValues, 0.1);
  const size_t loss = watch_lane(kWatch, 1);
  round.add_partial("p",
                    {update_of(round, a, 1, {0, 1}), update_of(round, b, 3, {0, loss}), update_of(round, a, 4, {})});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  ASSERT_TRUE(finalized->model.watch.has_value());
  const WatchOutcome& outcome = *finalized->model.watch;
  EXPECT_EQ(outcome.looked, 0.5) << "by weight";
  EXPECT_EQ(outcome.hits,
            (std::vector<WatchShare>{{"weight_unchanged", "dense1", 0.125}, {"loss_not_decreasing", "", 0.375}}));
}

TEST(WatchedRounds, MoveTheModelAsIfNobodyLooked) {
  for (const char* name : {"fedavg", "fedavgm", "fedadam"}) {
    FrozenRound looked(StrategySettings::of(name), base(), watched);
    FrozenRound alone(StrategySettings::of(name), base());
    const std::vector<float> a = test::some_values(1, kValues, 0.1), b = test::some_values(2, kValues, 0.1);
    looked.add_partial("p", {update_of(looked, a, 1, {0, 1}), update_of(looked, b, 3, {2, 3})});
    alone.add_partial("p", {{a, 1}, {b, 3}});
    const auto with = looked.finalize(), without = alone.finalize();
    ASSERT_OK(with);
    ASSERT_OK(without);
    EXPECT_EQ(with->model.digest, without->model.digest) << name;
    EXPECT_FALSE(without->model.watch.has_value());
  }
}

// A lane is at most what a device weighs, and no lie makes a share that is none.
TEST(WatchedRounds, KeepSharesInTheirRangeWhateverIsSent) {
  FrozenRound round(StrategySettings(), base(), watched);
  TestUpdate low = update_of(round, std::vector<float>(kValues, 0.1f), 1, {});
  low.values[kValues] = -64;
  low.values[kValues + 1] = -64;
  TestUpdate high = update_of(round, std::vector<float>(kValues, 0.1f), 1, {watch_lane(kWatch, 1)});
  round.add_partial("p", {low, high});
  const auto finalized = round.finalize();
  ASSERT_OK(finalized);
  EXPECT_EQ(finalized->model.watch->looked, 0);
  EXPECT_EQ(finalized->model.watch->hits, (std::vector<WatchShare>{{"loss_not_decreasing", "", 0.5}}));
}

// ---- With noise

constexpr uint32_t kDevices = 40;

void make_noisy(HorizontalSettings& settings) {
  settings.training.watch = kWatch;
  settings.update.clip_l2 = 1;
  settings.update.weight_max = 1;
  settings.rounds.goal_count = kDevices + 10;  // the divisor, whoever came
  settings.privacy = {SecurityLevel::none, 1, 1e-6, 1000};
}

// A device has looked; on every second one the layer has a hit, on every fourth the loss.
std::vector<float> lanes_of(const Plan& plan, uint32_t device) {
  std::vector<float> lanes(plan.update.scalars.size(), -watch_height(plan.update));
  lanes[0] = watch_height(plan.update);
  if (device % 2 == 1) lanes[1] = watch_height(plan.update);
  if (device % 4 == 0) lanes[watch_lane(kWatch, 1)] = watch_height(plan.update);
  return lanes;
}
const WatchOutcome kTrue{.looked = 1, .hits = {{"weight_unchanged", "dense1", 0.5}, {"loss_not_decreasing", "", 0.25}}};

// How far shares are from the truth, in standard deviations as they are told, over many rounds.
class Deviations {
 public:
  void add(const WatchOutcome& outcome) {
    ASSERT_EQ(outcome.hits.size(), kTrue.hits.size());
    ASSERT_GT(outcome.error, 0);
    add((outcome.looked - kTrue.looked) / outcome.error);
    for (size_t i = 0; i < outcome.hits.size(); ++i) {
      EXPECT_EQ(outcome.hits[i].check, kTrue.hits[i].check);
      EXPECT_EQ(outcome.hits[i].layer, kTrue.hits[i].layer);
      add((outcome.hits[i].share - kTrue.hits[i].share) / outcome.error);
    }
  }
  void expect_unbiased_and_as_told(double least_variance) const {
    const auto n = static_cast<double>(count_);
    EXPECT_LT(std::fabs(sum_ / n) * std::sqrt(n), 4) << "a bias";
    EXPECT_LT(squares_ / n, 1 + 5 * std::sqrt(2 / n)) << "the error is larger than it is told";
    EXPECT_GT(squares_ / n, least_variance - 5 * std::sqrt(2 / n)) << "the error is smaller than it is told";
  }

 private:
  void add(double deviation) {
    ++count_;
    sum_ += deviation;
    squares_ += deviation * deviation;
  }
  size_t count_ = 0;
  double sum_ = 0, squares_ = 0;
};

TEST(NoisyWatch, IsUnbiasedAndAsFarOffAsItTells) {
  FrozenRound round(StrategySettings(), base(), make_noisy);
  const HorizontalSettings& settings = round.job_.spec.horizontal();
  const Plan plan = plan_of(settings, round.job_.id, round.job_.values());
  const CentralNoise noise = central_noise_of(settings, kValues).value();
  const auto table = WideGaussian::make(noise.sigma);
  std::vector<TestUpdate> updates;
  for (uint32_t i = 0; i < kDevices; ++i) {
    std::vector<float> values(kValues);
    const std::vector<float> lanes = lanes_of(plan, i);
    values.insert(values.end(), lanes.begin(), lanes.end());
    updates.push_back({values, 1});
  }
  const std::vector<uint64_t> sum = round.lanes_of(updates);
  const ModelGraph graph = decode_model(base())->header;
  Deviations deviations;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<uint64_t> noised = sum;
    table->add_to(test::CounterSource(2 * seed), test::CounterSource(2 * seed + 1), 0, noised);
    std::vector<float> means(plan.update.scalars.size());
    decode_mean(std::span<const uint64_t>(noised).last(means.size()), settings.rounds.goal_count,
                plan.update.fixed_point, means);
    deviations.add(noisy_watch_outcome({.means = means,
                                        .divisor = settings.rounds.goal_count,
                                        .updates = kDevices,
                                        .sigma = noise.sigma,
                                        .fraction_bits = noise.fraction_bits},
                                       plan, graph));
  }
  deviations.expect_unbiased_and_as_told(1);
}

// The mean of a round of kDevices as the server decodes it, with noise of the devices as they encode it.
template <typename Lane>
std::vector<float> mean_of_round(const Plan& plan, const NoiseSampler& sampler, uint64_t seed) {
  const EncodingTerms spec = encoding_of(plan.privacy);
  const KeyStreamSource signs = *rotation_signs(Digest());
  const size_t count = plan.update.value_count;
  std::vector<Lane> sum(encoded_lanes(spec, count)), lanes(sum.size());
  for (uint32_t i = 0; i < kDevices; ++i) {
    std::vector<float> values(count);
    values[i % kValues] = 1;  // as long as the clip lets it be
    std::ranges::copy(lanes_of(plan, i), values.end() - static_cast<std::ptrdiff_t>(plan.update.scalars.size()));
    const test::CounterSource rounding(1000 * seed + 2 * i), noise(1000 * seed + 2 * i + 1);
    EXPECT_OK(encode_update(values, 1, spec,
                            {.rounding = rounding, .rotation_signs = &signs, .sampler = &sampler, .noise = &noise},
                            std::span(lanes)));
    for (size_t k = 0; k < sum.size(); ++k) sum[k] = static_cast<Lane>(sum[k] + lanes[k]);
  }
  std::vector<float> mean(count);
  EXPECT_OK(decode_sum(std::span<const Lane>(sum), spec, &signs, mean));
  return mean;
}

TEST(NoisyWatch, IsSoWhereDevicesAddTheNoise) {
  FrozenRound round(StrategySettings(), base(), [](HorizontalSettings& settings) {
    make_noisy(settings);
    settings.rounds.goal_count = settings.rounds.goal_count_min = kDevices;
    settings.privacy.level = SecurityLevel::active_dp;
    settings.privacy.cohort_min = kDevices;
    settings.privacy.dropout_share = 0;
  });
  const Plan plan = plan_of(round.job_.spec.horizontal(), round.job_.id, round.job_.values());
  ASSERT_OK(validate(plan));
  const NoiseSampler sampler = *device_sampler(plan.privacy);
  const ModelGraph graph = decode_model(base())->header;
  Deviations deviations;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const bool is_narrow = lane_bits(encoding_of(plan.privacy)) == 16;
    const std::vector<float> mean =
        is_narrow ? mean_of_round<uint16_t>(plan, sampler, seed) : mean_of_round<uint32_t>(plan, sampler, seed);
    deviations.add(noisy_watch_outcome({.means = std::span<const float>(mean).last(plan.update.scalars.size()),
                                        .divisor = kDevices,
                                        .updates = kDevices,
                                        .sigma = sum_sigma(plan.privacy, kDevices),
                                        .fraction_bits = plan.privacy.encoding.fraction_bits},
                                       plan, graph));
  }
  deviations.expect_unbiased_and_as_told(0.9);  // rounding is counted as 1/4 a device, and has less
}

TEST(NoisyWatch, IsReadBehindTheModelWithTheNoiseThatIsPaidFor) {
  constexpr uint32_t kMany = 2000;  // so that the noise hides little
  for (const bool is_tree : {false, true}) {
    FrozenRound round(StrategySettings(), base(), [&](HorizontalSettings& settings) {
      make_noisy(settings);
      settings.privacy.noise_multiplier = 1.5;
      settings.rounds.goal_count = kMany + 10;
      if (is_tree) settings.privacy.mechanism = NoiseMechanism::tree, settings.rounds.separation_min = 20;
    });
    const Plan plan = plan_of(round.job_.spec.horizontal(), round.job_.id, round.job_.values());
    std::vector<double> errors;
    for (int number = 0; number < 2; ++number) {
      std::vector<TestUpdate> updates;
      for (uint32_t i = 0; i < kMany; ++i) {
        std::vector<float> values(kValues);
        std::ranges::copy(lanes_of(plan, i), std::back_inserter(values));
        updates.push_back({values, 1});
      }
      round.add_partial("p" + std::to_string(number), updates);
      round.move(RoundState::frozen);
      const auto finalized = round.finalize(), again = round.finalize();
      ASSERT_OK(finalized);
      ASSERT_OK(again);
      ASSERT_TRUE(finalized->model.watch.has_value());
      const WatchOutcome& outcome = *finalized->model.watch;
      EXPECT_EQ(again->model.watch, outcome) << "other noise would be a second release";
      ASSERT_EQ(outcome.hits.size(), 2u);
      EXPECT_NEAR(outcome.looked, 1, 7 * outcome.error);
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(outcome.hits[i].share, kTrue.hits[i].share, 7 * outcome.error);
        EXPECT_NE(outcome.hits[i].share, kTrue.hits[i].share) << "it has noise";
      }
      errors.push_back(outcome.error);
      round.commit_frozen(*finalized);
    }
    // By hand: multiplier * sqrt(lanes) * sqrt(1 + share^2) / (2 * share * devices), but for slack and rounding.
    const double by_hand = 1.5 * std::sqrt(10.0) * std::hypot(1, 0.25) / (2 * 0.25 * kMany);
    EXPECT_NEAR(errors[0], by_hand, 0.01 * by_hand);
    EXPECT_NEAR(errors[1], errors[0] * (is_tree ? std::sqrt(2.0) : 1), 1e-9) << "less the noise of the node before";
  }
}

TEST(WatchRecord, IsReadAsItWasWrittenAndNothingElseIs) {
  const WatchOutcome outcome{.looked = 0.1, .hits = {{"dead_relu", "conv1..conv3", 1}, {"label_drift", "", 0.3}}};
  const Bytes bytes = encode_watch(outcome);
  EXPECT_EQ(*decode_watch(bytes), outcome);
  EXPECT_EQ(*decode_watch(encode_watch({})), WatchOutcome{});
  size_t readable = 0;
  for (size_t size = 0; size < bytes.size(); ++size) readable += decode_watch(ByteView(bytes).first(size)) ? 1 : 0;
  EXPECT_EQ(readable, 2u) << "at the end of an entry alone";
  const WatchOutcome noisy{
      .looked = 1.25, .hits = {{"dead_relu", "conv1", -0.5}, {"label_drift", "", 0}}, .error = 0.3};
  EXPECT_EQ(*decode_watch(encode_watch(noisy)), noisy);
  EXPECT_EQ(*decode_watch(encode_watch({.looked = -1, .hits = {}, .error = 2})),
            (WatchOutcome{.looked = -1, .hits = {}, .error = 2}));
  EXPECT_ERROR(decode_watch(encode_watch({.looked = std::nan(""), .hits = {}, .error = 2})), ErrorCode::data_loss, "");
  EXPECT_ERROR(decode_watch(encode_watch({.hits = {{"a", "b", -0.1}}})), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_watch(encode_watch({.looked = 1.5})), ErrorCode::data_loss, "no known form");
  EXPECT_ERROR(decode_watch(encode_watch({.hits = {{"a", "b", std::nan("")}}})), ErrorCode::data_loss, "no known form");
}

}  // namespace
}  // namespace coterie
