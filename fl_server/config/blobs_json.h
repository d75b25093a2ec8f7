// Where blobs are, as a configuration file says: the block `blobs`.
#pragma once

#include <optional>
#include <string>

#include "fl_server/json/json_reader.h"
#include "fl_server/settings/s3_settings.h"

namespace coterie {

struct BlobsConfig {
  std::optional<S3Settings> s3;    // none: in a directory
  std::string access_key_id_file;  // of s3; both are read once, when the server starts
  std::string secret_key_file;
};

// Everything wrong with form or values goes to the reader's problems.
BlobsConfig read_blobs(JsonReader reader);

}  // namespace coterie
