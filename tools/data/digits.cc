#include "tools/data/digits.h"

#include <charconv>
#include <string>

#include "tools/data/digits_bytes.h"
#include "tools/data/unpack.h"

namespace coterie {
namespace {

constexpr int64_t kSide = 8;
constexpr size_t kPixels = kSide * kSide;
constexpr unsigned kWhite = 16;
constexpr unsigned kClasses = 10;
constexpr uint64_t kCsvBytesMax = 1 << 20;

Error at_line(size_t line, const std::string& what) {
  return Error(ErrorCode::malformed, "line " + std::to_string(line) + " " + what);
}

// The numbers of one line, each in [0, 99].
Status parse_line(std::string_view text, size_t line, std::vector<unsigned>& numbers) {
  numbers.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    unsigned number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number > 99) return at_line(line, "holds something that is not a small number");
    numbers.push_back(number);
    if (next == end) break;
    if (*next != ',') return at_line(line, "does not separate its numbers with commas");
    at = next + 1;
  }
  if (numbers.size() == kPixels + 1) return {};
  return at_line(line, "has " + std::to_string(numbers.size()) + " numbers, expected 65");
}

}  // namespace

Result<LabelledImages> parse_digits(std::string_view csv) {
  LabelledImages digits;
  digits.name = "digits";
  digits.shape = {kSide, kSide, 1};
  digits.classes = kClasses;
  digits.white = kWhite;
  std::vector<unsigned> numbers;
  for (size_t line = 1; !csv.empty(); ++line) {
    const size_t end = csv.find('\n');
    std::string_view text = csv.substr(0, end);
    csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    COT_TRY(parse_line(text, line, numbers));
    for (size_t i = 0; i < kPixels; ++i) {
      if (numbers[i] > kWhite)
        return at_line(line, "has a pixel of " + std::to_string(numbers[i]) + ", at most 16 is white");
      digits.pixels.push_back(static_cast<uint8_t>(numbers[i]));
    }
    if (numbers[kPixels] >= kClasses)
      return at_line(line, "has label " + std::to_string(numbers[kPixels]) + ", expected a digit");
    digits.labels.push_back(static_cast<int32_t>(numbers[kPixels]));
  }
  if (digits.labels.empty()) return Error(ErrorCode::malformed, "holds no digits");
  return digits;
}

LabelledImages built_in_digits() {
  const Result<Bytes> csv = unpack(kDigitsBytes, kCsvBytesMax);
  return parse_digits(as_text(csv.value())).value();
}

}  // namespace coterie
