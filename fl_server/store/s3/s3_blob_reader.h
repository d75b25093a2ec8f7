// Private to s3_blob_store: a blob in a bucket, read range by range.
#pragma once

#include <memory>
#include <string>

#include "fl_server/store/blob_store.h"
#include "fl_server/store/s3/s3_client.h"

namespace coterie::s3 {

// Asks for its size. Small reads are served from a block of kReadAheadBytes that is kept; a removed object
// fails to be read.
Result<std::shared_ptr<const BlobReader>> open_blob_reader(std::shared_ptr<S3Client> client, const std::string& key);

}  // namespace coterie::s3
