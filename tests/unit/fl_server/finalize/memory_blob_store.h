// Blobs in memory that can be damaged: what lies on a disk need not be what was written.
#pragma once

#include <algorithm>
#include <map>

#include "fl_server/store/blob_store.h"
#include "secure/crypto/digest.h"

namespace coterie::test {

class MemoryBlobStore : public BlobStore {
 public:
  Result<std::unique_ptr<BlobWriter>> create() override {
    return std::unique_ptr<BlobWriter>(new Writer(*this));
  }
  Result<std::shared_ptr<const BlobReader>> open(const Digest& digest) override {
    const auto found = blobs_.find(digest);
    if (found == blobs_.end()) return Error(ErrorCode::not_found, "no such blob");
    return std::shared_ptr<const BlobReader>(new Reader(found->second));
  }
  Status remove(const Digest& digest) override {
    blobs_.erase(digest);
    return {};
  }
  Result<std::vector<Digest>> list(Millis) override {
    std::vector<Digest> digests;
    for (const auto& [digest, bytes] : blobs_) digests.push_back(digest);
    return digests;
  }

  // The bytes under this name, to be changed at will.
  Bytes& bytes_of(const Digest& digest) { return blobs_.at(digest); }

 private:
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
      store_.blobs_[digest] = std::move(bytes_);
      return digest;
    }

   private:
    MemoryBlobStore& store_;
    Bytes bytes_;
  };

  std::map<Digest, Bytes> blobs_;
};

}  // namespace coterie::test
