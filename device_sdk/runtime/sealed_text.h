// A text that is encrypted piece by piece, so that writing it takes the memory of one piece.
//
//   64 bytes: "COTSEAL", version (1), the digest of what the text belongs to, 16 random bytes, the text's
//   size (uint64) of each 64 KiB of text, the last piece shorter: the piece encrypted, then its tag
//
// Numbers are little-endian. A piece's nonce is the random bytes, fresh for each text, and the piece's number
// (uint64); its context is the head. So no piece can be changed, moved, taken from another text or, as the
// head has the size, left out (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, CRYPTO
// 2015, with the size for its last-piece mark).
#pragma once

#include <functional>

#include "base/result.h"
#include "secure/crypto/cipher.h"

namespace coterie {

class Sealer {
 public:
  using Sink = std::function<Status(ByteView)>;

  // `cipher` and what `sink` refers to outlive it.
  Sealer(const AuthenticatedCipher& cipher, const Digest& subject, uint64_t text_bytes, Sink sink);

  // Preconditions: `text_bytes`, not 0, in all when finish() is called. Errors are the sink's.
  Status write(ByteView text);
  Status finish();

 private:
  Status write_piece();

  const AuthenticatedCipher& cipher_;
  Sink sink_;
  uint64_t left_;
  uint64_t pieces_ = 0;
  Bytes head_;
  Bytes piece_;  // not yet written
};

// How many bytes a Sealer makes of so many.
uint64_t sealed_bytes(uint64_t text_bytes);

// Whether these bytes begin as a sealed text of any version does.
bool is_sealed(ByteView bytes);

// The text in `sealed`, decrypted where it was. Errors: malformed (not a sealed text, or another size than
// its head says), unsupported_version, conflict (of another subject), permission_denied (this is not the key,
// or somebody without the key wrote it).
Result<Bytes> open_sealed(Bytes sealed, const AuthenticatedCipher& cipher, const Digest& subject);

}  // namespace coterie
