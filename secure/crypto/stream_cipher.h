// KeyStream: the bytes that a stream cipher makes of a key, from any offset. Masks are sums of these.
//
// AES-256 in counter mode (NIST SP 800-38A section 6.5): block i of 16 bytes is AES(key, i as 128 bits,
// big-endian). ChaCha20 (RFC 8439 section 2.4): block i of 64 bytes has block counter i and a nonce of zeros.
// There is no nonce, so a key must serve for one stream alone: derive it (hkdf.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "proto/messages/cipher_suite.h"
#include "secure/crypto/secret.h"

namespace coterie {

// Every stream ends here: 2^32 blocks of AES, as few as keep its blocks, which are all different, from being
// told from random bytes.
inline constexpr uint64_t kKeyStreamBytesMax = uint64_t{1} << 36;

// Thread-safe: each thread has a cipher context of its own, keyed and wiped by each call (some 0.2 us), so call
// it for kilobytes. Nothing is allocated but by a thread's first call.
class KeyStream {
 public:
  // An error if there is no cipher for the suite.
  static Result<KeyStream> make(CipherSuite suite, const Secret<32>& key);

  // Fills `out` with the stream's bytes from `offset` on. offset + out.size() is at most kKeyStreamBytesMax.
  void write(uint64_t offset, std::span<uint8_t> out) const;

  CipherSuite suite() const { return suite_; }

 private:
  KeyStream(CipherSuite suite, const Secret<32>& key) : suite_(suite), key_(key.reveal()) {}

  CipherSuite suite_;
  Secret<32> key_;
};

}  // namespace coterie
