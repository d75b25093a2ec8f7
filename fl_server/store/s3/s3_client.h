// One bucket of a store that speaks S3: objects, pages of lists, uploads in parts. Blocks; any thread.
//
// Every request is tried again where that can help (signed_sender.h). Errors: not_found; permission_denied:
// the key is unknown, wrong or may not; unavailable and timed_out: the last of all tries; storage_full;
// data_loss: what is there, or what arrived, is not what it should be; cancelled; malformed: an answer that
// no S3 store gives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "fl_server/store/s3/answers.h"
#include "fl_server/store/s3/signed_sender.h"

namespace coterie::s3 {

inline constexpr uint64_t kGetBytesMax = 64 << 20;  // of one get()
inline constexpr uint32_t kPartsMax = 10'000;       // S3: of one object
inline constexpr size_t kETagBytesMax = 256;

struct ObjectInfo {
  uint64_t size = 0;
  std::string etag;  // which bytes these are, in the store's own words; may be empty
};

struct Part {
  std::string etag;
  std::string checksum;  // SHA-256 in base64
};

struct DatedPage {
  ListPage page;
  WallTime now;  // when the store answered, by its clock
};

class S3Client {
 public:
  S3Client(S3Settings settings, Credentials credentials, std::function<WallTime()> wall_now)
      : sender_(std::move(settings), std::move(credentials), std::move(wall_now)) {}

  // The whole object. The store checks it against its SHA-256 before it answers.
  Status put(const std::string& key, ByteView body);
  Result<ObjectInfo> head(const std::string& key);
  // Exactly `count` bytes in [1, kGetBytesMax] from `offset`, of the object that has this etag; data_loss:
  // there are not so many, or the object is another now.
  Result<Bytes> get(const std::string& key, uint64_t offset, uint64_t count, const std::string& etag);
  Status remove(const std::string& key);  // absent is fine
  // Objects whose keys begin with `prefix`, from `token`: empty at first, then ListPage::next.
  Result<DatedPage> list(const std::string& prefix, const std::string& token);

  // An object in parts: begin, put parts 1, 2, ..., complete, or abort.
  Result<std::string> begin_upload(const std::string& key);
  Result<Part> put_part(const std::string& key, const std::string& upload, uint32_t number, ByteView body);
  // not_found: there is no such upload, perhaps as it was completed by an answer that was lost.
  Status complete_upload(const std::string& key, const std::string& upload, const std::vector<Part>& parts);
  Status abort_upload(const std::string& key, const std::string& upload);  // absent is fine

  std::string presigned_get(const std::string& key, int64_t seconds) const {
    return sender_.presigned_get(key, seconds);
  }
  void cancel() { sender_.cancel(); }
  const S3Settings& settings() const { return sender_.settings(); }

 private:
  SignedSender sender_;
};

}  // namespace coterie::s3
