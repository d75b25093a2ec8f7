#include "secure/crypto/aes256_sliced.h"

#include <cstring>

#include "base/bytes.h"
#include "secure/crypto/secret.h"

namespace coterie {

// FIPS 197's steps on planes.
struct Aes256Steps {
  using Planes = Aes256Sliced::Planes;

  static Planes sliced(std::span<const uint8_t, 64> bytes) {
    Planes planes{};
    for (size_t eight = 0; eight < 8; ++eight) {
      const uint64_t word = transposed(bytes.data() + 8 * eight);
      for (size_t bit = 0; bit < 8; ++bit) planes[bit] |= (word >> (8 * bit) & 0xff) << (8 * eight);
    }
    return planes;
  }
  static void unsliced(const Planes& planes, std::span<uint8_t, 64> bytes) {
    for (size_t eight = 0; eight < 8; ++eight) {
      uint8_t rows[8];
      for (size_t bit = 0; bit < 8; ++bit) rows[bit] = static_cast<uint8_t>(planes[bit] >> (8 * eight));
      const uint64_t word = transposed(rows);
      for (size_t i = 0; i < 8; ++i) bytes[8 * eight + i] = static_cast<uint8_t>(word >> (8 * i));
    }
  }

  // Boyar and Peralta 2012, a depth-16 circuit for the AES S-box: 32 ands and 83 exclusive ors and their complements.
  static void substitute(Planes& q) {
    const uint64_t x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];
    const uint64_t y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, t0 = x1 ^ x2, y1 = t0 ^ x7, y4 = y1 ^ x3;
    const uint64_t y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, t1 = x4 ^ y12, y15 = t1 ^ x5;
    const uint64_t y20 = t1 ^ x1, y6 = y15 ^ x7, y10 = y15 ^ t0, y11 = y20 ^ y9, y7 = x7 ^ y11, y17 = y10 ^ y11;
    const uint64_t y19 = y10 ^ y8, y16 = t0 ^ y11, y21 = y13 ^ y16, y18 = x0 ^ y16;
    const uint64_t t2 = y12 & y15, t4 = (y3 & y6) ^ t2, t6 = (y4 & x7) ^ t2, t7 = y13 & y16, t9 = (y5 & y1) ^ t7;
    const uint64_t t11 = (y2 & y7) ^ t7, t12 = y9 & y11, t14 = (y14 & y17) ^ t12, t16 = (y8 & y10) ^ t12;
    const uint64_t t21 = t4 ^ t14 ^ y20, t22 = t6 ^ t16 ^ y19, t23 = t9 ^ t14 ^ y21, t24 = t11 ^ t16 ^ y18;
    const uint64_t t25 = t21 ^ t22, t26 = t21 & t23, t27 = t24 ^ t26, t29 = (t25 & t27) ^ t22, t30 = t23 ^ t24;
    const uint64_t t31 = t22 ^ t26, t33 = (t31 & t30) ^ t24, t34 = t23 ^ t33, t35 = t27 ^ t33, t36 = t24 & t35;
    const uint64_t t37 = t36 ^ t34, t38 = t27 ^ t36, t39 = t29 & t38, t40 = t25 ^ t39, t41 = t40 ^ t37;
    const uint64_t t42 = t29 ^ t33, t43 = t29 ^ t40, t44 = t33 ^ t37, t45 = t42 ^ t41;
    const uint64_t z0 = t44 & y15, z1 = t37 & y6, z2 = t33 & x7, z3 = t43 & y16, z4 = t40 & y1, z5 = t29 & y7;
    const uint64_t z6 = t42 & y11, z7 = t45 & y17, z8 = t41 & y10, z9 = t44 & y12, z10 = t37 & y3, z11 = t33 & y4;
    const uint64_t z12 = t43 & y13, z13 = t40 & y5, z14 = t29 & y2, z15 = t42 & y9, z16 = t45 & y14, z17 = t41 & y8;
    const uint64_t t46 = z15 ^ z16, t47 = z10 ^ z11, t48 = z5 ^ z13, t49 = z9 ^ z10, t50 = z2 ^ z12, t51 = z2 ^ z5;
    const uint64_t t52 = z7 ^ z8, t53 = z0 ^ z3, t54 = z6 ^ z7, t55 = z16 ^ z17, t56 = z12 ^ t48, t57 = t50 ^ t53;
    const uint64_t t58 = z4 ^ t46, t59 = z3 ^ t54, t60 = t46 ^ t57, t61 = z14 ^ t57, t62 = t52 ^ t58, t63 = t49 ^ t58;
    const uint64_t t64 = z4 ^ t59, t65 = t61 ^ t62, t66 = z1 ^ t63, t67 = t64 ^ t65, s3 = t53 ^ t66;
    q[7] = t59 ^ t63;
    q[6] = t64 ^ ~s3;
    q[5] = t55 ^ ~t67;
    q[4] = s3;
    q[3] = t51 ^ t66;
    q[2] = t47 ^ t65;
    q[1] = t56 ^ ~t62;
    q[0] = t48 ^ ~t60;
  }

  // Byte 4 c + r comes from column c + r: of each block's 16 bits, those of row r turn by 4 r.
  static void shift_rows(Planes& planes) {
    for (uint64_t& plane : planes) {
      plane = (plane & kRow) | turned(plane & kRow << 1, 4, kLow12) | turned(plane & kRow << 2, 8, kLow8) |
              turned(plane & kRow << 3, 12, kLow4);
    }
  }

  static void mix_columns(Planes& planes) {
    Planes sums, rest;
    for (size_t bit = 0; bit < 8; ++bit) {
      const uint64_t a = planes[bit], next = next_row(a), second = next_row(next);
      sums[bit] = a ^ next;
      rest[bit] = next ^ second ^ next_row(second);
    }
    // Times x: a shift, and the polynomial 0x1b where the highest bit was.
    const uint64_t high = sums[7];
    planes[0] = high ^ rest[0];
    planes[1] = sums[0] ^ high ^ rest[1];
    planes[2] = sums[1] ^ rest[2];
    planes[3] = sums[2] ^ high ^ rest[3];
    planes[4] = sums[3] ^ high ^ rest[4];
    for (size_t bit = 5; bit < 8; ++bit) planes[bit] = sums[bit - 1] ^ rest[bit];
  }

  static void add(Planes& planes, const Planes& key) {
    for (size_t bit = 0; bit < 8; ++bit) planes[bit] ^= key[bit];
  }

  static void substitute_word(std::span<uint8_t, 4> word) {
    std::array<uint8_t, 64> bytes{};
    std::memcpy(bytes.data(), word.data(), word.size());
    Planes planes = sliced(bytes);
    substitute(planes);
    unsliced(planes, bytes);
    std::memcpy(word.data(), bytes.data(), word.size());
    wipe(bytes);
  }

 private:
  static constexpr uint64_t kRow = 0x1111111111111111;
  static constexpr uint64_t kLow12 = 0x0fff0fff0fff0fff, kLow8 = 0x00ff00ff00ff00ff, kLow4 = 0x000f000f000f000f;

  static uint64_t turned(uint64_t row, int bits, uint64_t low) {
    return (row >> bits & low) | (row << (16 - bits) & ~low);
  }

  // Row r of each column becomes row r + 1's byte.
  static uint64_t next_row(uint64_t plane) { return (plane >> 1 & kRow * 7) | ((plane & kRow) << 3); }

  // Bit b of byte i becomes bit i of byte b (Warren, Hacker's Delight, section 7-3).
  static uint64_t transposed(const uint8_t* bytes) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    const auto swap = [&word](uint64_t mask, int distance) {
      const uint64_t differ = (word ^ word >> distance) & mask;
      word ^= differ ^ differ << distance;
    };
    swap(0x00aa00aa00aa00aa, 7);
    swap(0x0000cccc0000cccc, 14);
    swap(0x00000000f0f0f0f0, 28);
    return word;
  }
};

// FIPS 197, section 5.2, with Nk = 8.
Aes256Sliced::Aes256Sliced(std::span<const uint8_t, 32> key) {
  std::array<uint8_t, 16 * (kRounds + 1)> words;
  std::memcpy(words.data(), key.data(), key.size());
  uint8_t round_constant = 1;
  for (size_t word = 8; word < 4 * (kRounds + 1); ++word) {
    std::array<uint8_t, 4> turned;
    std::memcpy(turned.data(), words.data() + 4 * (word - 1), 4);
    if (word % 8 == 0) {
      turned = {turned[1], turned[2], turned[3], turned[0]};
      Aes256Steps::substitute_word(turned);
      turned[0] ^= round_constant;
      round_constant = static_cast<uint8_t>(round_constant << 1);
    } else if (word % 8 == 4) {
      Aes256Steps::substitute_word(turned);
    }
    for (size_t i = 0; i < 4; ++i) words[4 * word + i] = words[4 * (word - 8) + i] ^ turned[i];
  }
  std::array<uint8_t, kBatchBytes> four;
  for (size_t round = 0; round <= kRounds; ++round) {
    for (size_t block = 0; block < kBatchBlocks; ++block) {
      std::memcpy(four.data() + 16 * block, words.data() + 16 * round, 16);
    }
    round_keys_[round] = Aes256Steps::sliced(four);
  }
  wipe(words);
  wipe(four);
}

Aes256Sliced::~Aes256Sliced() {
  wipe(std::span<uint8_t>(reinterpret_cast<uint8_t*>(round_keys_.data()), sizeof round_keys_));
}

void Aes256Sliced::key_stream(uint64_t block, std::span<uint8_t, kBatchBytes> out) const {
  std::memset(out.data(), 0, out.size());
  for (size_t k = 0; k < kBatchBlocks; ++k) {
    for (size_t i = 0; i < 8; ++i) out[16 * k + 15 - i] = static_cast<uint8_t>((block + k) >> 8 * i);
  }
  Planes state = Aes256Steps::sliced(out);
  Aes256Steps::add(state, round_keys_[0]);
  for (size_t round = 1; round <= kRounds; ++round) {
    Aes256Steps::substitute(state);
    Aes256Steps::shift_rows(state);
    if (round < kRounds) Aes256Steps::mix_columns(state);
    Aes256Steps::add(state, round_keys_[round]);
  }
  Aes256Steps::unsliced(state, out);
}

}  // namespace coterie
