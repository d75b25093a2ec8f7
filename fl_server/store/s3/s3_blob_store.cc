#include "fl_server/store/s3/s3_blob_store.h"

#include "base/os/file.h"
#include "fl_server/store/s3/s3_blob_reader.h"
#include "fl_server/store/s3/s3_blob_writer.h"

namespace coterie {

Result<std::unique_ptr<S3BlobStore>> S3BlobStore::open_bucket(std::shared_ptr<s3::S3Client> client,
                                                              const std::string& prefix, const std::string& spool) {
  COT_TRY(os::make_directories(spool));
  COT_ASSIGN(const std::vector<std::string> unfinished, os::list_directory(spool));
  for (const std::string& name : unfinished) COT_TRY(os::remove_file(spool + "/" + name));
  const std::string whole = client->settings().prefix + prefix;
  if (const auto page = client->list(whole, {}); !page)
    return page.error().with_context("blobs in " + client->settings().endpoint);
  return std::unique_ptr<S3BlobStore>(new S3BlobStore(std::move(client), whole, spool));
}

Result<std::unique_ptr<BlobWriter>> S3BlobStore::create() { return s3::create_blob_writer(client_, prefix_, spool_); }

Result<std::shared_ptr<const BlobReader>> S3BlobStore::open(const Digest& digest) {
  return s3::open_blob_reader(client_, key_of(digest));
}

Status S3BlobStore::remove(const Digest& digest) { return client_->remove(key_of(digest)); }

// Its clock comes with every list; this one is short, as there is no such key.
Result<WallTime> S3BlobStore::now() {
  COT_ASSIGN(const s3::DatedPage dated, client_->list(prefix_ + "clock", {}));
  return dated.now;
}

Result<bool> S3BlobStore::remove_put_before(const Digest& digest, WallTime put_min) {
  const std::string key = key_of(digest);
  COT_ASSIGN(const s3::DatedPage dated, client_->list(key, {}));
  for (const s3::ListedObject& object : dated.page.objects) {
    if (object.key == key && object.modified >= put_min) return false;
  }
  COT_TRY(client_->remove(key));
  return true;
}

Result<std::vector<Digest>> S3BlobStore::list(Millis age_min) {
  std::vector<Digest> digests;
  std::string token;
  for (size_t pages = 0; pages < kListPagesMax; ++pages) {
    COT_ASSIGN(s3::DatedPage dated, client_->list(prefix_, token));
    for (const s3::ListedObject& object : dated.page.objects) {
      if (!object.key.starts_with(prefix_)) continue;
      const Result<Digest> digest = Digest::from_hex(std::string_view(object.key).substr(prefix_.size()));
      // Date has whole seconds: a blob may look up to one younger than it is.
      if (digest && (age_min <= Millis(0) || dated.now - object.modified >= age_min)) digests.push_back(*digest);
    }
    if (dated.page.next.empty()) return digests;
    token = std::move(dated.page.next);
  }
  return Error(ErrorCode::too_large,
               "S3: a list of " + prefix_ + " has more than " + std::to_string(kListPagesMax) + " pages");
}

Result<std::string> S3BlobStore::presign(const Digest& digest, Millis validity) const {
  const int64_t seconds = std::chrono::floor<std::chrono::seconds>(validity).count();
  if (seconds < 1 || seconds > s3::kPresignedSecondsMax) {
    return Error(ErrorCode::invalid_argument,
                 "a URL can be good for 1 second to 7 days, not for " + std::to_string(seconds) + " seconds");
  }
  return client_->presigned_get(key_of(digest), seconds);
}

}  // namespace coterie
