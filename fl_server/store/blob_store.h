// BlobStore: immutable bytes named by their content digest. Put, then reference; nothing is ever overwritten.
//
// Thread-safe, but for a writer, which is one thread's. A writer that is destroyed before finish() leaves nothing.
// finish() returns after the bytes are durable. A reader of a blob that is removed may go on or fail.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual uint64_t size() const = 0;
  // Exactly into.size() bytes from `offset`; data_loss if the blob is shorter.
  virtual Status read_at(uint64_t offset, std::span<uint8_t> into) const = 0;
};

class BlobWriter {
 public:
  virtual ~BlobWriter() = default;
  virtual Status append(ByteView bytes) = 0;
  virtual Result<Digest> finish() = 0;
};

class BlobStore {
 public:
  virtual ~BlobStore() = default;
  virtual Result<std::unique_ptr<BlobWriter>> create() = 0;
  virtual Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) = 0;  // not_found
  virtual Status remove(const Digest& digest) = 0;                                   // absent is fine
  // The store's own clock, which the two below go by.
  virtual Result<WallTime> now() = 0;
  // Removes it unless it was put at `put_min` or later. True: it is not there any more. A put of the same bytes at the
  // same time either counts (false), or writes them anew; in S3, which cannot look and remove in one step, one that
  // ends between two requests of this call is lost.
  virtual Result<bool> remove_put_before(const Digest& digest, WallTime put_min) = 0;
  // What was put at least so long ago; 0: everything, without asking that clock. Putting the
  // same bytes again counts as putting them now. In no order.
  virtual Result<std::vector<Digest>> list(Millis age_min) = 0;

  Result<Digest> put(ByteView bytes) {
    COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, create());
    COT_TRY(writer->append(bytes));
    return writer->finish();
  }
  // The whole blob, at most bytes_max of it.
  Result<Bytes> get(const Digest& digest, uint64_t bytes_max) {
    COT_ASSIGN(const std::shared_ptr<const BlobReader> reader, open(digest));
    if (reader->size() > bytes_max) return Error(ErrorCode::too_large, "blob " + digest.hex() + " is too large");
    Bytes bytes(reader->size());
    COT_TRY(reader->read_at(0, bytes));
    return bytes;
  }
};

}  // namespace coterie
