// A file, read as a blob.
#pragma once

#include <string>

#include "base/os/file.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

class FileBlob final : public BlobReader {
 public:
  // `size`: the file's.
  FileBlob(os::File file, uint64_t size) : file_(std::move(file)), size_(size) {}

  uint64_t size() const override { return size_; }
  Status read_at(uint64_t offset, std::span<uint8_t> into) const override {
    if (offset > size_)
      return Error(ErrorCode::data_loss, file_.path() + " ends before byte " + std::to_string(offset));
    return file_.read_exact_at(offset, into);
  }

 private:
  os::File file_;
  uint64_t size_;
};

}  // namespace coterie
