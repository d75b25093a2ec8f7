// Key streams of an SDK without OpenSSL: AES-256 by aes256_sliced.h, ChaCha20 by libsodium.
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "secure/crypto/aes256_sliced.h"
#include "secure/crypto/sodium.h"
#include "secure/crypto/stream_cipher.h"

namespace coterie {
namespace {

constexpr size_t kChaChaBlockBytes = 64;

// From the middle of a block, then whole blocks: `fill(block, piece)` writes whole blocks from a block's number on.
template <size_t kBlockBytes, typename Fill>
void write_blocks(uint64_t offset, std::span<uint8_t> out, const Fill& fill) {
  uint64_t block = offset / kBlockBytes;
  if (const size_t skipped = offset % kBlockBytes; skipped != 0 && !out.empty()) {
    std::array<uint8_t, kBlockBytes> first;
    fill(block++, std::span<uint8_t>(first));
    const size_t taken = std::min(out.size(), kBlockBytes - skipped);
    std::memcpy(out.data(), first.data() + skipped, taken);
    wipe(first);
    out = out.subspan(taken);
  }
  const size_t whole = out.size() / kBlockBytes * kBlockBytes;
  if (whole > 0) fill(block, out.first(whole));
  if (out.size() > whole) {
    std::array<uint8_t, kBlockBytes> last;
    fill(block + whole / kBlockBytes, std::span<uint8_t>(last));
    std::memcpy(out.data() + whole, last.data(), out.size() - whole);
    wipe(last);
  }
}

void write_aes256(const Secret<32>& key, uint64_t offset, std::span<uint8_t> out) {
  Aes256Sliced cipher(key.reveal());
  // Four blocks a call, so a piece begins at one whose number is a multiple of four.
  write_blocks<Aes256Sliced::kBatchBytes>(offset, out, [&cipher](uint64_t batch, std::span<uint8_t> piece) {
    uint64_t block = batch * Aes256Sliced::kBatchBlocks;
    for (; !piece.empty(); piece = piece.subspan(Aes256Sliced::kBatchBytes)) {
      cipher.key_stream(block, piece.first<Aes256Sliced::kBatchBytes>());
      block += Aes256Sliced::kBatchBlocks;
    }
  });
}

void write_chacha20(const Secret<32>& key, uint64_t offset, std::span<uint8_t> out) {
  static constexpr uint8_t kNonce[crypto_stream_chacha20_ietf_NONCEBYTES] = {};
  write_blocks<kChaChaBlockBytes>(offset, out, [&key](uint64_t block, std::span<uint8_t> piece) {
    std::memset(piece.data(), 0, piece.size());
    COT_ASSERT(crypto_stream_chacha20_ietf_xor_ic(piece.data(), piece.data(), piece.size(), kNonce,
                                                  static_cast<uint32_t>(block), key.reveal().data()) == 0);
  });
}

}  // namespace

Result<KeyStream> KeyStream::make(CipherSuite suite, const Secret<32>& key) {
  if (suite != CipherSuite::aes256_ctr && suite != CipherSuite::chacha20) {
    return Error(ErrorCode::invalid_argument, "there is no cipher for suite " +
                                                  std::to_string(static_cast<int>(suite)) +
                                                  "; known are 1 (AES-256-CTR) and 2 (ChaCha20)");
  }
  return KeyStream(suite, key);
}

void KeyStream::write(uint64_t offset, std::span<uint8_t> out) const {
  COT_ASSERT(offset <= kKeyStreamBytesMax && out.size() <= kKeyStreamBytesMax - offset);
  if (suite_ == CipherSuite::aes256_ctr) return write_aes256(key_, offset, out);
  write_chacha20(key_, offset, out);
}

}  // namespace coterie
