// AES-256 in plain C++ without tables, so that its time says nothing of the key: four blocks at a time, bit by bit in
// eight words (Kaesper and Schwabe 2009). For machines without AES instructions, in an SDK without OpenSSL (ADR 124).
// Private to secure/crypto: others use stream_cipher.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace coterie {

// Not thread-safe to construct or end; key_stream is. Its round keys are wiped at its end.
class Aes256Sliced {
 public:
  static constexpr size_t kBatchBlocks = 4;
  static constexpr size_t kBatchBytes = kBatchBlocks * 16;

  explicit Aes256Sliced(std::span<const uint8_t, 32> key);
  ~Aes256Sliced();
  Aes256Sliced(const Aes256Sliced&) = delete;
  Aes256Sliced& operator=(const Aes256Sliced&) = delete;

  // AES(key, i as 128 bits, big-endian) for four numbers i from `block` on.
  void key_stream(uint64_t block, std::span<uint8_t, kBatchBytes> out) const;

 private:
  static constexpr size_t kRounds = 14;
  // Plane b has bit b of each byte of the four blocks: bit 16 k + i is of byte i of block k.
  using Planes = std::array<uint64_t, 8>;
  friend struct Aes256Steps;

  std::array<Planes, kRounds + 1> round_keys_;
};

}  // namespace coterie
