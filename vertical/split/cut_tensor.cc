#include "vertical/split/cut_tensor.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/assert.h"

namespace coterie::vertical {
namespace {

constexpr size_t kRangeBytes = 2 * sizeof(float);

size_t row_bytes(size_t width, CutEncoding encoding) {
  switch (encoding) {
    case CutEncoding::float32: return width * sizeof(float);
    case CutEncoding::int8: return width;
    case CutEncoding::bit1: return (width + 7) / 8;
  }
  return 0;
}

uint32_t top_level(CutEncoding encoding) { return encoding == CutEncoding::int8 ? 255 : 1; }

struct Range {
  float least = 0, largest = 0;

  float value(uint32_t level, uint32_t top) const {
    // The ends are met exactly.
    if (level == 0) return least;
    if (level == top) return largest;
    const double share = static_cast<double>(level) / top;
    return static_cast<float>(double{least} + share * (double{largest} - double{least}));
  }
  uint32_t level(float value, uint32_t top, uint64_t random) const {
    if (largest <= least) return 0;
    const double place = (double{value} - double{least}) / (double{largest} - double{least}) * top;
    const double floor = std::floor(place);
    const bool is_up = static_cast<double>(random >> 11) * 0x1.0p-53 < place - floor;
    return std::min(static_cast<uint32_t>(floor) + (is_up ? 1 : 0), top);
  }
};

Error wrong(const std::string& what) { return Error(ErrorCode::malformed, "split: " + what); }

}  // namespace

size_t cut_tensor_bytes(size_t rows, size_t width, CutEncoding encoding) {
  return (encoding == CutEncoding::float32 ? 0 : width * kRangeBytes) + rows * row_bytes(width, encoding);
}

Bytes write_cut_tensor(std::span<const float> values, size_t width, CutEncoding encoding,
                       std::span<const uint64_t> random) {
  WireWriter writer;
  const size_t rows = values.size() / width;
  writer.reserve(cut_tensor_bytes(rows, width, encoding));
  if (encoding == CutEncoding::float32) {
    for (const float value : values) writer.f32(value);
    return writer.take();
  }
  COT_ASSERT(random.size() == values.size());
  std::vector<Range> ranges(width, {values[0], values[0]});
  for (size_t column = 0; column < width; ++column) {
    Range& range = ranges[column] = {values[column], values[column]};
    for (size_t i = column; i < values.size(); i += width) {
      range.least = std::min(range.least, values[i]);
      range.largest = std::max(range.largest, values[i]);
    }
    writer.f32(range.least);
    writer.f32(range.largest);
  }
  const uint32_t top = top_level(encoding);
  for (size_t row = 0; row < rows; ++row) {
    uint8_t bits = 0;
    for (size_t column = 0; column < width; ++column) {
      const size_t i = row * width + column;
      const uint32_t level = ranges[column].level(values[i], top, random[i]);
      if (encoding == CutEncoding::int8) {
        writer.u8(static_cast<uint8_t>(level));
        continue;
      }
      bits = static_cast<uint8_t>(bits | level << (column % 8));
      if (column % 8 == 7 || column + 1 == width) writer.u8(std::exchange(bits, uint8_t{0}));
    }
  }
  return writer.take();
}

Result<std::vector<float>> read_cut_tensor(ByteView bytes, size_t rows, size_t width, CutEncoding encoding) {
  if (const size_t expected = cut_tensor_bytes(rows, width, encoding); bytes.size() != expected) {
    return wrong(std::to_string(bytes.size()) + " bytes of " + std::to_string(rows) + " rows, expected " +
                 std::to_string(expected));
  }
  WireReader reader(bytes);
  std::vector<float> values(rows * width);
  if (encoding == CutEncoding::float32) {
    for (float& value : values) {
      value = reader.f32();
      if (!std::isfinite(value)) return wrong("a number at the cut is not finite");
    }
    return values;
  }
  std::vector<Range> ranges(width);
  for (Range& range : ranges) {
    range.least = reader.f32();
    range.largest = reader.f32();
    if (!std::isfinite(range.least) || !std::isfinite(range.largest) || range.least > range.largest) {
      return wrong("a column's range at the cut is none");
    }
  }
  const uint32_t top = top_level(encoding);
  for (size_t row = 0; row < rows; ++row) {
    const ByteView packed = reader.raw(row_bytes(width, encoding));
    if (encoding == CutEncoding::bit1 && width % 8 != 0 && packed.back() >> (width % 8) != 0) {
      return wrong("row " + std::to_string(row) + " has bits behind its last number");
    }
    for (size_t column = 0; column < width; ++column) {
      const uint32_t level = encoding == CutEncoding::int8 ? packed[column] : packed[column / 8] >> (column % 8) & 1u;
      values[row * width + column] = ranges[column].value(level, top);
    }
  }
  return values;
}

}  // namespace coterie::vertical
