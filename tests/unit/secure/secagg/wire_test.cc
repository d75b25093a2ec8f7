// Sessions whose every message travels as the bytes of its frame: what the machines say is within the limits of the
// wire, and what comes out of the frame is what went in.
#include <gtest/gtest.h>

#include <set>

#include "proto/codec/limits.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"
#include "tests/support/secagg_world.h"

namespace coterie::test {
namespace {

class WireSession {
 public:
  explicit WireSession(SecaggWorld& world) : world_(world) {
    route(world.on_advert, world.on_slot, world.on_choice, world.on_view, world.on_shares, world.on_inbox,
          world.on_confirm_request, world.on_confirmation, world.on_unmask_request, world.on_unmasking);
    world.on_input = [this](uint32_t, MaskedInput& message) {
      seen_.insert(FrameKind::masked_input);
      const Bytes head = encode_head(message);
      const Result<Prelude> prelude = parse_prelude(head);
      ASSERT_OK(prelude);
      const auto decoded =
          decode_masked_input_head(*prelude, ByteView(head).subspan(kPreludeBytes, prelude->header_bytes));
      ASSERT_OK(decoded);
      EXPECT_TRUE(*decoded == message);
    };
  }

  // All of them, to the end: the sum is right and these kinds were spoken.
  void expect_sum(const std::set<FrameKind>& kinds) {
    ASSERT_OK(world_.run());
    EXPECT_TRUE(world_.errors().empty());
    const Result<std::vector<uint64_t>> sum = world_.sum();
    ASSERT_OK(sum);
    EXPECT_EQ(*sum, world_.sum_of_survivors());
    EXPECT_EQ(seen_, kinds);
  }

 private:
  template <typename... Tamper>
  void route(Tamper&... tamper) {
    (route_one(tamper), ...);
  }
  template <typename Message>
  void route_one(SecaggWorld::Tamper<Message>& tamper) {
    tamper = [this](uint32_t, Message& message) {
      seen_.insert(MessageTraits<Message>::kKind);
      const Result<Decoded<Message>> decoded = decode<Message>(encode(message));
      ASSERT_OK(decoded);
      EXPECT_TRUE(decoded->header == message);
      message = decoded->header;
    };
  }

  SecaggWorld& world_;
  std::set<FrameKind> seen_;
};

std::set<FrameKind> spoken(std::set<FrameKind> beside = {}) {
  beside.insert({FrameKind::key_advert, FrameKind::roster_view, FrameKind::sealed_shares, FrameKind::share_inbox,
                 FrameKind::masked_input, FrameKind::unmask_request, FrameKind::unmasking});
  return beside;
}

// One vanishes after it has shared, one before.
bool most_take_part(uint32_t who, secagg::Server::Phase phase) {
  if (who == 1) return phase < secagg::Server::Phase::masking;
  return who != 2 || phase < secagg::Server::Phase::sharing;
}

TEST(SecaggWire, CarriesAMaskedSession) {
  SecaggWorld world(secagg_parameters(SecurityLevel::masked), 60);
  world.takes_part = most_take_part;
  WireSession(world).expect_sum(spoken());
}

TEST(SecaggWire, CarriesAnActiveSession) {
  SecaggWorld world(secagg_parameters(SecurityLevel::active), 20);
  world.takes_part = most_take_part;
  WireSession(world).expect_sum(spoken({FrameKind::confirm_request, FrameKind::confirmation}));
}

TEST(SecaggWire, CarriesASessionWhoseDevicesDrewTheirHolders) {
  secagg::SessionParameters parameters = secagg_parameters(SecurityLevel::active);
  parameters.corrupt_share = 0.1;
  parameters.dropout_share = 0.05;
  SecaggWorld world(parameters, 256);
  world.takes_part = most_take_part;
  WireSession(world).expect_sum(
      spoken({FrameKind::roster_slot, FrameKind::holder_choice, FrameKind::confirm_request, FrameKind::confirmation}));
}

// The machines and the codec each have their own name for these.
TEST(SecaggWire, HasTheMachinesLimits) {
  EXPECT_EQ(limits::kNeighboursMax, secagg::kNeighboursMax);
  EXPECT_EQ(kRosterSizeMax, secagg::kCohortSizeMax);
}

}  // namespace
}  // namespace coterie::test
