#include "fl_server/store/s3/s3_blob_reader.h"

#include <algorithm>
#include <mutex>

#include "fl_server/store/s3/s3_blob_store.h"

namespace coterie::s3 {
namespace {

class RangedReader : public BlobReader {
 public:
  RangedReader(std::shared_ptr<S3Client> client, std::string key, ObjectInfo info)
      : client_(std::move(client)), key_(std::move(key)), info_(std::move(info)) {}

  uint64_t size() const override { return info_.size; }

  Status read_at(uint64_t offset, std::span<uint8_t> into) const override {
    if (offset > info_.size || into.size() > info_.size - offset) {
      return Error(ErrorCode::data_loss, key_ + " has " + std::to_string(info_.size) + " bytes, up to " +
                                             std::to_string(offset) + " + " + std::to_string(into.size()) +
                                             " were asked for");
    }
    const std::lock_guard lock(mutex_);
    while (!into.empty()) {
      if (offset < block_begins_ || offset >= block_begins_ + block_.size()) COT_TRY(load(offset));
      const uint64_t skipped = offset - block_begins_;
      const size_t count = std::min<size_t>(into.size(), block_.size() - skipped);
      std::copy_n(block_.begin() + static_cast<ptrdiff_t>(skipped), count, into.begin());
      into = into.subspan(count);
      offset += count;
    }
    return {};
  }

 private:
  Status load(uint64_t offset) const {
    COT_ASSIGN(block_, client_->get(key_, offset, std::min(kReadAheadBytes, info_.size - offset), info_.etag));
    block_begins_ = offset;
    return {};
  }

  std::shared_ptr<S3Client> client_;
  std::string key_;
  ObjectInfo info_;
  mutable std::mutex mutex_;
  mutable uint64_t block_begins_ = 0;
  mutable Bytes block_;
};

}  // namespace

Result<std::shared_ptr<const BlobReader>> open_blob_reader(std::shared_ptr<S3Client> client, const std::string& key) {
  COT_ASSIGN(ObjectInfo info, client->head(key));
  return std::shared_ptr<const BlobReader>(std::make_shared<RangedReader>(std::move(client), key, std::move(info)));
}

}  // namespace coterie::s3
