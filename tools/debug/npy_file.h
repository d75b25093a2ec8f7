// A recorded tensor, or a slice of it, as a .npy file for NumPy
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include "base/bytes.h"
#include "tools/debug/element_slice.h"
#include "tools/debug/recorded_tensors.h"

namespace coterie {

// bfloat16, which NumPy does not have, as float32; the rest as it is.
Bytes npy_file(const NamedTensor& tensor, const ElementSlice& slice);

}  // namespace coterie
