// content_digest: the name of every immutable blob (models, plans, partial sums, data sets) and the checksum of files.
//
// It is the Merkle Tree Hash of RFC 9162 section 2.1.1 with SHA-256 over the blob cut into leaves of 4096 bytes (the
// last one may be shorter): SHA-256(0x00 || leaf), SHA-256(0x01 || left || right); an empty blob is SHA-256(""). A tree
// rather than one long hash, because its leaves can be hashed side by side (a CPU without SHA instructions does
// 0.3 GB/s on one stream, which is slower than TLS) and because a range of a blob can be proven alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace coterie {

inline constexpr size_t kDigestLeafBytes = 4096;

Digest content_digest(ByteView blob);

// The same digest of bytes that arrive piece by piece. Not thread-safe.
class ContentDigester {
 public:
  void update(ByteView bytes);
  // The digest of everything so far; the digester must not be used afterwards.
  Digest finish();

 private:
  struct Subtree {
    Digest root;
    uint64_t leaves;  // a power of two
  };
  void push_batches(ByteView whole_batches);
  void push(Subtree subtree);

  std::vector<Subtree> stack_;  // finished subtrees, sizes strictly falling
  Bytes pending_;               // less than one batch of leaves
};

// Device ids are the first 16 bytes of the digest of the public key.
DeviceId device_id_of(ByteView public_key);

}  // namespace coterie
