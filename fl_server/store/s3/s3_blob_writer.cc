#include "fl_server/store/s3/s3_blob_writer.h"

#include <algorithm>

#include "base/log.h"
#include "base/os/file.h"
#include "secure/crypto/digest.h"

namespace coterie::s3 {
namespace {

class SpoolingWriter : public BlobWriter {
 public:
  SpoolingWriter(std::shared_ptr<S3Client> client, std::string prefix, os::AtomicFile spooled)
      : client_(std::move(client)), prefix_(std::move(prefix)), spooled_(std::move(spooled)) {}

  Status append(ByteView bytes) override {
    digester_.update(bytes);
    Status written = spooled_.write(bytes);
    if (!written && written_) written_ = written;
    size_ += bytes.size();
    return written;
  }

  // Also where the object is there already: putting it again makes it young again (BlobStore::list).
  Result<Digest> finish() override {
    COT_TRY(written_);
    const Digest digest = digester_.finish();
    const std::string key = prefix_ + digest.hex();
    if (size_ > client_->settings().part_bytes) {
      COT_TRY(put_in_parts(key));
      return digest;
    }
    COT_ASSIGN(const Bytes whole, spooled(0, size_));
    COT_TRY(client_->put(key, whole));
    return digest;
  }

 private:
  Result<Bytes> spooled(uint64_t offset, uint64_t count) const {
    Bytes bytes(count);
    COT_TRY(spooled_.file().read_exact_at(offset, bytes));
    return bytes;
  }

  Status put_in_parts(const std::string& key) {
    COT_ASSIGN(const std::string upload, client_->begin_upload(key));
    const Status done = put_parts(key, upload);
    if (done) return {};
    if (const Status aborted = client_->abort_upload(key, upload); !aborted) {
      log(LogLevel::warning, "s3_upload_not_aborted", {{"key", key}, {"reason", aborted.error().message()}});
    }
    return done;
  }

  Status put_parts(const std::string& key, const std::string& upload) {
    const uint64_t part_bytes = std::max(client_->settings().part_bytes, (size_ + kPartsMax - 1) / kPartsMax);
    std::vector<Part> parts;
    for (uint64_t at = 0; at < size_; at += part_bytes) {
      COT_ASSIGN(const Bytes piece, spooled(at, std::min(part_bytes, size_ - at)));
      COT_ASSIGN(Part part, client_->put_part(key, upload, static_cast<uint32_t>(parts.size()) + 1, piece));
      parts.push_back(std::move(part));
    }
    const Status completed = client_->complete_upload(key, upload, parts);
    // No such upload: it was completed by a try whose answer was lost, or somebody has removed it. The object
    // says which.
    if (!completed && completed.error().code() != ErrorCode::not_found) return completed;
    const Result<ObjectInfo> info = client_->head(key);
    if (!info && info.error().code() == ErrorCode::not_found) {
      return Error(ErrorCode::unavailable, "S3: an upload in parts of " + key + " was lost before it was complete");
    }
    COT_TRY(info);
    if (info->size == size_) return {};
    return Error(ErrorCode::data_loss, "S3: " + key + " has " + std::to_string(info->size) + " bytes after " +
                                           std::to_string(size_) + " were put");
  }

  std::shared_ptr<S3Client> client_;
  std::string prefix_;
  os::AtomicFile spooled_;  // never committed
  Status written_;
  uint64_t size_ = 0;
  ContentDigester digester_;
};

}  // namespace

Result<std::unique_ptr<BlobWriter>> create_blob_writer(std::shared_ptr<S3Client> client, const std::string& prefix,
                                                       const std::string& spool) {
  COT_ASSIGN(os::AtomicFile file, os::AtomicFile::create(spool + "/blob"));
  return std::unique_ptr<BlobWriter>(std::make_unique<SpoolingWriter>(std::move(client), prefix, std::move(file)));
}

}  // namespace coterie::s3
