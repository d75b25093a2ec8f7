// Blobs as objects of one bucket: <prefix><hex digest>. When one was put, and the clock, are the store's own.
//
// A writer spools to a local file, as the name is known at the end alone, and puts that: in one request, or
// in parts if it has more than S3Settings::part_bytes. finish() returns when the store has answered that it
// has all of it, checked against the SHA-256 of each request. Memory: one part a finish() under way,
// kReadAheadBytes a reader.
//
// Digests of blobs are checked by whoever reads them, as with files. What a dead process left: spooled files
// are removed when the store is opened; uploads in parts that were not completed stay in the bucket until its
// lifecycle rule removes them.
#pragma once

#include <memory>
#include <string>

#include "fl_server/store/blob_store.h"
#include "fl_server/store/s3/s3_client.h"

namespace coterie {

inline constexpr uint64_t kReadAheadBytes = 1 << 20;
inline constexpr size_t kListPagesMax = 10'000;  // of a thousand blobs

class S3BlobStore : public BlobStore {
 public:
  // Lists the bucket once, so that a wrong name or key is known now. Several stores, and servers, may share a
  // bucket; each store has a prefix (empty, or ending with /) after the settings' own, and each store object
  // a `spool` of its own.
  static Result<std::unique_ptr<S3BlobStore>> open_bucket(std::shared_ptr<s3::S3Client> client,
                                                          const std::string& prefix, const std::string& spool);

  Result<std::unique_ptr<BlobWriter>> create() override;
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override;
  Status remove(const Digest& digest) override;
  Result<WallTime> now() override;
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override;
  Result<std::vector<Digest>> list(Millis age_min) override;

  // A URL by which anybody may get the blob, if there is one, for `validity` from now: 1 second to 7 days.
  Result<std::string> presign(const Digest& digest, Millis validity) const;

 private:
  S3BlobStore(std::shared_ptr<s3::S3Client> client, std::string prefix, std::string spool)
      : client_(std::move(client)), prefix_(std::move(prefix)), spool_(std::move(spool)) {}
  std::string key_of(const Digest& digest) const { return prefix_ + digest.hex(); }

  std::shared_ptr<s3::S3Client> client_;
  std::string prefix_;
  std::string spool_;
};

}  // namespace coterie
