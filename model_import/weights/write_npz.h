// Arrays as NumPy's .npz: what numpy.savez writes, a zip archive of .npy files (version 1.0), stored as they are. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/model.h"

namespace coterie::model_import {

struct NpzArray {
  std::string name;  // UTF-8
  DataType type = DataType::float32;
  Shape shape;
  std::vector<float> words;  // the elements in order; of an int32 array the same bytes seen as float
};

// The same bytes for the same arrays, whatever the time is. Errors: invalid_argument (two of one name, one that is
// empty or longer than read_npz takes), too_large (4 GiB or more, or more than 65,534 arrays: an archive says no more
// without zip64).
Result<Bytes> write_npz(const std::vector<NpzArray>& arrays);

}  // namespace coterie::model_import
