// Zip archives (APPNOTE 6.3, zip64 included) as far as PyTorch and NumPy write them: members that are stored or
// deflated.
#pragma once

#include <string>
#include <vector>

#include "model_import/weights/weight_content.h"

namespace coterie::model_import {

struct ZipMember {
  std::string name;
  WeightContent content;
};

bool is_zip(ByteView file);

// The members, in the order of the central directory. Their bytes are looked at by read_content. Errors: malformed
// (sizes that contradict each other, members outside the file or over each other, two of one name, a compressed one
// that would be larger than deflate can make it), too_large (more than kWeightTensorsMax members), invalid_argument
// (encrypted, or compressed in another way: says what to do).
Result<std::vector<ZipMember>> read_zip(ByteView file);

}  // namespace coterie::model_import
