// Blobs in memory that can be damaged (what lies on a disk need not be what was written), with a clock that a test
// moves. Any thread, but for bytes_of.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>

#include "fl_server/store/blob_store.h"
#include "secure/crypto/digest.h"

namespace coterie::test {

class MemoryBlobStore : public BlobStore {
 public:
  Result<std::unique_ptr<BlobWriter>> create() override { return std::unique_ptr<BlobWriter>(new Writer(*this)); }
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return Error(ErrorCode::not_found, "no such blob: " + digest.hex());
    return std::shared_ptr<const BlobReader>(new Reader(found->second.bytes));
  }
  Status remove(const Digest& digest) override {
    const std::lock_guard lock(mutex_);
    blobs_.erase(digest);
    return {};
  }
  Result<WallTime> now() override {
    const std::lock_guard lock(mutex_);
    return WallTime(now_);
  }
  Result<bool> remove_put_before(const Digest& digest, WallTime put_min) override {
    const std::lock_guard lock(mutex_);
    const auto found = blobs_.find(digest);
    if (found != blobs_.end() && WallTime(found->second.put) >= put_min) return false;
    blobs_.erase(digest);
    return true;
  }
  Result<std::vector<Digest>> list(Millis age_min) override {
    const std::lock_guard lock(mutex_);
    std::vector<Digest> digests;
    for (const auto& [digest, blob] : blobs_) {
      if (now_ - blob.put >= age_min) digests.push_back(digest);
    }
    return digests;
  }

  void pass(Millis time) {
    const std::lock_guard lock(mutex_);
    now_ += time;
  }
  // The bytes under this name, to be changed at will.
  Bytes& bytes_of(const Digest& digest) { return blobs_.at(digest).bytes; }

 private:
  struct Blob {
    Bytes bytes;
    Millis put{0};
  };
  class Reader : public BlobReader {
   public:
    explicit Reader(Bytes bytes) : bytes_(std::move(bytes)) {}
    uint64_t size() const override { return bytes_.size(); }
    Status read_at(uint64_t offset, std::span<uint8_t> into) const override {
      if (offset > bytes_.size() || into.size() > bytes_.size() - offset) {
        return Error(ErrorCode::data_loss, "the blob is shorter than that");
      }
      std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(offset), into.size(), into.begin());
      return {};
    }

   private:
    Bytes bytes_;
  };
  class Writer : public BlobWriter {
   public:
    explicit Writer(MemoryBlobStore& store) : store_(store) {}
    Status append(ByteView bytes) override {
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      return {};
    }
    Result<Digest> finish() override {
      const Digest digest = content_digest(bytes_);
      const std::lock_guard lock(store_.mutex_);
      store_.blobs_[digest] = {std::move(bytes_), store_.now_};
      return digest;
    }

   private:
    MemoryBlobStore& store_;
    Bytes bytes_;
  };

  std::mutex mutex_;
  std::map<Digest, Blob> blobs_;
  Millis now_{0};
};

}  // namespace coterie::test
