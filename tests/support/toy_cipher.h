// A cipher of the content digest alone, for tests of code that is handed one where no cryptography is linked.
// Not secret in earnest, but as strict: any other key, nonce, context, text or tag opens nothing.
#pragma once

#include <algorithm>
#include <string>

#include "base/random.h"
#include "secure/crypto/cipher.h"
#include "secure/crypto/digest.h"

namespace coterie::test {

class ToyCipher : public AuthenticatedCipher {
 public:
  explicit ToyCipher(std::string key) : key_(std::move(key)) {}

  void fill_random(std::span<uint8_t> bytes) const override {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_.next());
  }

  void seal(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<uint8_t, kCipherTagBytes> tag) const override {
    mask(nonce, text);
    const Digest made = vouch(nonce, context, text);
    std::copy_n(made.bytes.begin(), tag.size(), tag.begin());
  }

  bool open(Nonce nonce, ByteView context, std::span<uint8_t> text,
            std::span<const uint8_t, kCipherTagBytes> tag) const override {
    const Digest made = vouch(nonce, context, text);
    mask(nonce, text);
    return std::equal(tag.begin(), tag.end(), made.bytes.begin());
  }

 private:
  Digest vouch(Nonce nonce, ByteView context, ByteView text) const {
    ContentDigester digester;
    for (const ByteView part : {as_bytes(key_), ByteView(nonce), context, text}) {
      digester.update(content_digest(part).view());
    }
    return digester.finish();
  }

  void mask(Nonce nonce, std::span<uint8_t> text) const {
    const Digest stream = vouch(nonce, {}, {});
    for (size_t i = 0; i < text.size(); ++i) text[i] ^= stream.bytes[i % stream.bytes.size()];
  }

  std::string key_;
  mutable Prng random_{7};
};

}  // namespace coterie::test
