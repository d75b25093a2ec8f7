// A server that lies to a device about who survived, asks out of turn, or gives devices different models: no device
// ever gives what would open a single update.
#include <algorithm>

#include "secure/secagg/survivors.h"
#include "tests/unit/secure/secagg/hostile_server.h"

namespace coterie::secagg {
namespace {

using test::SecaggWorld;
using Phase = Server::Phase;

// ---- Survivors

TEST(HostileServer, SurvivorsWhoNeverShared) {
  SecaggWorld world = active_world(10);
  world.takes_part = [](uint32_t who, Phase phase) { return who != 0 || phase == Phase::advertising; };
  EXPECT_EQ(victim_fault<ConfirmRequest>(world, &SecaggWorld::on_confirm_request,
                                         [](SecaggWorld& w, ConfirmRequest& request) {
                                           std::vector<uint32_t> all = members(request.survivors);
                                           all.push_back(w.place(0));
                                           request.survivors = make_survivors(10, all);
                                         }),
            Fault::not_a_subset);
}

TEST(HostileServer, SurvivorsWithoutOneself) {
  EXPECT_VICTIM_SAYS(Fault::self_dropped, on_confirm_request, ConfirmRequest, {
    std::vector<uint32_t> others = members(message.survivors);
    std::erase(others, w.place(kVictim));
    message.survivors = make_survivors(6, others);
  });
}

TEST(HostileServer, TooFewSurvivors) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  parameters.survivors_min = 6;
  SecaggWorld world(parameters, 6);
  EXPECT_EQ(victim_fault<ConfirmRequest>(world, &SecaggWorld::on_confirm_request,
                                         [](SecaggWorld& w, ConfirmRequest& request) {
                                           std::vector<uint32_t> some = members(request.survivors);
                                           std::erase(some, (w.place(kVictim) + 1) % 6);
                                           request.survivors = make_survivors(6, some);
                                         }),
            Fault::too_few_survivors);
}

TEST(HostileServer, ASurvivorSetOfAnotherSize) {
  EXPECT_VICTIM_SAYS(Fault::malformed, on_confirm_request, ConfirmRequest, message.survivors.size = 7);
  EXPECT_VICTIM_SAYS(Fault::malformed, on_confirm_request, ConfirmRequest, message.survivors.bits.push_back(0));
  EXPECT_VICTIM_SAYS(Fault::malformed, on_confirm_request, ConfirmRequest, message.survivors.bits[0] |= 0x80);
}

// Half of the devices are told that device 0 survived, half that it vanished: whichever half confirms, nobody is shown
// enough confirmations for its own set, so nobody opens anything.
TEST(HostileServer, TwoSurvivorSets) {
  SecaggWorld world = active_world(10);
  const auto other_set = [&](const SurvivorSet& set) {
    std::vector<uint32_t> others = members(set);
    std::erase(others, world.place(0));
    return make_survivors(10, others);
  };
  std::vector<Unmasking> opened;
  world.on_confirm_request = [&](uint32_t who, ConfirmRequest& request) {
    if (who >= 5) request.survivors = other_set(request.survivors);
  };
  world.on_unmask_request = [&](uint32_t who, UnmaskRequest& request) {
    if (who >= 5) request.survivors = other_set(request.survivors);
  };
  world.on_unmasking = [&](uint32_t, Unmasking& unmasking) { opened.push_back(unmasking); };
  EXPECT_ERROR(world.run(), ErrorCode::refused, "can be asked");
  EXPECT_TRUE(opened.empty());
}

// As above, but the server forges: it shows each half the confirmations of the other.
TEST(HostileServer, ConfirmationsOfAnotherSet) {
  SecaggWorld world = active_world(10);
  ASSERT_OK(world.run_to(Phase::confirming));
  const SurvivorSet all = world.server().confirm_request(0)->survivors;
  std::vector<uint32_t> fewer = members(all);
  std::erase(fewer, world.place(0));
  const SurvivorSet other = make_survivors(10, fewer);
  const Digest session = world.server().session();
  std::vector<SignedBy> of_all, of_other;
  for (uint32_t place = 0; place < 10; ++place) {
    const uint32_t who = world.who_is(place);
    const bool tells_other = who >= 5;
    const auto confirmation = world.client(who).confirm({session, tells_other ? other : all});
    ASSERT_OK(confirmation);
    (tells_other ? of_other : of_all).push_back({place, confirmation->signature});
  }
  std::vector<SignedBy> mixed = of_all;
  mixed.insert(mixed.end(), of_other.begin(), of_other.end());
  std::ranges::sort(mixed, {}, &SignedBy::device);
  EXPECT_ERROR(world.client(1).unmask({session, all, mixed}), ErrorCode::unauthenticated, "is not its own");
  EXPECT_ERROR(world.client(3).unmask({session, other, mixed}), ErrorCode::refused, "another survivor set");
  EXPECT_ERROR(world.client(4).unmask({session, all, of_all}), ErrorCode::refused,
               "of this device's holders confirmed");
}

TEST(HostileServer, ConfirmationsThatAreNone) {
  EXPECT_VICTIM_SAYS(Fault::too_few_confirmations, on_unmask_request, UnmaskRequest, message.confirmations.pop_back());
  EXPECT_VICTIM_SAYS(Fault::too_few_confirmations, on_unmask_request, UnmaskRequest, message.confirmations.clear());
  EXPECT_VICTIM_SAYS(Fault::malformed, on_unmask_request, UnmaskRequest,
                     message.confirmations[1] = message.confirmations[0]);
  EXPECT_VICTIM_SAYS(Fault::bad_signature, on_unmask_request, UnmaskRequest,
                     message.confirmations[0].signature = message.confirmations[1].signature);
  EXPECT_VICTIM_SAYS(Fault::bad_signature, on_unmask_request, UnmaskRequest,
                     message.confirmations[0].signature.clear());
  EXPECT_VICTIM_SAYS(Fault::not_a_neighbour, on_unmask_request, UnmaskRequest,
                     message.confirmations.back().device = 4000);
}

TEST(HostileServer, AnotherSetThanTheOneConfirmed) {
  EXPECT_VICTIM_SAYS(Fault::survivors_differ, on_unmask_request, UnmaskRequest, {
    std::vector<uint32_t> some = members(message.survivors);
    std::erase(some, (w.place(kVictim) + 1) % 6);
    message.survivors = make_survivors(6, some);
  });
}

// ---- Order

TEST(HostileServer, ASecondUnmaskRequest) {
  SecaggWorld world = active_world();
  std::optional<UnmaskRequest> asked;
  world.on_unmask_request = [&](uint32_t who, UnmaskRequest& request) {
    if (who == kVictim) asked = request;
  };
  ASSERT_OK(world.run());
  EXPECT_ERROR(world.client(kVictim).unmask(*asked), ErrorCode::conflict, "the session is over");
}

TEST(HostileServer, EveryMessageOutOfItsPhase) {
  for (const Phase reached :
       {Phase::advertising, Phase::sharing, Phase::masking, Phase::confirming, Phase::unmasking}) {
    const auto client_at = [&](SecaggWorld& world) -> Client& {
      EXPECT_OK(world.run_to(reached));
      return world.client(kVictim);
    };
    const auto refuses = [&](auto ask) {
      SecaggWorld world = active_world();
      Client& client = client_at(world);
      const auto answer = ask(world, client);
      return !answer && fault_of(answer.error()) == Fault::bad_phase;
    };
    EXPECT_TRUE(refuses([](auto&, Client& c) { return c.choose({.device = 0, .size = 6, .root = {}, .proof = {}}); }));
    if (reached != Phase::advertising) {
      EXPECT_EQ(refuses([](auto& w, Client& c) { return c.share(w.server().view(w.place(kVictim))); }),
                reached != Phase::sharing);
    }
    if (reached != Phase::masking) EXPECT_TRUE(refuses([](auto&, Client& c) { return c.mask({}); }));
    if (reached != Phase::confirming) EXPECT_TRUE(refuses([](auto&, Client& c) { return c.confirm({}); }));
    if (reached != Phase::unmasking) EXPECT_TRUE(refuses([](auto&, Client& c) { return c.unmask({}); }));
  }
}

// ---- Contexts

// The server gives half of the devices another model: their sessions differ, so that they refuse each other's shares,
// even if the server renames what travels.
TEST(HostileServer, AnotherModelForSome) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::masked);  // no signature tells
  parameters.dropout_share = .4;                                                  // complete
  SecaggWorld world(parameters, 10);
  Digest other_model;
  other_model.bytes.fill(9);
  world.context_of = [&](uint32_t who) { return who < 5 ? parameters.context : other_model; };
  world.on_shares = [&](uint32_t, SealedShares& shares) { shares.session = world.server().session(); };
  world.on_inbox = [&](uint32_t who, ShareInbox& inbox) { inbox.session = world.client(who).session(); };
  EXPECT_ERROR(world.run(), ErrorCode::refused, "survivors");
  for (uint32_t who = 0; who < 10; ++who) EXPECT_EQ(world.fault_of(who), Fault::unopenable);
}

TEST(HostileServer, AnotherModelForOne) {
  EXPECT_VICTIM_SAYS(Fault::unopenable, on_inbox, ShareInbox, {
    // What a device in another session would see: nothing opens.
    for (AddressedBox& box : message.boxes) std::ranges::reverse(box.box);
  });
  SecaggWorld world = active_world();
  Digest other_model;
  other_model.bytes.fill(9);
  world.context_of = [&](uint32_t who) {
    return who == kVictim ? other_model : test::secagg_parameters(SecurityLevel::active).context;
  };
  EXPECT_OK(world.run());
  EXPECT_EQ(world.fault_of(kVictim), Fault::bad_signature);  // its advert is signed for its own context
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

}  // namespace
}  // namespace coterie::secagg
