// Devices that lie to the server or to each other: the server refuses with the named fault, or the sum is right and the
// liar named, or there is no sum; never a wrong one.
#include <gtest/gtest.h>

#include <algorithm>

#include "secure/secagg/survivors.h"
#include "tests/support/matchers.h"
#include "tests/support/secagg_world.h"

namespace coterie::secagg {
namespace {

using test::SecaggWorld;
using Phase = Server::Phase;

constexpr uint32_t kLiar = 1;

SecaggWorld active_world(uint32_t devices = 10) {
  return SecaggWorld(test::secagg_parameters(SecurityLevel::active), devices);
}

// A session in which the liar's messages of one kind are changed.
template <typename Message>
SecaggWorld with_lie(SecaggWorld::Tamper<Message> SecaggWorld::*hook, auto lie) {
  SecaggWorld world = active_world();
  world.*hook = [lie](uint32_t who, Message& message) {
    if (who == kLiar) lie(message);
  };
  return world;
}

// The lie is refused as `fault`, and the others end without the liar.
#define EXPECT_REFUSED(expected, hook, Message, ...)                                                                   \
  do {                                                                                                                 \
    SecaggWorld world = with_lie<Message>(&SecaggWorld::hook, []([[maybe_unused]] Message& message) { __VA_ARGS__; }); \
    EXPECT_OK(world.run());                                                                                            \
    EXPECT_EQ(world.fault_of(kLiar), expected);                                                                        \
    const auto sum = world.sum();                                                                                      \
    ASSERT_OK(sum);                                                                                                    \
    EXPECT_EQ(*sum, world.sum_of_survivors());                                                                         \
  } while (false)

TEST(HostileDevices, AdvertsThatAreRefused) {
  EXPECT_REFUSED(Fault::bad_signature, on_advert, KeyAdvert, message.nonce[0] ^= 1);
  EXPECT_REFUSED(Fault::bad_signature, on_advert, KeyAdvert, message.signature.clear());
  EXPECT_REFUSED(Fault::low_order_point, on_advert, KeyAdvert, message.mask_key.fill(0));
  EXPECT_REFUSED(Fault::duplicate_key, on_advert, KeyAdvert, message.mask_key = message.seal_key);
}

TEST(HostileDevices, ASecondAdvertOfOneIdentity) {
  SecaggWorld world = active_world();
  ASSERT_OK(world.run_to(Phase::advertising));
  KeyAdvert advert = world.client(kLiar).advert();
  EXPECT_OK(world.server().receive(advert));
  EXPECT_OK(world.server().receive(advert));
  EXPECT_EQ(world.server().size(), 1u);
  advert.nonce[0] ^= 1;
  EXPECT_ERROR(world.server().receive(advert), ErrorCode::conflict, "a second advert");
  EXPECT_EQ(world.server().size(), 1u);
}

TEST(HostileDevices, AnotherOnesKeys) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::masked);
  SecaggWorld world(parameters, 4);
  ASSERT_OK(world.run_to(Phase::advertising));
  const KeyAdvert honest = world.client(0).advert();
  ASSERT_OK(world.server().receive(honest));
  KeyAdvert thief = world.client(kLiar).advert();
  thief.mask_key = honest.seal_key;
  EXPECT_EQ(fault_of(world.server().receive(thief).error()), Fault::duplicate_key);
}

TEST(HostileDevices, ACertificateThatIsRevoked) {
  SecaggWorld world = active_world();
  const Bytes revoked = [&] {
    EXPECT_OK(world.run_to(Phase::advertising));
    return world.client(kLiar).advert().identity.public_key;
  }();
  world.certificate_is_good = [revoked](const DeviceIdentity& identity) { return identity.public_key != revoked; };
  ASSERT_OK(world.run());
  EXPECT_EQ(world.fault_of(kLiar), Fault::bad_certificate);
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

TEST(HostileDevices, SharesThatAreRefused) {
  EXPECT_REFUSED(Fault::bad_session, on_shares, SealedShares, message.session.bytes[0] ^= 1);  // replay of an older one
  EXPECT_REFUSED(Fault::share_count, on_shares, SealedShares, message.boxes.pop_back());
  EXPECT_REFUSED(Fault::share_count, on_shares, SealedShares, message.boxes.clear());
  EXPECT_REFUSED(Fault::share_count, on_shares, SealedShares, message.boxes.push_back(message.boxes.back()));
  EXPECT_REFUSED(Fault::share_count, on_shares, SealedShares, message.boxes[3].peer = message.device);
  EXPECT_REFUSED(Fault::malformed, on_shares, SealedShares, message.device = 4000);
}

TEST(HostileDevices, TheSameMessageTwiceAndAnotherOne) {
  SecaggWorld world = active_world();
  std::optional<SealedShares> shares;
  std::optional<MaskedInput> input;
  std::optional<Unmasking> unmasking;
  world.on_shares = [&](uint32_t who, SealedShares& message) {
    if (who == kLiar) shares = message;
  };
  world.on_input = [&](uint32_t who, MaskedInput& message) {
    if (who == kLiar) input = message;
  };
  world.on_unmasking = [&](uint32_t who, Unmasking& message) {
    if (who == kLiar) unmasking = message;
  };
  ASSERT_OK(world.run());
  Server& server = world.server();
  EXPECT_OK(server.receive(*shares));
  EXPECT_OK(server.receive(*input));
  EXPECT_OK(server.receive(*unmasking));
  shares->boxes[0].box[0] ^= 1;
  input->lanes.bytes[0] ^= 1;
  unmasking->shares[0].value[0] ^= 1;
  EXPECT_EQ(fault_of(server.receive(*shares).error()), Fault::equivocation);
  EXPECT_EQ(fault_of(server.receive(*input).error()), Fault::equivocation);
  EXPECT_EQ(fault_of(server.receive(*unmasking).error()), Fault::equivocation);
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

TEST(HostileDevices, AnUpdateThatIsLate) {
  SecaggWorld world = active_world();
  std::optional<MaskedInput> input;
  world.takes_part = [](uint32_t who, Phase phase) { return who != kLiar || phase < Phase::masking; };
  world.on_input = [&](uint32_t, MaskedInput& message) { input = message; };
  ASSERT_OK(world.run());
  input->device = world.place(kLiar);
  EXPECT_EQ(fault_of(world.server().receive(*input).error()), Fault::late);
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

TEST(HostileDevices, AnUpdateOfAnotherLength) {
  EXPECT_REFUSED(Fault::lane_count, on_input, MaskedInput, --message.lane_count);
  EXPECT_REFUSED(Fault::lane_count, on_input, MaskedInput, message.lane_bits = 16);
}

TEST(HostileDevices, LanesBeyondTheRing) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  parameters.ring_bits = 27;
  const std::vector<uint32_t> good = {0, 1u << 26, (1u << 27) - 1}, bad = {0, 1u << 27};
  EXPECT_OK(check_range<uint32_t>(parameters, good));
  EXPECT_EQ(fault_of(check_range<uint32_t>(parameters, bad).error()), Fault::lane_range);
  parameters.ring_bits = 32;
  EXPECT_OK(check_range<uint32_t>(parameters, bad));
}

TEST(HostileDevices, AConfirmationBySomebodyElse) {
  EXPECT_REFUSED(Fault::bad_signature, on_confirmation, Confirmation, message.signature[0] ^= 1);
  EXPECT_REFUSED(Fault::bad_signature, on_confirmation, Confirmation, message.device = (message.device + 1) % 10);
}

TEST(HostileDevices, UnmaskingsThatAreRefused) {
  EXPECT_REFUSED(Fault::malformed, on_unmasking, Unmasking,
                 message.shares[2].kind = ShareKind::mask_key);  // wrong kind
  EXPECT_REFUSED(Fault::malformed, on_unmasking, Unmasking, {    // both kinds
    message.shares.insert(message.shares.begin(), message.shares[0]);
    message.shares[0].kind = ShareKind::mask_key;
  });
  EXPECT_REFUSED(Fault::malformed, on_unmasking, Unmasking, message.shares[2].device = 4000);
  EXPECT_REFUSED(Fault::bad_session, on_unmasking, Unmasking, message.session = {});
}

// ---- Shares that are wrong

void spoil(Unmasking& unmasking) {
  for (OpenedShare& share : unmasking.shares) share.value[7] ^= 0x5a;
}

// A dealer whose box does not open for one holder: that one holds nothing, the others do.
TEST(HostileDevices, OneBoxThatDoesNotOpen) {
  SecaggWorld world = active_world();
  std::vector<uint32_t> reported;
  world.on_shares = [&](uint32_t who, SealedShares& shares) {
    if (who == kLiar) shares.boxes[4].box[33] ^= 1;
  };
  world.on_input = [&](uint32_t, MaskedInput& input) {
    reported.insert(reported.end(), input.unopened.begin(), input.unopened.end());
  };
  ASSERT_OK(world.run());
  EXPECT_EQ(reported, std::vector<uint32_t>{world.place(kLiar)});
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

// 10 devices, threshold 7, all answer: one wrong share of each secret can be corrected, and its holder is named.
TEST(HostileDevices, OneThatGivesWrongShares) {
  SecaggWorld world = with_lie<Unmasking>(&SecaggWorld::on_unmasking, spoil);
  ASSERT_OK(world.run());
  const auto sum = world.sum();
  ASSERT_OK(sum);
  EXPECT_EQ(*sum, world.sum_of_survivors());
  EXPECT_EQ(world.blamed(), std::vector<uint32_t>{world.place(kLiar)});
}

TEST(HostileDevices, TooManyThatGiveWrongShares) {
  SecaggWorld world = active_world();
  world.on_unmasking = [](uint32_t who, Unmasking& unmasking) {
    if (who < 2) {
      for (OpenedShare& share : unmasking.shares) share.value[7] ^= static_cast<uint8_t>(0x11 * (who + 1));
    }
  };
  ASSERT_OK(world.run());
  const auto sum = world.sum();
  ASSERT_FALSE(sum);
  EXPECT_EQ(fault_of(sum.error()), Fault::bad_shares);
}

TEST(HostileDevices, WrongSharesAndNoneToSpare) {
  SecaggWorld world = active_world();
  world.takes_part = [](uint32_t who, Phase phase) { return who < 7 || phase < Phase::unmasking; };
  world.on_unmasking = [](uint32_t who, Unmasking& unmasking) {
    if (who == kLiar) spoil(unmasking);
  };
  ASSERT_OK(world.run());
  const auto sum = world.sum();
  ASSERT_FALSE(sum);
  EXPECT_EQ(fault_of(sum.error()), Fault::commitment_mismatch);
}

// A device whose advert was changed on its way does not take part in what came of it.
TEST(HostileDevices, AnAdvertThatWasChangedOnItsWay) {
  SessionParameters parameters =
      test::secagg_parameters(SecurityLevel::masked);  // no signature holds the advert together
  parameters.dropout_share = .4;
  SecaggWorld world(parameters, 10);
  world.on_advert = [&](uint32_t who, KeyAdvert& advert) {
    if (who == kLiar) advert.seed_commitment.bytes[0] ^= 1;
  };
  EXPECT_OK(world.run());
  EXPECT_EQ(world.fault_of(kLiar), Fault::self_missing);
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

// A dealer that advertised one secret and shared another one: what it shared opens well, and is not what it said.
TEST(HostileDevices, WhatIsOpenedMustBeWhatWasAdvertised) {
  Opening opening(Digest{}, Digest{}, 2,
                  {{.device = 3, .kind = ShareKind::seed, .mask_key = {}, .seed_commitment = {}, .partners = {}},
                   {.device = 5, .kind = ShareKind::mask_key, .mask_key = {}, .seed_commitment = {}, .partners = {}}});
  Secret<32> secret;
  secret.mutable_bytes()[0] = 1;
  const auto shares = split(secret, 2, 4);
  ASSERT_OK(shares);
  const auto value = [&](size_t i) {
    std::array<uint8_t, 32> bytes;
    std::ranges::copy((*shares)[i].value, bytes.begin());
    return bytes;
  };
  for (const uint32_t device : {3u, 5u}) {
    for (size_t i = 0; i < 4; ++i) opening.add(device, static_cast<uint32_t>(i), static_cast<uint8_t>(i + 1), value(i));
  }
  ASSERT_TRUE(opening.is_complete());
  for (const size_t part : {0, 1}) {  // the seed, the mask key
    const auto opened = opening.open(part, 2);
    ASSERT_FALSE(opened);
    EXPECT_EQ(fault_of(opened.error()), Fault::commitment_mismatch);
  }
}

// ---- Updates that are wrong

TEST(HostileDevices, OneThatDoesNotMask) {
  SecaggWorld world = active_world();
  world.on_lanes = [&](uint32_t who, const Masking&, std::vector<uint64_t>& lanes) {
    if (who == kLiar) std::ranges::copy(world.update(who), lanes.begin());
    if (who == kLiar) std::fill(lanes.end() - 3, lanes.end(), 1);
  };
  ASSERT_OK(world.run());
  const auto sum = world.sum();
  ASSERT_FALSE(sum);
  EXPECT_EQ(fault_of(sum.error()), Fault::sum_mismatch);
}

TEST(HostileDevices, ASliceThatWasAddedWrong) {
  SecaggWorld world = active_world();
  world.on_lanes = [&](uint32_t who, const Masking&, std::vector<uint64_t>& lanes) {
    if (who == 3) lanes.back() ^= 4;
  };
  ASSERT_OK(world.run());
  EXPECT_EQ(fault_of(world.sum().error()), Fault::sum_mismatch);
}

// ---- Endings

TEST(HostileDevices, AllVanishBehindTheirUpdates) {
  SecaggWorld world = active_world();
  world.takes_part = [](uint32_t, Phase phase) { return phase < Phase::confirming; };
  const Status ran = world.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(fault_of(ran.error()), Fault::too_few_confirmations);
}

TEST(HostileDevices, SessionsOfOneAreNone) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  SecaggWorld world(parameters, 1);
  EXPECT_EQ(fault_of(world.run().error()), Fault::cohort_size);
  parameters.survivors_min = 1;
  EXPECT_ERROR(validate(parameters), ErrorCode::invalid_argument, "a sum of one is an update");
}

// ---- Whoever kept the messages can make the state again

TEST(SecaggServer, ComesBackFromItsMessagesInAnyOrder) {
  const SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  SecaggWorld world(parameters, 8);
  std::vector<KeyAdvert> adverts;
  std::vector<SealedShares> shares;
  std::vector<MaskedInput> inputs;
  std::vector<Confirmation> confirmations;
  std::vector<Unmasking> unmaskings;
  world.takes_part = [](uint32_t who, Phase phase) { return who != 4 || phase < Phase::masking; };
  world.on_advert = [&](uint32_t, KeyAdvert& m) { adverts.push_back(m); };
  world.on_shares = [&](uint32_t, SealedShares& m) { shares.push_back(m); };
  world.on_input = [&](uint32_t, MaskedInput& m) { inputs.push_back(m); };
  world.on_confirmation = [&](uint32_t, Confirmation& m) { confirmations.push_back(m); };
  world.on_unmasking = [&](uint32_t, Unmasking& m) { unmaskings.push_back(m); };
  ASSERT_OK(world.run());

  auto again = Server::make(parameters, 99, [](const DeviceIdentity&) { return Status(); });
  ASSERT_OK(again);
  const auto replay = [&](auto& messages) {
    std::ranges::reverse(messages);
    for (const auto& message : messages) ASSERT_OK(again->receive(message));
  };
  replay(adverts);
  ASSERT_OK(again->close_adverts());
  replay(shares);
  ASSERT_OK(again->close_shares());
  replay(inputs);
  ASSERT_OK(again->close_inputs());
  replay(confirmations);
  ASSERT_OK(again->close_confirmations());
  replay(unmaskings);
  ASSERT_TRUE(again->can_open());
  EXPECT_EQ(again->session(), world.server().session());
  const auto seeds = [](const Server& server) {
    std::vector<std::pair<Bytes, MaskSign>> list;
    const auto opened = server.opening().open();
    EXPECT_OK(opened);
    for (const SumMask& mask : opened->masks) {
      list.emplace_back(Bytes(mask.seed.reveal().begin(), mask.seed.reveal().end()), mask.sign);
    }
    return list;
  };
  EXPECT_EQ(seeds(*again), seeds(world.server()));
  EXPECT_EQ(seeds(*again).size(), 7u + 7u);  // of 7 survivors, and one's who vanished with each of them
}

// What an app that was killed does: the same seed and messages, the same answers.
TEST(SecaggClient, ComesBackFromItsSeedAndItsMessages) {
  const SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  SecaggWorld world(parameters, 5);
  std::unique_ptr<Signer> signer = *make_signer(KeyAlgorithm::ed25519, Bytes(32, 1));
  const auto begin = [&] {
    Secret<32> seed;
    seed.mutable_bytes()[3] = 77;
    return Client::make(parameters, std::move(seed), {.signer = signer.get(), .certificate = {}},
                        [](const DeviceIdentity&) { return Status(); });
  };
  auto first = begin();
  ASSERT_OK(first);
  ASSERT_OK(world.run_to(Phase::advertising));
  for (uint32_t who = 0; who < 5; ++who) ASSERT_OK(world.server().receive(world.client(who).advert()));
  ASSERT_OK(world.server().receive(first->advert()));
  ASSERT_OK(world.server().close_adverts());
  const RosterView view = world.server().view(*world.server().device_of(signer->public_key()));
  const auto shares = first->share(view);
  ASSERT_OK(shares);
  auto second = begin();
  ASSERT_OK(second);
  EXPECT_EQ(second->advert(), first->advert());
  EXPECT_EQ(*second->share(view), *shares);
  EXPECT_EQ(second->session(), first->session());
}

// ---- What travels looks random

// The lanes of one device in many sessions, by their low byte: chi-square of 255 degrees of freedom exceeds 378 with
// probability 1e-6. The update is zero in all.
TEST(SecaggClient, MaskedLanesAreUniform) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::masked, 30'000);
  std::vector<uint64_t> counts(256);
  SecaggWorld world(parameters, 5);
  world.on_lanes = [&](uint32_t who, const Masking& masking, std::vector<uint64_t>&) {
    if (who != 0) return;
    std::vector<uint32_t> lanes(30'003);
    masking.apply(std::span(lanes));
    for (const uint32_t lane : lanes) ++counts[lane & 0xff];
  };
  ASSERT_OK(world.run());
  double chi_square = 0;
  for (const uint64_t count : counts) {
    const double expected = 30'003 / 256.0;
    chi_square += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
  }
  EXPECT_LT(chi_square, 378);
  EXPECT_GT(chi_square, 165);  // as seldom
}

}  // namespace
}  // namespace coterie::secagg
