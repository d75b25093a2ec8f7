// What a device sends with noise of its own: the same bytes whenever it makes them, so that a killed app shows no
// second draw.
#include "device_sdk/agent/masked_update.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "proto/codec/secagg_codec.h"
#include "proto/codec/update/bit_packing.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/secagg/round_session.h"
#include "secure/secagg/server.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

constexpr uint32_t kDevices = 4;
constexpr uint64_t kValues = 300;

Plan noisy_plan() {
  Plan plan;
  plan.job = JobId("job");
  plan.update.value_count = kValues;
  plan.update.fixed_point = FixedPointSpec::finest(8, 1, 1000);
  plan.privacy = {.level = SecurityLevel::active_dp,
                  .cohort_min = kDevices,
                  .roster_max = kDevices,
                  .corrupt_share = 0.1,
                  .dropout_share = 0,
                  .cipher_suite = 1};
  const DeviceNoiseGoal goal{.value_count = kValues, .clip_norm = 1, .noise_multiplier = 2, .delta = 1e-6};
  EXPECT_OK(add_device_noise(plan.privacy, goal));
  return plan;
}

// A cohort up to its masks. `life` of device 0: it is killed and goes on with what it had, so nothing may depend on it.
using Encode = std::function<Result<Bytes>(const secagg::Masking&, const secagg::Client&)>;
std::vector<Bytes> frames_of(const Plan& plan, uint64_t seed_of_first, const Encode& encode) {
  const secagg::SessionParameters parameters =
      secagg::session_parameters(plan, plan.job, {RoundId(1), Attempt(1)}, Digest{{1}}, Digest{{2}});
  const auto anybody = [](const DeviceIdentity&) { return Status(); };
  secagg::Server server = *secagg::Server::make(parameters, 11, anybody);
  std::vector<std::unique_ptr<Signer>> signers;
  std::vector<secagg::Client> clients;
  for (uint32_t who = 0; who < kDevices; ++who) {
    signers.push_back(std::move(*make_signer(KeyAlgorithm::ed25519, Bytes(32, static_cast<uint8_t>(who + 1)))));
    Secret<32> seed;
    seed.mutable_bytes()[0] = static_cast<uint8_t>(who == 0 ? seed_of_first : 100 + who);
    clients.push_back(*secagg::Client::make(parameters, std::move(seed), {signers.back().get(), {}}, anybody));
    EXPECT_OK(server.receive(clients.back().advert()));
  }
  EXPECT_OK(server.close_adverts());
  const auto place = [&](uint32_t who) { return *server.device_of(signers[who]->public_key()); };
  for (uint32_t who = 0; who < kDevices; ++who) {
    EXPECT_OK(server.receive(*clients[who].share(server.view(place(who)))));
  }
  EXPECT_OK(server.close_shares());
  std::vector<Bytes> frames;
  for (uint32_t who = 0; who < kDevices; ++who) {
    const secagg::Masking masking = *clients[who].mask(*server.inbox(place(who)));
    const auto frame = encode(masking, clients[who]);
    const auto again = encode(masking, clients[who]);
    EXPECT_OK(frame);
    EXPECT_OK(again);
    EXPECT_EQ(*frame, *again) << "what differs between two of them is two draws of noise";
    frames.push_back(*frame);
  }
  return frames;
}

std::vector<Bytes> frames_of(const Plan& plan, uint64_t seed_of_first) {
  std::vector<float> values(kValues);
  Prng prng(3);
  for (float& value : values) value = static_cast<float>(prng.uniform(-0.05, 0.05));
  return frames_of(plan, seed_of_first, [&](const secagg::Masking& masking, const secagg::Client& client) {
    return encode_masked_update(masking, client, plan, values, 7);
  });
}

TEST(MaskedUpdate, WithNoiseIsTheSameInEveryLifeOfTheSession) {
  const Plan plan = noisy_plan();
  EXPECT_EQ(frames_of(plan, 50), frames_of(plan, 50));
  EXPECT_NE(frames_of(plan, 50)[0], frames_of(plan, 51)[0]);
}

TEST(MaskedUpdate, WithNoiseHasNarrowLanes) {
  const Plan plan = noisy_plan();
  const Bytes frame = frames_of(plan, 50)[0];
  const auto input = decode_masked_input(frame);
  ASSERT_OK(input);
  EXPECT_LE(input->header.lane_bits, 32u);
  EXPECT_LT(frame.size(), 8 * kValues) << "not even a lane of 64 bits a value";
}

TEST(MaskedUpdate, OfLevelsIsAsNarrowAsTheirSum) {
  Plan plan;
  plan.job = JobId("job");
  plan.update.encoding = UpdateEncoding::quantized;
  plan.update.value_count = kValues;
  plan.update.clip_l2 = 1;
  plan.update.fixed_point = FixedPointSpec::finest(8, 100, 1000);
  plan.update.quantization = {.bits = 5, .rotated = true, .contributors_max = 32};
  plan.privacy = {.level = SecurityLevel::active,
                  .cohort_min = kDevices,
                  .roster_max = kDevices,
                  .corrupt_share = 0.1,
                  .dropout_share = 0,
                  .cipher_suite = 1};
  ASSERT_OK(validate(plan));
  Bytes packed(packed_bytes(kValues, 5).value());
  pack_bits(std::vector<uint16_t>(kValues, 21), 5, packed);
  const auto encoded = [&](const secagg::Masking& masking, const secagg::Client&) {
    return encode_masked_levels(masking, plan, packed, 77);
  };
  const Bytes frame = frames_of(plan, 50, encoded)[0];
  const auto input = decode_masked_input(frame);
  ASSERT_OK(input);
  EXPECT_EQ(input->header.lane_bits, 10u) << "32 levels of 5 bits";
  const uint64_t lane_count = kValues + 2 + 1 + 7;  // digits of a weight up to 100, and check lanes
  EXPECT_EQ(input->header.lane_count, lane_count);
  EXPECT_EQ(input->payload.size(), (lane_count * 10 + 7) / 8);
  std::vector<uint32_t> lanes(lane_count);
  ASSERT_OK(unpack_bits(input->payload, 10, std::span(lanes)));
  EXPECT_NE(lanes[0], lanes[1]) << "masked";

  packed.pop_back();
  const auto too_short = [&](const secagg::Masking& masking, const secagg::Client&) {
    EXPECT_ERROR(encode_masked_levels(masking, plan, packed, 77), ErrorCode::malformed, "numbers of 5 bits");
    return Result<Bytes>(Bytes());
  };
  frames_of(plan, 50, too_short);
}

}  // namespace
}  // namespace coterie::test
