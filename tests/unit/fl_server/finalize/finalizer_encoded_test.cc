// Rounds in which devices add the noise: narrow lanes, rotated, summed in wide ones, finalize to what the decoder makes
// of the same sum in one piece.
#include <gtest/gtest.h>

#include "secure/crypto/random.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/encode/sum_decoder.h"
#include "secure/dp/encode/update_encoder.h"
#include "secure/secagg/check_lanes.h"
#include "tests/unit/fl_server/finalize/finalizer_fixture.h"
#include "tests/unit/secure/dp/counter_source.h"

namespace coterie {
namespace {

using test::FrozenRound;

constexpr size_t kValues = 40'000;  // more than a tile, and no whole number of a rotation's blocks
constexpr uint32_t kDevices = 3;

template <typename Lane>
class FinalizeEncoded : public testing::Test {
 protected:
  // The more noise, the wider the lanes.
  static void make_noisy(HorizontalSettings& settings) {
    settings.rounds.goal_count = settings.rounds.goal_count_min = 100;
    settings.update.clip_l2 = 1;
    settings.update.weight_max = 1;
    settings.privacy = {.level = SecurityLevel::active_dp,
                        .noise_multiplier = sizeof(Lane) == 2 ? 0.5 : 25,
                        .target_delta = 1e-6,
                        .epsilon_budget = 1000,
                        .cohort_min = 100,
                        .corrupt_share = 0.1,
                        .dropout_share = 0};
  }

  FinalizeEncoded() : weights_(test::some_values(1, kValues, 1)), round_({}, weights_, &make_noisy) {
    plan_ = plan_of(round_.job_.spec.horizontal(), round_.job_.id, kValues);
    spec_ = encoding_of(plan_.privacy);
    parameters_.ring_bits = spec_.ring_bits;
    parameters_.lane_count = encoded_lanes(spec_, kValues);
    session_.bytes.fill(5);
    fill_random(seed_.mutable_bytes());
    signs_.emplace(*rotation_signs(parameters_.context));
  }

  std::vector<Lane> update_of(uint32_t device) const {
    const test::CounterSource rounding(100 + device), noise(200 + device);
    const NoiseSampler sampler = *device_sampler(plan_.privacy);
    std::vector<Lane> lanes(secagg::masked_lane_count(parameters_));
    const auto own = std::span(lanes).first(parameters_.lane_count);
    EXPECT_OK(encode_update(test::some_values(10 + device, kValues, 0.01), 1, spec_,
                            {.rounding = rounding, .rotation_signs = &*signs_, .sampler = &sampler, .noise = &noise},
                            own));
    secagg::write_check_lanes<Lane>(parameters_, session_, std::span(lanes).subspan(own.size()));
    return lanes;
  }
  MaskSum mask(MaskSign sign) const {
    MaskSum sum = *MaskSum::make(CipherSuite::aes256_ctr);
    EXPECT_OK(sum.add(seed_, sign));
    return sum;
  }
  void add(const std::string& id, const std::vector<uint32_t>& devices, bool with_mask) {
    std::vector<uint64_t> sum(secagg::masked_lane_count(parameters_));
    for (const uint32_t device : devices) {
      std::vector<Lane> lanes = update_of(device);
      if (with_mask && device == devices.front()) {
        mask(MaskSign::plus).apply(0, std::span(lanes));
        for (Lane& lane : lanes) lane &= static_cast<Lane>((uint64_t{1} << spec_.ring_bits) - 1);
      }
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += lanes[i];
    }
    PartialSumHeader header = round_.header_of(id, std::vector<test::TestUpdate>(devices.size()));
    header.value_count = sum.size();
    round_.accept(header, round_.put_partial(header, sum), devices.size());
  }
  SumMasks masks() const { return {parameters_, {{session_, kDevices}}, test::masks_of_one(mask(MaskSign::minus))}; }
  Result<FinalizedRound> finalize() {
    const SumMasks masks = this->masks();
    return Finalizer(round_.rounds_, round_.rounds_, round_.blobs_, round_.partials_, round_.noise_, {})
        .finalize(round_.job_, round_.round_, round_.base_, wall_time_from_unix_ms(7), &masks);
  }

  std::vector<float> weights_;
  FrozenRound round_;
  Plan plan_;
  EncodingTerms spec_;
  secagg::SessionParameters parameters_;
  Digest session_;
  Secret<32> seed_;
  std::optional<KeyStreamSource> signs_;
};

using Lanes = testing::Types<uint16_t, uint32_t>;
TYPED_TEST_SUITE(FinalizeEncoded, Lanes);

TYPED_TEST(FinalizeEncoded, GivesWhatTheDecoderMakesOfTheWholeSum) {
  ASSERT_EQ(lane_bits(this->spec_), 8 * sizeof(TypeParam));
  this->add("p/1/1", {0, 1}, true);
  this->add("p/1/2", {2}, false);
  const auto finalized = this->finalize();
  ASSERT_OK(finalized);

  std::vector<TypeParam> sum(this->parameters_.lane_count);
  for (uint32_t device = 0; device < kDevices; ++device) {
    const std::vector<TypeParam> lanes = this->update_of(device);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<TypeParam>(sum[i] + lanes[i]);
  }
  std::vector<float> mean(kValues), expected = this->weights_;
  ASSERT_OK(decode_sum(std::span<const TypeParam>(sum), this->spec_, &*this->signs_, mean));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += mean[i];
  EXPECT_EQ(this->round_.weights_of(finalized->model), expected);
  EXPECT_EQ(finalized->totals.weight, kDevices);
  EXPECT_EQ(finalized->noise_commitment, this->masks().name());
}

TYPED_TEST(FinalizeEncoded, MasksThatDoNotCancelAreSeen) {
  this->add("p/1/1", {0, 1, 2}, false);
  EXPECT_ERROR(this->finalize(), ErrorCode::data_loss, "masks did not cancel");
}

TYPED_TEST(FinalizeEncoded, DoesNotComeWithoutMasks) {
  this->add("p/1/1", {0, 1, 2}, false);
  EXPECT_ERROR(this->round_.finalize(), ErrorCode::data_loss, "come masked");
}

}  // namespace
}  // namespace coterie
