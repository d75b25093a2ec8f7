// A server that lies to a device about who is in the roster, or what others have sealed for it: each lie ends in the
// named fault.
#include <algorithm>

#include "secure/secagg/survivors.h"
#include "tests/unit/secure/secagg/hostile_server.h"

namespace coterie::secagg {
namespace {

using test::SecaggWorld;
using Phase = Server::Phase;

// ---- The roster

TEST(HostileServer, AnAdvertSignedByAnotherIdentity) {
  EXPECT_VICTIM_SAYS(Fault::bad_signature, on_view, RosterView,
                     message.entries[message.device == 0 ? 1 : 0].advert.identity.public_key = Bytes(32, 9));
}

TEST(HostileServer, AnAdvertChangedAfterItWasSigned) {
  EXPECT_VICTIM_SAYS(Fault::bad_signature, on_view, RosterView,
                     message.entries[message.device == 0 ? 1 : 0].advert.seed_commitment.bytes[0] ^= 1);
}

TEST(HostileServer, ARevokedCertificate) {
  SecaggWorld world = active_world();
  uint64_t asked = 0;
  world.certificate_is_good = [&](const DeviceIdentity&) {
    return ++asked <= 6 + 2;
  };  // the server's look, and two more
  EXPECT_ERROR(world.run(), ErrorCode::refused, "");
  uint32_t refused = 0;
  for (uint32_t who = 0; who < 6; ++who) refused += world.fault_of(who) == Fault::bad_certificate;
  EXPECT_EQ(refused, 6u);
}

TEST(HostileServer, OneIdentityTwice) {
  EXPECT_VICTIM_SAYS(Fault::duplicate_identity, on_view, RosterView, {
    const size_t a = message.device == 0 ? 1 : 0, b = message.device <= 1 ? 2 : 1;
    message.entries[a].advert.identity = message.entries[b].advert.identity;
  });
}

TEST(HostileServer, TwoIdentitiesWithOneKey) {
  EXPECT_VICTIM_SAYS(Fault::duplicate_key, on_view, RosterView, {
    const size_t a = message.device == 0 ? 1 : 0, b = message.device <= 1 ? 2 : 1;
    message.entries[a].advert.mask_key = message.entries[b].advert.seal_key;
  });
}

TEST(HostileServer, LowOrderKeys) {
  EXPECT_VICTIM_SAYS(Fault::low_order_point, on_view, RosterView,
                     message.entries[message.device == 0 ? 1 : 0].advert.mask_key.fill(0));
  EXPECT_VICTIM_SAYS(Fault::low_order_point, on_view, RosterView, {
    Key32& key = message.entries[message.device == 0 ? 1 : 0].advert.seal_key;
    key.fill(0);
    key[0] = 1;
  });
  EXPECT_VICTIM_SAYS(Fault::low_order_point, on_view, RosterView,  // not the one encoding of its point
                     message.entries[message.device == 0 ? 1 : 0].advert.mask_key.fill(0xff));
}

TEST(HostileServer, OneKeyForBothPurposes) {
  EXPECT_VICTIM_SAYS(Fault::duplicate_key, on_view, RosterView, {
    KeyAdvert& advert = message.entries[message.device == 0 ? 1 : 0].advert;
    advert.seal_key = advert.mask_key;
  });
}

TEST(HostileServer, ANeighbourTooFew) {
  EXPECT_VICTIM_SAYS(Fault::wrong_degree, on_view, RosterView,
                     message.entries.erase(message.entries.begin() + (message.device == 0 ? 1 : 0)));
}

TEST(HostileServer, ANeighbourTwice) {
  EXPECT_VICTIM_SAYS(Fault::malformed, on_view, RosterView, message.entries.push_back(message.entries.back()));
}

TEST(HostileServer, ANeighbourOutsideTheRoster) {
  EXPECT_VICTIM_SAYS(Fault::malformed, on_view, RosterView, {
    message.entries.push_back(message.entries.back());
    message.entries.back().device = message.size;
  });
}

TEST(HostileServer,
     ASmallerRosterThanItTellsOthers) {  // its root is another, so its session is, and no box of others opens
  SecaggWorld world = active_world();
  world.on_view = [&](uint32_t who, RosterView& view) {
    if (who != kVictim) return;
    const bool is_last = view.device == view.size - 1;
    view.entries.erase(is_last ? view.entries.begin() : view.entries.end() - 1);
    --view.size;
    for (uint32_t i = 0; i < view.size; ++i) view.entries[i].device = i;
    view.device = is_last ? view.size - 1 : view.device;
    std::vector<Digest> leaves;
    for (const RosterEntry& entry : view.entries) leaves.push_back(roster_leaf(entry.device, entry.advert));
    view.root = RosterTree(leaves).root();
  };
  world.on_shares = [&](uint32_t who, SealedShares& shares) {  // the server passes them on all the same
    if (who != kVictim) return;
    shares.session = world.server().session();
    shares.device = world.place(kVictim);
    const SealedBox box = shares.boxes.front().box;
    shares.boxes.clear();
    for (uint32_t place = 0; place < 6; ++place) {
      if (place != shares.device) shares.boxes.push_back({place, box});
    }
  };
  world.on_inbox = [&](uint32_t who, ShareInbox& inbox) {
    if (who == kVictim) inbox.session = world.client(kVictim).session();
  };
  const Status ran = world.run();
  EXPECT_TRUE(world.fault_of(kVictim) == Fault::unopenable || world.fault_of(kVictim) == Fault::not_a_neighbour);
  if (ran) EXPECT_EQ(world.survivors().size(), 5u);  // the others go on without it
}

TEST(HostileServer, AForgedProof) {
  EXPECT_VICTIM_SAYS(Fault::bad_proof, on_view, RosterView, message.root.bytes[5] ^= 1);
  EXPECT_VICTIM_SAYS(Fault::bad_proof, on_view, RosterView, message.proof.emplace_back());
}

TEST(HostileServer, ARosterWithoutOneself) {
  EXPECT_VICTIM_SAYS(Fault::self_missing, on_view, RosterView, message.device = (message.device + 1) % message.size);
  EXPECT_VICTIM_SAYS(Fault::self_missing, on_view, RosterView, message.entries[message.device].advert.nonce[0] ^= 1);
}

TEST(HostileServer, ACohortBelowTheLeast) {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  parameters.survivors_min = 4;
  SecaggWorld world(parameters, 6);
  EXPECT_EQ(victim_fault<RosterView>(world, &SecaggWorld::on_view, [](auto&, RosterView& view) { view.size = 3; }),
            Fault::cohort_size);
}

// ---- Shares

TEST(HostileServer, ASessionOfItsOwnMaking) {
  EXPECT_VICTIM_SAYS(Fault::bad_session, on_inbox, ShareInbox, message.session.bytes[0] ^= 1);
  EXPECT_VICTIM_SAYS(Fault::bad_session, on_confirm_request, ConfirmRequest, message.session = {});
  EXPECT_VICTIM_SAYS(Fault::bad_session, on_unmask_request, UnmaskRequest, message.session = {});
}

TEST(HostileServer, ABoxFromSomebodyUnknown) {
  EXPECT_VICTIM_SAYS(Fault::not_a_neighbour, on_inbox, ShareInbox, message.boxes.back().peer = 1000);
  EXPECT_VICTIM_SAYS(Fault::not_a_neighbour, on_inbox, ShareInbox, message.present.push_back(1000));
  EXPECT_VICTIM_SAYS(Fault::not_a_neighbour, on_inbox, ShareInbox, message.boxes.push_back(message.boxes.back()));
}

TEST(HostileServer, ABoxHeldBack) {
  EXPECT_VICTIM_SAYS(Fault::share_count, on_inbox, ShareInbox, message.boxes.pop_back());
}

TEST(HostileServer, PresentThatDoNotAscend) {
  EXPECT_VICTIM_SAYS(Fault::malformed, on_inbox, ShareInbox, std::ranges::reverse(message.present));
}

TEST(HostileServer, AllNeighboursOfAVictimCalledDropped) {
  EXPECT_VICTIM_SAYS(Fault::below_threshold, on_inbox, ShareInbox, {
    message.present.clear();
    message.boxes.clear();
  });
  EXPECT_VICTIM_SAYS(Fault::below_threshold, on_confirm_request, ConfirmRequest,
                     message.survivors = make_survivors(6, {w.place(kVictim), (w.place(kVictim) + 1) % 6}));
}

TEST(HostileServer, BoxesSwappedBetweenDealers) {
  SecaggWorld world = active_world(10);
  world.on_inbox = [&](uint32_t who, ShareInbox& inbox) {
    if (who == kVictim) std::swap(inbox.boxes[0].box, inbox.boxes[1].box);
  };
  std::vector<uint32_t> unopened;
  world.on_input = [&](uint32_t who, MaskedInput& input) {
    if (who == kVictim) unopened = input.unopened;
  };
  ASSERT_OK(world.run());
  EXPECT_EQ(unopened.size(), 2u);
  EXPECT_EQ(*world.sum(), world.sum_of_survivors());
}

TEST(HostileServer, AllBoxesTampered) {
  EXPECT_VICTIM_SAYS(Fault::unopenable, on_inbox, ShareInbox, {
    for (AddressedBox& box : message.boxes) box.box[70] ^= 1;
  });
}

// ---- Drawn graphs

SecaggWorld drawn_world() {
  SessionParameters parameters = test::secagg_parameters(SecurityLevel::active);
  parameters.corrupt_share = .1;
  parameters.dropout_share = .02;
  return SecaggWorld(parameters, 256);
}

TEST(HostileServer, AnotherRosterThanTheOneDrawnFrom) {
  SecaggWorld world = drawn_world();
  world.takes_part = [](uint32_t who, Phase phase) { return who == kVictim || phase < Phase::sharing; };
  world.on_view = [](uint32_t, RosterView& view) { view.root.bytes[0] ^= 1; };
  EXPECT_FALSE(world.run());
  EXPECT_EQ(world.fault_of(kVictim), Fault::bad_proof);
}

TEST(HostileServer, ADrawnHolderHidden) {
  SecaggWorld world = drawn_world();
  std::vector<uint32_t> chosen;
  world.on_choice = [&](uint32_t who, HolderChoice& choice) {
    if (who == kVictim) chosen = choice.holders;
  };
  world.takes_part = [](uint32_t who, Phase phase) { return who == kVictim || phase < Phase::sharing; };
  ASSERT_OK(world.run_to(Phase::sharing));
  // Neighbours enough, but another one in place of a holder: its proof is right.
  RosterView view = world.server().view(world.place(kVictim));
  std::vector<Digest> leaves;
  std::vector<KeyAdvert> adverts;
  for (uint32_t place = 0; place < 256; ++place) {
    adverts.push_back(world.client(world.who_is(place)).advert());
    leaves.push_back(roster_leaf(place, adverts.back()));
  }
  std::vector<uint32_t> shown;
  for (uint32_t place = 0; place < 256; ++place) {
    if (place != chosen[0]) shown.push_back(place);
  }
  view.entries.clear();
  for (const uint32_t place : shown) view.entries.push_back({place, adverts[place]});
  view.proof = RosterTree(leaves).proof(shown);
  EXPECT_ERROR(world.client(kVictim).share(view), ErrorCode::refused, "a holder that this device has drawn");
}

TEST(HostileServer, ASlotThatIsNotUnderTheRoot) {
  SecaggWorld world = drawn_world();
  world.takes_part = [](uint32_t who, Phase phase) { return who < 8 || phase == Phase::advertising; };
  world.on_slot = [](uint32_t who, RosterSlot& slot) {
    if (who == 0) slot.root.bytes[0] ^= 1;
    if (who == 1) slot.proof[3].bytes[0] ^= 1;
    if (who == 2) slot.proof.pop_back();
    if (who == 3) slot.proof.emplace_back();
    if (who == 4) slot.device = (slot.device + 1) % slot.size;
    if (who == 5) slot.device = slot.size;
    if (who == 6) slot.size = 20'000;
  };
  ASSERT_OK(world.run_to(Phase::sharing));
  for (uint32_t who = 0; who < 5; ++who) EXPECT_EQ(world.fault_of(who), Fault::bad_proof) << who;
  EXPECT_EQ(world.fault_of(5), Fault::self_missing);
  EXPECT_EQ(world.fault_of(6), Fault::cohort_size);
  EXPECT_FALSE(world.fault_of(7));
}

}  // namespace
}  // namespace coterie::secagg
