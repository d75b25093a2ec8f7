#include "secure/crypto/stream_cipher.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "secure/crypto/openssl_handles.h"

namespace coterie {
namespace {

// Small enough that the zeros are still in the first cache when they are encrypted.
constexpr size_t kPieceBytes = 8192;
constexpr size_t kIvBytes = 16;
constexpr size_t kBlockBytesMax = 64;

size_t block_bytes(CipherSuite suite) { return suite == CipherSuite::aes256_ctr ? 16 : 64; }

// The initial state that makes the cipher begin with this block.
std::array<uint8_t, kIvBytes> iv_of(CipherSuite suite, uint64_t block) {
  std::array<uint8_t, kIvBytes> iv{};
  if (suite == CipherSuite::aes256_ctr) {
    for (size_t i = 0; i < 8; ++i) iv[kIvBytes - 1 - i] = static_cast<uint8_t>(block >> 8 * i);
  } else {
    for (size_t i = 0; i < 4; ++i) iv[i] = static_cast<uint8_t>(block >> 8 * i);  // then 12 bytes of nonce
  }
  return iv;
}

// Looked up once a process: that is slow.
const EVP_CIPHER* cipher_of(CipherSuite suite) {
  static const EvpCipher aes(EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr));
  static const EvpCipher chacha(EVP_CIPHER_fetch(nullptr, "ChaCha20", nullptr));
  switch (suite) {
    case CipherSuite::aes256_ctr: return aes.get();
    case CipherSuite::chacha20: return chacha.get();
  }
  return nullptr;
}

EVP_CIPHER_CTX* make_context(CipherSuite suite) {
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  COT_ASSERT(context != nullptr && EVP_EncryptInit_ex(context, cipher_of(suite), nullptr, nullptr, nullptr) == 1);
  return context;
}

// This thread's context of the suite.
EVP_CIPHER_CTX* context_of(CipherSuite suite) {
  if (suite == CipherSuite::aes256_ctr) {
    thread_local const EvpCipherContext aes(make_context(suite));
    return aes.get();
  }
  thread_local const EvpCipherContext chacha(make_context(suite));
  return chacha.get();
}

void encrypt(EVP_CIPHER_CTX* context, std::span<uint8_t> text) {
  int written = 0;
  COT_ASSERT(EVP_EncryptUpdate(context, text.data(), &written, text.data(), static_cast<int>(text.size())) == 1 &&
             static_cast<size_t>(written) == text.size());
}

}  // namespace

Result<KeyStream> KeyStream::make(CipherSuite suite, const Secret<32>& key) {
  if (cipher_of(suite) == nullptr) {
    return Error(ErrorCode::invalid_argument, "libcrypto has no cipher for suite " +
                                                  std::to_string(static_cast<int>(suite)) +
                                                  "; known are 1 (AES-256-CTR) and 2 (ChaCha20)");
  }
  return KeyStream(suite, key);
}

void KeyStream::write(uint64_t offset, std::span<uint8_t> out) const {
  COT_ASSERT(offset <= kKeyStreamBytesMax && out.size() <= kKeyStreamBytesMax - offset);
  EVP_CIPHER_CTX* const context = context_of(suite_);
  const size_t block = block_bytes(suite_);
  const auto iv = iv_of(suite_, offset / block);
  COT_ASSERT(EVP_EncryptInit_ex(context, nullptr, nullptr, key_.reveal().data(), iv.data()) == 1);
  if (const size_t skipped = offset % block; skipped != 0) {
    uint8_t before[kBlockBytesMax];
    encrypt(context, std::span(before).first(skipped));
    wipe(before);
  }
  while (!out.empty()) {
    const std::span<uint8_t> piece = out.first(std::min(out.size(), kPieceBytes));
    std::memset(piece.data(), 0, piece.size());
    encrypt(context, piece);
    out = out.subspan(piece.size());
  }
  // The round keys would stay in the context until the thread's next call.
  static constexpr uint8_t kNoKey[32] = {};
  COT_ASSERT(EVP_EncryptInit_ex(context, nullptr, nullptr, kNoKey, iv.data()) == 1);
}

}  // namespace coterie
