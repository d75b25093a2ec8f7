// Random messages of secure aggregation that obey every rule: they decode to what was encoded.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/random.h"
#include "proto/codec/limits.h"
#include "tests/support/matchers.h"
#include "tests/support/messages.h"

namespace coterie {
namespace {

class RandomMessages {
 public:
  explicit RandomMessages(uint64_t seed) : prng_(seed) {
    size_ = static_cast<uint32_t>(between(kRosterSizeMin, prng_.chance(0.5) ? 20 : kRosterSizeMax));
  }

  uint32_t device() { return static_cast<uint32_t>(prng_.below(size_)); }
  uint32_t size() const { return size_; }
  Bytes bytes(size_t size_min, size_t size_max) {
    Bytes all(between(size_min, size_max));
    for (uint8_t& byte : all) byte = static_cast<uint8_t>(prng_.next());
    return all;
  }
  template <size_t N>
  std::array<uint8_t, N> array() {
    std::array<uint8_t, N> value;
    std::ranges::copy(bytes(N, N), value.begin());
    return value;
  }
  Digest digest() { return {array<32>()}; }
  std::vector<Digest> digests(size_t count_max) {
    std::vector<Digest> all(between(0, count_max));
    for (Digest& one : all) one = digest();
    return all;
  }
  // Ascending, without `self`.
  std::vector<uint32_t> others(uint32_t self, size_t count_min = 0) {
    const size_t count = between(count_min, std::min(size_ - 1, 40u));
    std::set<uint32_t> drawn;
    while (drawn.size() < count) {
      if (const uint32_t other = device(); other != self) drawn.insert(other);
    }
    return {drawn.begin(), drawn.end()};
  }
  std::vector<AddressedBox> boxes(const std::vector<uint32_t>& peers) {
    std::vector<AddressedBox> all;
    for (const uint32_t peer : peers) {
      if (prng_.chance(0.8)) all.push_back({peer, array<kSealedSharesBytes>()});
    }
    return all;
  }
  KeyAdvert advert() {
    return {{prng_.chance(0.5) ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256, bytes(1, limits::kKeyBytesMax),
             bytes(0, limits::kCertificateBytesMax)},
            array<32>(),
            array<32>(),
            digest(),
            array<32>(),
            bytes(0, limits::kSignatureBytesMax)};
  }
  std::vector<RosterEntry> entries(uint32_t self) {
    std::vector<uint32_t> devices = others(self);
    devices.insert(std::ranges::lower_bound(devices, self), self);
    std::vector<RosterEntry> all;
    for (const uint32_t one : devices) all.push_back({one, advert()});
    return all;
  }
  SurvivorSet survivors() {
    SurvivorSet set{size_, Bytes((size_ + 7) / 8)};
    for (uint32_t one = 0; one < size_; ++one) {
      if (prng_.chance(0.7)) set.bits[one / 8] |= static_cast<uint8_t>(1 << one % 8);
    }
    return set;
  }
  std::vector<SignedBy> confirmations(uint32_t self) {
    std::vector<SignedBy> all;
    for (const uint32_t one : others(self)) all.push_back({one, bytes(1, limits::kSignatureBytesMax)});
    return all;
  }
  std::vector<OpenedShare> shares(uint32_t self) {
    std::vector<OpenedShare> all;
    for (const uint32_t one : others(self)) {
      all.push_back({one, prng_.chance(0.5) ? ShareKind::seed : ShareKind::mask_key, array<32>()});
    }
    return all;
  }
  MaskedInput masked_input(uint32_t self) {
    const uint8_t lane_bits[] = {8, 13, 16, 32, 64};
    return {digest(), self, lane_bits[prng_.below(5)], prng_.below(50), digest(), others(self)};
  }

 private:
  size_t between(size_t low, size_t high) { return low + prng_.below(high - low + 1); }

  Prng prng_;
  uint32_t size_ = 0;
};

template <typename Message>
void expect_round_trip(const Message& message) {
  const Bytes frame = test::frame_of(message);
  const Result<Decoded<Message>> decoded = test::decode<Message>(frame);
  ASSERT_OK(decoded);
  EXPECT_TRUE(decoded->header == message);
  EXPECT_EQ(test::frame_of(decoded->header, decoded->payload), frame);
}

TEST(SecaggRoundTrip, OfRandomMessages) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomMessages random(seed);
    const uint32_t self = random.device();
    const std::vector<uint32_t> present = random.others(self);
    expect_round_trip(random.advert());
    expect_round_trip(RosterSlot{self, random.size(), random.digest(), random.digests(limits::kRosterPathDigestsMax)});
    expect_round_trip(HolderChoice{random.digest(), self, random.others(self, 1)});
    expect_round_trip(RosterView{self, random.size(), random.digest(), random.entries(self), random.digests(60)});
    expect_round_trip(SealedShares{random.digest(), self, random.boxes(present)});
    expect_round_trip(ShareInbox{random.digest(), present, random.boxes(present)});
    expect_round_trip(random.masked_input(self));
    expect_round_trip(ConfirmRequest{random.digest(), random.survivors()});
    expect_round_trip(Confirmation{random.digest(), self, random.bytes(1, limits::kSignatureBytesMax)});
    expect_round_trip(UnmaskRequest{random.digest(), random.survivors(), random.confirmations(self)});
    expect_round_trip(Unmasking{random.digest(), self, random.shares(self)});
  }
}

}  // namespace
}  // namespace coterie
