#include "tools/cli/byte_count.h"

#include <charconv>
#include <string>

namespace coterie {
namespace {

constexpr double kBytesMax = 1ull << 50;

// The factor that the letters behind a number stand for; 0 if nothing does.
double factor_of(std::string_view unit) {
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() || unit == "B") return 1;
  const size_t place = std::string_view("KMG").find(unit[0]);
  unit.remove_prefix(1);
  if (place == std::string_view::npos || !(unit.empty() || unit == "B" || unit == "iB")) return 0;
  return static_cast<double>(1ull << (10 * (place + 1)));
}

}  // namespace

Result<uint64_t> parse_byte_count(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const double bytes = error == std::errc() ? number * factor_of({stopped, static_cast<size_t>(end - stopped)}) : 0;
  if (bytes >= 1 && bytes < kBytesMax) return static_cast<uint64_t>(bytes);
  return Error(ErrorCode::invalid_argument,
               "must be an amount of memory such as 64M, 512K or 1.5G, is " + std::string(text));
}

}  // namespace coterie
