#include "secure/crypto/xchacha20_poly1305.h"

#include <sodium.h>

#include <string>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

static_assert(kCipherNonceBytes == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kCipherTagBytes == crypto_aead_xchacha20poly1305_ietf_ABYTES);
static_assert(CipherKey::kSize == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

class XChaCha20Poly1305 : public AuthenticatedCipher {
 public:
  explicit XChaCha20Poly1305(CipherKey key) : key_(std::move(key)) { ensure_sodium(); }

  void fill_random(std::span<uint8_t> bytes) const override { coterie::fill_random(bytes); }

  void seal(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<uint8_t, kCipherTagBytes> tag) const override {
    uint8_t none = 0;  // an empty span may be at null, which libsodium does not take
    uint8_t* const in_place = text.empty() ? &none : text.data();
    const int failed = crypto_aead_xchacha20poly1305_ietf_encrypt_detached(in_place, tag.data(), nullptr, in_place,
                                                                           text.size(), context.data(), context.size(),
                                                                           nullptr, nonce.data(), key_.reveal().data());
    COT_ASSERT(failed == 0);  // it has no way to fail
  }

  bool open(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<const uint8_t, kCipherTagBytes> tag) const override {
    uint8_t none = 0;
    uint8_t* const in_place = text.empty() ? &none : text.data();
    return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(in_place, nullptr, in_place, text.size(), tag.data(),
                                                               context.data(), context.size(), nonce.data(),
                                                               key_.reveal().data()) == 0;
  }

 private:
  CipherKey key_;
};

}  // namespace

std::unique_ptr<AuthenticatedCipher> make_xchacha20_poly1305(CipherKey key) {
  return std::make_unique<XChaCha20Poly1305>(std::move(key));
}

void seal_xchacha20_poly1305(const CipherKey& key, AuthenticatedCipher::Nonce nonce, ByteView context, ByteView text,
                             std::span<uint8_t> sealed) {
  ensure_sodium();
  COT_ASSERT(sealed.size() >= kCipherTagBytes && sealed.size() - kCipherTagBytes == text.size());
  const int failed =
      crypto_aead_xchacha20poly1305_ietf_encrypt(sealed.data(), nullptr, text.data(), text.size(), context.data(),
                                                 context.size(), nullptr, nonce.data(), key.reveal().data());
  COT_ASSERT(failed == 0);  // it has no way to fail
}

Status open_xchacha20_poly1305(const CipherKey& key, AuthenticatedCipher::Nonce nonce, ByteView context,
                               ByteView sealed, std::span<uint8_t> text) {
  ensure_sodium();
  const bool fits = sealed.size() >= kCipherTagBytes && sealed.size() - kCipherTagBytes == text.size();
  if (fits && crypto_aead_xchacha20poly1305_ietf_decrypt(text.data(), nullptr, nullptr, sealed.data(), sealed.size(),
                                                         context.data(), context.size(), nonce.data(),
                                                         key.reveal().data()) == 0) {
    return {};
  }
  wipe(text);
  if (!fits) {
    return Error(ErrorCode::malformed, "a sealed message of " + std::to_string(sealed.size()) + " bytes, expected " +
                                           std::to_string(text.size() + kCipherTagBytes));
  }
  return Error(ErrorCode::malformed, "a sealed message does not open: it was changed, or is for somebody else");
}

}  // namespace coterie
