#include "tools/debug/element_slice.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace coterie {
namespace {

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "slice: " + what); }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(between);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// None: there is nothing. Numbers that no int64 holds are as far out as one can be.
Result<std::optional<int64_t>> number_in(std::string_view text) {
  if (text.empty()) return std::optional<int64_t>();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) {
    return bad("`" + std::string(text) + "` is no whole number");
  }
  // Far outside of every axis, and far inside of what can be added to.
  constexpr int64_t kFar = int64_t{1} << 60;
  if (error == std::errc::result_out_of_range) value = text.starts_with('-') ? -kFar : kFar;
  return std::optional(std::clamp(value, -kFar, kFar));
}

Result<AxisSlice> index_of(int64_t index, std::string_view text, size_t axis, int64_t size) {
  if (index < -size || index >= size) {
    return bad("index " + std::string(text) + " is out of range for axis " + std::to_string(axis) +
               ", which has the size " + std::to_string(size));
  }
  return AxisSlice{.start = index < 0 ? index + size : index, .is_dropped = true};
}

// Python's slice.indices().
Result<AxisSlice> range_of(const std::vector<std::string_view>& parts, int64_t size) {
  if (parts.size() > 3) return bad("a slice is start:stop:step");
  std::optional<int64_t> numbers[3];
  for (size_t i = 0; i < parts.size(); ++i) {
    COT_ASSIGN(numbers[i], number_in(parts[i]));
  }
  const int64_t step = numbers[2].value_or(1);
  if (step == 0) return bad("a step must not be 0");
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto place = [&](std::optional<int64_t> given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, low, high);
  };
  const int64_t start = place(numbers[0], step < 0 ? high : low), stop = place(numbers[1], step < 0 ? low : high);
  const int64_t length = step < 0 ? start - stop : stop - start, stride = step < 0 ? -step : step;
  AxisSlice axis{.start = start, .step = step};
  axis.count = length <= 0 ? 0 : static_cast<uint64_t>((length + stride - 1) / stride);
  if (axis.count <= 1) axis.step = 1;  // a huge one is never gone
  return axis;
}

}  // namespace

Shape ElementSlice::shape() const {
  Shape shape;
  for (const AxisSlice& axis : axes) {
    if (!axis.is_dropped) shape.push_back(static_cast<int64_t>(axis.count));
  }
  return shape;
}

uint64_t ElementSlice::count() const {
  uint64_t count = 1;
  for (const AxisSlice& axis : axes) count *= axis.count;
  return count;
}

Result<ElementSlice> parse_slice(std::string_view text, const Shape& shape) {
  std::vector<std::string_view> parts;
  if (!trimmed(text).empty()) parts = parts_of(text, ',');
  const auto dots = std::ranges::count(parts, "...");
  if (dots > 1) return bad("`...` may be there once");
  const size_t named = parts.size() - static_cast<size_t>(dots);
  if (named > shape.size()) {
    return bad("has " + std::to_string(named) + " axes, the tensor " + std::to_string(shape.size()));
  }
  if (dots == 0) parts.push_back("...");
  ElementSlice slice;
  for (const std::string_view part : parts) {
    if (part == "...") {
      for (size_t left = shape.size() - named; left > 0; --left) {
        slice.axes.push_back({.count = static_cast<uint64_t>(shape[slice.axes.size()])});
      }
      continue;
    }
    const size_t axis = slice.axes.size();
    const std::vector<std::string_view> numbers = parts_of(part, ':');
    if (numbers.size() > 1) {
      COT_ASSIGN(const AxisSlice range, range_of(numbers, shape[axis]));
      slice.axes.push_back(range);
      continue;
    }
    COT_ASSIGN(const std::optional<int64_t> index, number_in(part));
    if (!index) return bad("axis " + std::to_string(axis) + " is empty");
    COT_ASSIGN(const AxisSlice chosen, index_of(*index, part, axis, shape[axis]));
    slice.axes.push_back(chosen);
  }
  return slice;
}

}  // namespace coterie
