// The server's blobs, wherever its configuration says.
#pragma once

#include <memory>

#include "fl_server/app/data_directory.h"
#include "fl_server/config/server_config.h"
#include "fl_server/store/blob_store.h"

namespace coterie {

namespace s3 {
class S3Client;
}

struct BlobStores {
  std::shared_ptr<s3::S3Client> s3;  // null: in a directory
  std::unique_ptr<BlobStore> blobs;  // models, plans, data sets
  std::unique_ptr<BlobStore> partials;
};

// With S3 it asks the bucket, so that a wrong name or key is known before the server listens.
Result<BlobStores> open_blob_stores(const ServerConfig& config, const DataDirectory& data);

// From its construction to its destruction: when `patience` is over before that, what the client is asking
// for is cancelled, so that whoever waits for it goes on.
class StoreTimeLimit {
 public:
  StoreTimeLimit(std::shared_ptr<s3::S3Client> client, Millis patience);  // a null client: nothing to cancel
  ~StoreTimeLimit();
  StoreTimeLimit(const StoreTimeLimit&) = delete;
  StoreTimeLimit& operator=(const StoreTimeLimit&) = delete;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace coterie
