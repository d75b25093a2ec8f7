// Rounds of quantized updates finalize to the same bytes with masks and without, in memory lanes of either width; and
// near what the updates themselves come to.
#include <gtest/gtest.h>

#include <utility>

#include "proto/codec/update/update_decoder.h"
#include "proto/messages/quantized_lanes.h"
#include "secure/crypto/random.h"
#include "secure/quantize/quantization_grid.h"
#include "secure/quantize/shared_rotation.h"
#include "secure/quantize/update_quantizer.h"
#include "secure/secagg/check_lanes.h"
#include "secure/secagg/round_session.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::FrozenRound;
using test::TestUpdate;

constexpr size_t kValues = 40'000;  // more than a tile

class FinalizeQuantized : public testing::TestWithParam<uint32_t> {
 protected:
  FinalizeQuantized() : weights_(test::some_values(1, kValues, 1)) {
    for (uint32_t i = 0; i < 3; ++i) updates_.push_back({test::some_values(10 + i, kValues, 0.005), 3 * i + 1});
    session_.bytes.fill(5);
    fill_random(seed_.mutable_bytes());
  }

  static uint32_t bits() { return GetParam(); }
  static FrozenRound round(const std::vector<float>& weights, SecurityLevel level) {
    return {{}, weights, [level](HorizontalSettings& settings) {
              settings.privacy.level = level;
              settings.update.clip_l2 = 1;
              settings.update.weight_max = 20;
              settings.update.compression.bits = bits();
              EXPECT_EQ(validate(settings), Problems());
            }};
  }
  static Plan plan_of(const FrozenRound& round) {
    return coterie::plan_of(round.job_.spec.horizontal(), round.job_.id, kValues);
  }
  std::vector<uint16_t> levels_of(const FrozenRound& round, size_t device) const {
    const auto signs = update_rotation_signs(round.base_.digest);
    const test::CounterSource rounding(100 + device);
    const TestUpdate& update = updates_[device];
    return *quantize(update.values, update.weight, plan_of(round).update, *signs, rounding);
  }
  MaskSum mask(MaskSign sign) const {
    MaskSum sum = *MaskSum::make(CipherSuite::aes256_ctr);
    EXPECT_OK(sum.add(seed_, sign));
    return sum;
  }

  void add_plain(FrozenRound& round, const std::string& id, const std::vector<size_t>& devices) const {
    std::vector<uint64_t> sum(kValues);
    std::vector<TestUpdate> own;
    for (const size_t device : devices) {
      const std::vector<uint16_t> levels = levels_of(round, device);
      for (size_t i = 0; i < kValues; ++i) sum[i] += levels[i];
      own.push_back(updates_[device]);
    }
    const PartialSumHeader header = round.header_of(id, own);
    round.accept(header, round.put_partial(header, sum), devices.size());
  }
  secagg::SessionParameters parameters_of(const FrozenRound& round) const {
    return secagg::session_parameters(plan_of(round), round.job_.id, round.round_.key, round.base_.digest, Digest{{9}});
  }
  template <typename Lane>
  std::vector<uint64_t> masked_lanes(const FrozenRound& round, size_t device, bool with_mask) const {
    const secagg::SessionParameters parameters = parameters_of(round);
    const QuantizationRules rules = plan_of(round).update.quantization;
    std::vector<uint16_t> own = levels_of(round, device);
    own.resize(parameters.lane_count);
    write_weight_digits(updates_[device].weight, rules, std::span(own).subspan(kValues));
    std::vector<Lane> lanes(own.begin(), own.end());
    lanes.resize(secagg::masked_lane_count(parameters));
    secagg::write_check_lanes<Lane>(parameters, session_, std::span(lanes).subspan(own.size()));
    if (with_mask) mask(MaskSign::plus).apply(0, std::span(lanes));
    std::vector<uint64_t> wide(lanes.begin(), lanes.end());
    for (uint64_t& lane : wide) lane &= (uint64_t{1} << parameters.ring_bits) - 1;
    return wide;
  }
  // One of them with a mask: what the others' cancel to.
  void add_masked(FrozenRound& round, const std::string& id, const std::vector<size_t>& devices, bool with_mask) const {
    const bool is_narrow = secagg::lane_bits(parameters_of(round)) == 16;
    std::vector<uint64_t> sum(secagg::masked_lane_count(parameters_of(round)));
    for (const size_t device : devices) {
      const bool is_first = with_mask && device == devices.front();
      const std::vector<uint64_t> lanes =
          is_narrow ? masked_lanes<uint16_t>(round, device, is_first) : masked_lanes<uint32_t>(round, device, is_first);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += lanes[i];
    }
    PartialSumHeader header = round.header_of(id, std::vector<TestUpdate>(devices.size()));
    header.value_count = sum.size();
    header.weight_sum = header.updates;
    round.accept(header, round.put_partial(header, sum), devices.size());
  }
  Result<FinalizedRound> finalize_masked(FrozenRound& round) const {
    const SumMasks masks{parameters_of(round), {{session_, 3}}, test::masks_of_one(mask(MaskSign::minus))};
    return Finalizer(round.rounds_, round.rounds_, round.blobs_, round.partials_, round.noise_, {})
        .finalize(round.job_, round.round_, round.base_, wall_time_from_unix_ms(7), &masks);
  }

  std::vector<float> weights_;
  std::vector<TestUpdate> updates_;
  Digest session_;
  Secret<32> seed_;
};

INSTANTIATE_TEST_SUITE_P(Bits, FinalizeQuantized, testing::Values(1, 4, 8, 16));

TEST_P(FinalizeQuantized, GivesTheSameBytesWithMasksAndWithout) {
  FrozenRound plain = round(weights_, SecurityLevel::none), masked = round(weights_, SecurityLevel::masked),
              active = round(weights_, SecurityLevel::active);
  ASSERT_EQ(plain.base_.digest, masked.base_.digest);
  add_plain(plain, "p/1/1", {0, 1});
  add_plain(plain, "p/1/2", {2});
  for (FrozenRound* of : {&masked, &active}) {
    EXPECT_EQ(secagg::lane_bits(parameters_of(*of)), bits() == 16 ? 32u : 16u);
    add_masked(*of, "p/1/1", {0, 1}, true);
    add_masked(*of, "p/1/2", {2}, false);
  }
  const auto expected = plain.finalize();
  ASSERT_OK(expected);
  for (FrozenRound* of : {&masked, &active}) {
    const auto seen = finalize_masked(*of);
    ASSERT_OK(seen);
    EXPECT_EQ(seen->model.digest, expected->model.digest);
    EXPECT_EQ(seen->totals.weight, 1u + 4 + 7);
    EXPECT_EQ(seen->totals.updates, 3u);
  }

  const std::vector<float> after = plain.weights_of(expected->model);
  double error = 0;
  for (size_t i = 0; i < kValues; ++i) {
    double mean = 0;
    for (const TestUpdate& update : updates_) mean += static_cast<double>(update.values[i]) * update.weight / 12;
    error += std::pow(after[i] - weights_[i] - mean, 2);
  }
  const UpdateRules rules = plan_of(plain).update;
  const double half_step = grid_half_width(rules) / static_cast<double>(level_max(rules.quantization));
  // Three updates are rounded at the grid of weight 20, and the sum is divided by 12; and float32 rounds the weights.
  EXPECT_LT(error, 1.1 * kValues * (3 * std::pow(half_step * 20 / 12, 2) + 0x1p-50));
}

TEST_P(FinalizeQuantized, MasksThatDoNotCancelAreSeen) {
  FrozenRound masked = round(weights_, SecurityLevel::masked);
  add_masked(masked, "p/1/1", {0, 1, 2}, false);
  EXPECT_ERROR(finalize_masked(masked), ErrorCode::data_loss, "masks did not cancel");
}

// A device that masks lanes of its own making, of no weight.
TEST_P(FinalizeQuantized, WeightsThatNoDevicesHaveAreSeen) {
  FrozenRound masked = round(weights_, SecurityLevel::masked);
  for (TestUpdate& update : updates_) update.weight = 1;
  add_masked(masked, "p/1/1", {0, 1}, true);
  std::vector<uint64_t> lanes = secagg::lane_bits(parameters_of(masked)) == 16
                                    ? masked_lanes<uint16_t>(masked, 2, false)
                                    : masked_lanes<uint32_t>(masked, 2, false);
  lanes[kValues] = 0;
  PartialSumHeader header = masked.header_of("p/1/2", {updates_[2]});
  header.value_count = lanes.size();
  masked.accept(header, masked.put_partial(header, lanes), 1);
  EXPECT_ERROR(finalize_masked(masked), ErrorCode::data_loss, "which no devices that follow the plan have");
}

}  // namespace
}  // namespace coterie
