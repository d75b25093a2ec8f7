// Private to s3_blob_store: a blob on its way into a bucket.
#pragma once

#include <memory>
#include <string>

#include "fl_server/store/blob_store.h"
#include "fl_server/store/s3/s3_client.h"

namespace coterie::s3 {

// Spools to a file in the directory `spool`; the file is gone with the writer, and after the death of the
// process counts for nothing.
Result<std::unique_ptr<BlobWriter>> create_blob_writer(std::shared_ptr<S3Client> client, const std::string& prefix,
                                                       const std::string& spool);

}  // namespace coterie::s3
