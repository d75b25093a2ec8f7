// Which shapes a model takes, for whichever protocol they came by, and the strings of binary data. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

constexpr size_t kShapeRankMax = 16;  // dimensions of an input in a request

struct InferLimits {
  uint64_t rows_max = 1024;                 // examples of one request
  uint64_t example_elements_max = 1 << 28;  // of an input whose size the request chooses
};

// Takes the number of examples from the first dimension of `shape`, for `rows` that are 0 or those of the input before,
// and gives what one example has of it. invalid_argument (not the input's shape, no example, another number than
// before), too_large.
Result<Shape> take_rows(const TensorInterface& input, std::span<const uint64_t> shape, const InferLimits& limits,
                        uint64_t& rows);

// Strings of binary data, each behind its length (4 bytes, little-endian), of exactly these bytes. invalid_argument
// (more or fewer of them). Nothing is allocated before their lengths are known to fit.
Result<std::vector<std::string>> take_strings(ByteView bytes, uint64_t count);

// The same way back.
void append_strings(std::span<const std::string> texts, Bytes& bytes);

// Binary data of so many values to `values`. Precondition: it has their size, unless they are strings (take_strings).
Status take_binary_values(ProtocolType type, ByteView data, uint64_t count, TensorValues& values);

// A name as an error shows it: as JSON, cut where a character begins.
std::string shown_name(std::string_view name);
std::string shown_names(const std::vector<TensorInterface>& tensors);

}  // namespace coterie
