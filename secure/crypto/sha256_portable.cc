#include <algorithm>
#include <bit>
#include <cstring>

#include "secure/crypto/sha256_constants.h"
#include "secure/crypto/sha256_stream.h"

namespace coterie {
namespace {

using sha256_constants::kInitial;
using sha256_constants::kRound;

constexpr size_t kBlock = 64;

uint32_t load_big_endian(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 | static_cast<uint32_t>(at[2]) << 8 |
         static_cast<uint32_t>(at[3]);
}

class Hasher {
 public:
  Hasher() { std::copy_n(kInitial, 8, state_); }

  void update(ByteView bytes) {
    length_ += bytes.size();
    while (!bytes.empty()) {
      if (pending_ == 0 && bytes.size() >= kBlock) {
        compress(bytes.data());
        bytes = bytes.subspan(kBlock);
        continue;
      }
      const size_t take = std::min(bytes.size(), kBlock - pending_);
      std::memcpy(block_ + pending_, bytes.data(), take);
      pending_ += take;
      bytes = bytes.subspan(take);
      if (pending_ == kBlock) flush();
    }
  }

  // Section 5.1.1: a one bit, zeros, the length in bits as the last 8 bytes of a block.
  Digest finish() {
    block_[pending_++] = 0x80;
    if (pending_ > kBlock - 8) {
      std::memset(block_ + pending_, 0, kBlock - pending_);
      flush();
    }
    std::memset(block_ + pending_, 0, kBlock - pending_);
    for (int i = 0; i < 8; ++i) block_[kBlock - 1 - i] = static_cast<uint8_t>(length_ * 8 >> (8 * i));
    compress(block_);
    Digest digest;
    for (size_t i = 0; i < digest.bytes.size(); ++i) {
      digest.bytes[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
  }

 private:
  void flush() {
    compress(block_);
    pending_ = 0;
  }

  // Section 6.2.2. words is the message schedule, of which only the last 16 words are needed.
  void compress(const uint8_t* block) {
    uint32_t words[16];
    for (int t = 0; t < 16; ++t) words[t] = load_big_endian(block + 4 * t);
    uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3];
    uint32_t e = state_[4], f = state_[5], g = state_[6], h = state_[7];
    for (int t = 0; t < 64; ++t) {
      if (t >= 16) {
        const uint32_t w15 = words[(t - 15) & 15], w2 = words[(t - 2) & 15];
        words[t & 15] += (std::rotr(w15, 7) ^ std::rotr(w15, 18) ^ (w15 >> 3)) + words[(t - 7) & 15] +
                         (std::rotr(w2, 17) ^ std::rotr(w2, 19) ^ (w2 >> 10));
      }
      const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) +
                          kRound[t] + words[t & 15];
      const uint32_t t2 = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const uint32_t sums[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += sums[i];
  }

  uint32_t state_[8];
  uint8_t block_[kBlock];
  size_t pending_ = 0;   // bytes in block_, less than a block
  uint64_t length_ = 0;  // of the message so far, in bytes
};

}  // namespace

Digest sha256_portable(ByteView prefix, ByteView message) {
  Hasher hasher;
  hasher.update(prefix);
  hasher.update(message);
  return hasher.finish();
}

}  // namespace coterie
