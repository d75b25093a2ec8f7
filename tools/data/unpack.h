// Packed files, unpacked piece by piece: gzip (RFC 1952) and Zstandard (RFC 8878). Their first bytes tell them,
// whatever a file is called.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie {

enum class Packing : uint8_t { none, gzip, zstd };

constexpr size_t kPackingBytes = 4;        // of a file's begin that tell
Packing packing_of(ByteView file_begins);  // shorter files are not packed

// Takes the pieces of one file in their order. Not thread-safe.
class Unpacker {
 public:
  // Precondition: it is packed. internal: the library does not start.
  static Result<std::unique_ptr<Unpacker>> make(Packing packing, uint64_t bytes_max);
  virtual ~Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  // Errors: malformed, which says behind which byte of the packed file; too_large (more than `bytes_max` unpacked,
  // found out before more than twice that much is allocated). Nothing may follow an error.
  Status add(ByteView piece);
  // All that was packed: of several members, or frames, one behind the other. malformed if the last one lacks its end.
  Result<Bytes> finish();

 protected:
  Unpacker(const char* format, uint64_t bytes_max) : format_(format), bytes_max_(bytes_max) {}

  struct Step {
    size_t read = 0, written = 0;
    bool is_at_end = false;        // of a member
    const char* damage = nullptr;  // what is wrong with these bytes
  };
  // Unpacks a part of `packed` into `room`, as much as either has. What follows an end begins another member.
  virtual Step step(ByteView packed, std::span<uint8_t> room) = 0;

 private:
  Error damaged(const std::string& what) const;

  const char* format_;
  uint64_t bytes_max_;
  uint64_t read_ = 0;  // of the packed file
  bool is_at_end_ = false;
  Bytes room_;  // of a step
  Bytes unpacked_;
};

// A file that is in memory; its bytes themselves if it is not packed. Errors: as above.
Result<Bytes> unpack(ByteView file, uint64_t bytes_max);

}  // namespace coterie
