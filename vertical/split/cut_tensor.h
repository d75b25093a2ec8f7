// CutTensor: a batch's numbers where the network is cut, row by row, as they lie in a message. All little-endian.
//
//   float32  rows * width floats
//   int8     for each column its least and largest value (two floats), then rows * width bytes: level q stands for
//            least + q / 255 * (largest - least)
//   bit1     likewise with levels 0 and 1; a row's bits fill whole bytes
//
// A value between two levels goes to either at random, so that its mean is the value (stochastic rounding): an error
// of less than a level that does not add up over a training.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

// Bytes of the tensor, and of a message with it: the step's number in front.
size_t cut_tensor_bytes(size_t rows, size_t width, CutEncoding encoding);
constexpr size_t kStepNumberBytes = 4;
inline size_t cut_message_bytes(size_t rows, size_t width, CutEncoding encoding) {
  return kStepNumberBytes + cut_tensor_bytes(rows, width, encoding);
}

// `values`: rows * width, finite. `random`: as many words, uniform; of float32 none is used.
Bytes write_cut_tensor(std::span<const float> values, size_t width, CutEncoding encoding,
                       std::span<const uint64_t> random);

// rows * width finite floats, or `malformed`: another size, a value or a range that is not finite, a least value above
// its largest, a bit behind a row's last.
Result<std::vector<float>> read_cut_tensor(ByteView bytes, size_t rows, size_t width, CutEncoding encoding);

}  // namespace coterie::vertical
