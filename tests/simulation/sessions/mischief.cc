#include "tests/simulation/sessions/mischief.h"

#include "tests/support/wide_lanes.h"

namespace coterie::simulation {
namespace {

// One byte of a message is another; of those that have none to spare, nothing.
void change_somewhere(Prng& prng, DeviceMessage& message) {
  const auto flip = [&](auto& bytes) {
    if (!bytes.empty()) bytes[prng.below(bytes.size())] ^= static_cast<uint8_t>(1 + prng.below(255));
  };
  if (auto* advert = std::get_if<KeyAdvert>(&message)) flip(advert->nonce);
  if (auto* choice = std::get_if<HolderChoice>(&message)) flip(choice->root.bytes);
  if (auto* update = std::get_if<MaskedUpdate>(&message)) {
    update->lanes.back() ^= 1;  // a check lane: what it adds to the sum stays what it is
    update->head.lanes = test::lanes_digest(update->lanes);
  }
  if (auto* confirmation = std::get_if<Confirmation>(&message)) flip(confirmation->signature);
  if (auto* shares = std::get_if<SealedShares>(&message)) {
    for (AddressedBox& box : shares->boxes) {
      if (prng.chance(0.3)) flip(box.box);
    }
  }
  if (auto* unmasking = std::get_if<Unmasking>(&message)) {
    for (OpenedShare& share : unmasking->shares) {
      if (prng.chance(0.3)) flip(share.value);
    }
  }
}

void change_update(Mischief mischief, Prng& prng, const secagg::SessionParameters& parameters, MaskedUpdate& update) {
  const uint64_t ring = test::ring_mask(parameters.ring_bits);
  if (mischief == Mischief::foreign_lanes) {
    // The same whenever it is sent again: it has one digest.
    Prng noise(update.lanes[0]);
    for (uint64_t& lane : update.lanes) lane = noise.next() & ring;
  } else if (mischief == Mischief::wide_lanes) {
    if (parameters.ring_bits < secagg::lane_bits(parameters)) update.lanes[0] |= ring + 1;
  } else if (mischief == Mischief::wrong_lane_count) {
    update.lanes.pop_back();
    --update.head.lane_count;
  }
  update.head.lanes = test::lanes_digest(update.lanes);
  if (mischief == Mischief::wrong_digest) update.head.lanes.bytes[prng.below(32)] ^= 1;
  if (mischief == Mischief::false_report) update.head.unopened = {0, 1};
}

void name_another(DeviceMessage& message) {
  std::visit(
      [](auto& m) {
        if constexpr (requires { m.device; }) m.device ^= 1;
        else if constexpr (requires { m.head; }) m.head.device ^= 1;
      },
      message);
}

}  // namespace

Mischief draw_mischief(Prng& prng) {
  return static_cast<Mischief>(1 + prng.below(static_cast<uint64_t>(Mischief::replays)));
}

std::vector<DeviceMessage> make_mischief(Mischief mischief, Prng& prng, const secagg::SessionParameters& parameters,
                                         std::vector<DeviceMessage>& told, const DeviceMessage& message) {
  DeviceMessage changed = message;
  auto* update = std::get_if<MaskedUpdate>(&changed);
  auto* advert = std::get_if<KeyAdvert>(&changed);
  const auto change_if = [&](bool now) {
    if (now) change_somewhere(prng, changed);
  };
  switch (mischief) {
    case Mischief::none:
    case Mischief::deals_badly: break;  // done where it shares
    case Mischief::breaks_boxes: change_if(std::holds_alternative<SealedShares>(message)); break;
    case Mischief::wrong_shares: change_if(std::holds_alternative<Unmasking>(message)); break;
    case Mischief::bad_confirmation: change_if(std::holds_alternative<Confirmation>(message)); break;
    case Mischief::other_commitment:
      if (advert != nullptr) advert->seed_commitment.bytes[0] ^= 1;  // at active its signature tells
      break;
    case Mischief::foreign_lanes:
    case Mischief::wrong_digest:
    case Mischief::wrong_lane_count:
    case Mischief::wide_lanes:
    case Mischief::false_report:
      if (update != nullptr) change_update(mischief, prng, parameters, *update);
      break;
    case Mischief::names_another: name_another(changed); break;
    case Mischief::equivocates: {
      DeviceMessage other = message;
      change_somewhere(prng, other);
      return {message, other};
    }
    case Mischief::replays: {
      std::vector<DeviceMessage> all = {message};
      if (!told.empty()) all.push_back(told[prng.below(told.size())]);
      told.push_back(message);
      return all;
    }
  }
  return {changed};
}

}  // namespace coterie::simulation
