// Where the bytes of one tensor, or of one member of an archive, lie in a file, and how they are read.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace coterie::model_import {

// Views into the file: whoever has one keeps the file's bytes.
struct WeightContent {
  std::vector<ByteView> parts;         // they follow each other
  uint64_t plain_bytes = 0;            // when it is read; of what is not compressed also the sum of the parts
  bool is_deflated = false;            // RFC 1951; of one part
  std::optional<uint32_t> crc32 = {};  // of the plain bytes, as zip has it
};

// All of it: allocates plain_bytes. Errors: data_loss (the checksum is wrong), malformed (it does not inflate to
// plain_bytes). So compare plain_bytes with what is expected before: a small file may promise a large one.
Result<Bytes> read_content(const WeightContent& content);

// At most `bytes_max` of its beginning, the checksum not looked at.
Result<Bytes> read_beginning(const WeightContent& content, uint64_t bytes_max);

// CRC-32 as zip and MindSpore have it.
uint32_t crc32_of(ByteView bytes);

}  // namespace coterie::model_import
