#include "tools/console/run_query.h"

#include <charconv>

#include "tools/cli/table.h"

namespace coterie {

Result<uint64_t> run_query_number(const std::string& key, const std::string& text, uint64_t min, uint64_t max) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end && number >= min && number <= max) return number;
  return Error(ErrorCode::invalid_argument, "?" + key + " must be from " + std::to_string(min) + " to " +
                                                std::to_string(max) + ", not " + printable(text));
}

}  // namespace coterie
