// The S3 backend of the blob stores' conformance suite, and of its own tests: small parts, short pages.
#pragma once

#include <memory>
#include <string>

#include "fl_server/store/s3/s3_blob_store.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/fl_server/store/s3/client_world.h"

namespace coterie::test {

inline constexpr uint64_t kSmallPart = 64 << 10;

class S3Blobs {
 public:
  static constexpr const char* kName = "S3";
  S3Blobs() {
    double_.set(R"({"part_bytes_min": 65536, "page_max": 3})");
    reopen();
  }
  BlobStore& store() { return *store_; }
  S3BlobStore& s3() { return *store_; }
  S3Double& service() { return double_; }
  s3::S3Client& client() { return *client_; }
  std::string spool() const { return spool_ / "spool"; }

  void reopen() {
    S3Settings settings = double_.settings();
    settings.prefix = "test/";
    settings.part_bytes = kSmallPart;
    client_ = client_of(double_, settings);
    store_.reset();
    auto opened = S3BlobStore::open_bucket(client_, "blobs/", spool());
    EXPECT_OK(opened);
    if (opened) store_ = std::move(*opened);
  }
  void grow_older(Millis time) { double_.set("{\"age_s\": " + std::to_string(time.count() / 1000) + "}"); }

 private:
  S3Double double_;
  TemporaryDirectory spool_{memory_disk()};
  std::shared_ptr<s3::S3Client> client_;
  std::unique_ptr<S3BlobStore> store_;
};

}  // namespace coterie::test
