#include "fl_server/serving/infer_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/json/json_scanner.h"

namespace coterie {
namespace {

constexpr size_t kNameBytesShown = 64;
constexpr size_t kStringLengthBytes = 4;

static_assert(std::endian::native == std::endian::little, "lengths are copied as they are");

Error wrong(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

template <typename T>
void copy_values(ByteView data, std::vector<T>& values) {
  values.resize(data.size() / sizeof(T));
  if (!data.empty()) std::memcpy(values.data(), data.data(), data.size());
}

}  // namespace

Result<Shape> take_rows(const TensorInterface& input, std::span<const uint64_t> shape, const InferLimits& limits,
                        uint64_t& rows) {
  const auto fits_size = [](int64_t wanted, uint64_t seen) {
    return wanted == kAnySize ? seen > 0 : static_cast<uint64_t>(wanted) == seen;
  };
  const bool fits = shape.size() == input.shape.size() + 1 &&
                    std::equal(input.shape.begin(), input.shape.end(), shape.begin() + 1, fits_size);
  if (!fits || shape[0] == 0) {
    std::string seen;
    for (const uint64_t size : shape) seen += (seen.empty() ? "" : ",") + std::to_string(size);
    return wrong("shape is [" + seen + "], the model takes " + protocol_shape(input.shape) + ", at least one example");
  }
  if (shape[0] > limits.rows_max) {
    return Error(ErrorCode::too_large, "it has " + std::to_string(shape[0]) + " examples, a request at most " +
                                           std::to_string(limits.rows_max) + ": send several");
  }
  if (rows != 0 && rows != shape[0]) {
    return wrong("it has " + std::to_string(shape[0]) + " examples, the input before " + std::to_string(rows));
  }
  if (input.elements > 0 || std::ranges::find(input.shape, kAnySize) == input.shape.end()) {
    rows = shape[0];
    return input.shape;
  }
  Shape example;
  uint64_t elements = 1;
  for (const uint64_t size : shape.subspan(1)) {
    if (size > limits.example_elements_max / elements) {
      return Error(ErrorCode::too_large, "an example has more than " + std::to_string(limits.example_elements_max) +
                                             " elements: send a smaller one");
    }
    elements *= size;
    example.push_back(static_cast<int64_t>(size));
  }
  rows = shape[0];
  return example;
}

Result<std::vector<std::string>> take_strings(ByteView bytes, uint64_t count) {
  std::vector<std::string> texts;
  // The lengths pay for the memory of the strings.
  if (bytes.size() / kStringLengthBytes < count) {
    return wrong("its binary data has " + std::to_string(bytes.size()) + " bytes, fewer than the lengths of its " +
                 std::to_string(count) + " strings");
  }
  texts.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (bytes.size() >= kStringLengthBytes) std::memcpy(&length, bytes.data(), kStringLengthBytes);
    if (bytes.size() < kStringLengthBytes || bytes.size() - kStringLengthBytes < length) {
      return wrong("its binary data ends within string " + std::to_string(i + 1) + " of " + std::to_string(count) +
                   " (each is behind its length: 4 bytes, little-endian)");
    }
    texts.emplace_back(as_text(bytes.subspan(kStringLengthBytes, length)));
    bytes = bytes.subspan(kStringLengthBytes + length);
  }
  if (!bytes.empty()) {
    return wrong("its binary data has " + std::to_string(bytes.size()) + " bytes behind its " + std::to_string(count) +
                 " strings");
  }
  return texts;
}

Status take_binary_values(ProtocolType type, ByteView data, uint64_t count, TensorValues& values) {
  switch (type) {
    case ProtocolType::float32:
    case ProtocolType::int32: copy_values(data, values.words); break;
    case ProtocolType::float64: copy_values(data, values.doubles); break;
    case ProtocolType::uint8: copy_values(data, values.pixels); break;
    case ProtocolType::bytes: {
      COT_ASSIGN(values.texts, take_strings(data, count));
      break;
    }
  }
  return {};
}

void append_strings(std::span<const std::string> texts, Bytes& bytes) {
  for (const std::string& text : texts) {
    const auto length = static_cast<uint32_t>(text.size());
    const auto* const head = reinterpret_cast<const uint8_t*>(&length);
    bytes.insert(bytes.end(), head, head + kStringLengthBytes);
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
}

std::string shown_name(std::string_view name) {
  size_t bytes = std::min(name.size(), kNameBytesShown);
  while (bytes < name.size() && bytes > 0 && (static_cast<uint8_t>(name[bytes]) & 0xc0) == 0x80) --bytes;
  std::string text;
  append_json_string(text, name.substr(0, bytes));
  return text;
}

std::string shown_names(const std::vector<TensorInterface>& tensors) {
  std::string names;
  for (const TensorInterface& tensor : tensors) names += (names.empty() ? "" : ", ") + shown_name(tensor.name);
  return names;
}

}  // namespace coterie
