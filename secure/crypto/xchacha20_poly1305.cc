#include "secure/crypto/xchacha20_poly1305.h"

#include <sodium.h>

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
    const int failed = crypto_aead_xchacha20poly1305_ietf_encrypt_detached(
        text.data(), tag.data(), nullptr, text.data(), text.size(), context.data(), context.size(), nullptr,
        nonce.data(), key_.reveal().data());
    COT_ASSERT(failed == 0);  // it has no way to fail
  }

  bool open(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<const uint8_t, kCipherTagBytes> tag) const override {
    return crypto_aead_xchacha20poly1305_ietf_decrypt_detached(text.data(), nullptr, text.data(), text.size(),
                                                               tag.data(), context.data(), context.size(),
                                                               nonce.data(), key_.reveal().data()) == 0;
  }

 private:
  CipherKey key_;
};

}  // namespace

std::unique_ptr<AuthenticatedCipher> make_xchacha20_poly1305(CipherKey key) {
  return std::make_unique<XChaCha20Poly1305>(std::move(key));
}

}  // namespace coterie
