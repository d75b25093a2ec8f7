// A model or a data set that a tenant has uploaded: what its quota counts. The bytes are a blob.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/time.h"

namespace coterie {

struct UploadRecord {
  std::string tenant;
  Digest digest;
  uint64_t bytes = 0;
  WallTime put;  // the last time; before the blob was
};

}  // namespace coterie
