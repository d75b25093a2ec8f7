// Samples of what secure aggregation says.
#include "proto/codec/limits.h"
#include "tests/support/messages.h"
#include "tests/support/sample_values.h"

namespace coterie::test {
namespace {

Key32 counting_key(uint8_t first) { return counting_digest(first).bytes; }

KeyAdvert typical_advert(uint8_t first) {
  const auto after = [&](int places) { return static_cast<uint8_t>(first + places); };
  return {{KeyAlgorithm::ed25519, counting(32, first), counting(140, after(1))},
          counting_key(after(2)),
          counting_key(after(3)),
          counting_digest(after(4)),
          counting_key(after(5)),
          counting(64, after(6))};
}

KeyAdvert extreme_advert() {
  return {{KeyAlgorithm::p256, Bytes(limits::kKeyBytesMax, 0xff), Bytes(limits::kCertificateBytesMax, 0xfe)},
          counting_key(0xf0),
          counting_key(0xf1),
          counting_digest(0xf2),
          counting_key(0xf3),
          Bytes(limits::kSignatureBytesMax, 0xfd)};
}

KeyAdvert minimal_advert() { return {{KeyAlgorithm::ed25519, {0}, {}}, {}, {}, {}, {}, {}}; }

SealedBox counting_box(uint8_t first) {
  SealedBox box;
  std::iota(box.begin(), box.end(), first);
  return box;
}

constexpr uint32_t kLast = kRosterSizeMax - 1;

// Everybody but the first.
SurvivorSet extreme_survivors() {
  SurvivorSet set{kRosterSizeMax, Bytes(kRosterSizeMax / 8, 0xff)};
  set.bits[0] = 0xfe;
  return set;
}

// The survivors of 11 devices: all but 1, 8 and 10.
SurvivorSet typical_survivors() { return {11, {0xfd, 0x02}}; }

}  // namespace

Samples<KeyAdvert> MessageTraits<KeyAdvert>::samples() {
  return {.minimal = minimal_advert(), .typical = typical_advert(1), .extreme = extreme_advert()};
}

Samples<RosterSlot> MessageTraits<RosterSlot>::samples() {
  return {.minimal = {0, kRosterSizeMin, {}, {}},
          .typical = {3, 300, counting_digest(1), {counting_digest(2), counting_digest(3)}},
          .extreme = {kLast, kRosterSizeMax, counting_digest(0xf0),
                      std::vector<Digest>(limits::kRosterPathDigestsMax, counting_digest(0xe0))}};
}

Samples<HolderChoice> MessageTraits<HolderChoice>::samples() {
  return {.minimal = {{}, 0, {1}},
          .typical = {counting_digest(1), 3, {0, 7, 256, 299}},
          .extreme = {counting_digest(0xf0), kLast, {0, kLast - 1}}};
}

Samples<RosterView> MessageTraits<RosterView>::samples() {
  return {.minimal = {0, kRosterSizeMin, {}, {{0, minimal_advert()}}, {}},
          .typical = {3,
                      11,
                      counting_digest(1),
                      {{0, typical_advert(1)}, {3, typical_advert(50)}, {10, typical_advert(99)}},
                      {counting_digest(2), counting_digest(3)}},
          .extreme = {kLast,
                      kRosterSizeMax,
                      counting_digest(0xf0),
                      {{0, extreme_advert()}, {kLast, extreme_advert()}},
                      std::vector<Digest>(26, counting_digest(0xe0))}};
}

Samples<SealedShares> MessageTraits<SealedShares>::samples() {
  return {.minimal = {},
          .typical = {counting_digest(1), 3, {{0, counting_box(5)}, {7, counting_box(85)}}},
          .extreme = {counting_digest(0xf0), kLast, {{0, counting_box(0xf0)}, {kLast - 1, counting_box(0xff)}}}};
}

Samples<ShareInbox> MessageTraits<ShareInbox>::samples() {
  return {.minimal = {},
          .typical = {counting_digest(1), {0, 2, 7}, {{0, counting_box(5)}, {7, counting_box(85)}}},
          .extreme = {
              counting_digest(0xf0), {0, kLast - 1, kLast}, {{0, counting_box(0xf0)}, {kLast, counting_box(0xff)}}}};
}

Samples<MaskedInput> MessageTraits<MaskedInput>::samples() {
  return {.minimal = {{}, 0, 16, 0, {}, {}},
          .typical = {counting_digest(1), 3, 32, 25, counting_digest(40), {7}},
          .extreme = {counting_digest(0xf0), kLast, 64, 3, counting_digest(0xe0), {0, kLast - 1}}};
}

Samples<ConfirmRequest> MessageTraits<ConfirmRequest>::samples() {
  return {.minimal = {{}, {kRosterSizeMin, {0}}},
          .typical = {counting_digest(1), typical_survivors()},
          .extreme = {counting_digest(0xf0), extreme_survivors()}};
}

Samples<Confirmation> MessageTraits<Confirmation>::samples() {
  return {.minimal = {{}, 0, {0}},
          .typical = {counting_digest(1), 3, counting(64)},
          .extreme = {counting_digest(0xf0), kLast, Bytes(limits::kSignatureBytesMax, 0xff)}};
}

Samples<UnmaskRequest> MessageTraits<UnmaskRequest>::samples() {
  return {.minimal = {{}, {kRosterSizeMin, {0}}, {}},
          .typical = {counting_digest(1), typical_survivors(), {{0, counting(64)}, {9, counting(70, 80)}}},
          .extreme = {counting_digest(0xf0),
                      extreme_survivors(),
                      {{1, Bytes(limits::kSignatureBytesMax, 0xff)}, {kLast, Bytes(1, 0)}}}};
}

Samples<Unmasking> MessageTraits<Unmasking>::samples() {
  return {.minimal = {},
          .typical = {counting_digest(1),
                      3,
                      {{0, ShareKind::seed, counting_key(5)},
                       {1, ShareKind::mask_key, counting_key(50)},
                       {3, ShareKind::seed, counting_key(90)}}},
          .extreme = {counting_digest(0xf0),
                      kLast,
                      {{0, ShareKind::mask_key, counting_key(0xf0)}, {kLast, ShareKind::seed, counting_key(0xff)}}}};
}

Bytes payload_of(const MaskedInput& header) { return counting((header.lane_count * header.lane_bits + 7) / 8); }

}  // namespace coterie::test
