// What the conformance suite of blob stores runs on. A backend's blobs outlive its store objects.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "fl_server/store/directory_blob_store.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

class MemoryBlobs {
 public:
  static constexpr const char* kName = "Memory";
  BlobStore& store() { return store_; }
  void reopen() {}
  // As if everything that is there had been put so much earlier.
  void grow_older(Millis time) { store_.pass(time); }

 private:
  MemoryBlobStore store_;
};

class DirectoryBlobs {
 public:
  static constexpr const char* kName = "Directory";
  DirectoryBlobs() { reopen(); }
  BlobStore& store() { return *store_; }
  void reopen() {
    store_.reset();
    auto opened = DirectoryBlobStore::open_directory(root());
    EXPECT_OK(opened);
    if (opened) store_ = std::move(*opened);
  }
  void grow_older(Millis time) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root())) {
      if (entry.is_regular_file()) std::filesystem::last_write_time(entry, entry.last_write_time() - time);
    }
  }

 private:
  std::string root() const { return directory_ / "blobs"; }
  TemporaryDirectory directory_{memory_disk()};
  std::unique_ptr<DirectoryBlobStore> store_;
};

struct BlobBackendNames {
  template <typename Backend>
  static std::string GetName(int) {
    return Backend::kName;
  }
};

}  // namespace coterie::test
