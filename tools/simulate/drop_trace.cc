#include "tools/simulate/drop_trace.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace coterie {
namespace {

std::optional<uint32_t> number_in(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Error wrong(ErrorCode code, size_t line, const std::string& what) {
  return Error(code, "line " + std::to_string(line) + ": " + what);
}

}  // namespace

Result<DropTrace> DropTrace::parse(std::string_view text, uint32_t devices) {
  DropTrace trace;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    std::string_view words = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.ends_with('\r')) words.remove_suffix(1);
    if (line == 1 && words == "device,round") continue;
    const size_t comma = words.find(',');
    const auto device = number_in(words.substr(0, comma));
    const auto round = comma == std::string_view::npos ? std::nullopt : number_in(words.substr(comma + 1));
    if (!device || !round) {
      return wrong(ErrorCode::malformed, line,
                   "expected device,round, is \"" + std::string(words.substr(0, 60)) + "\"");
    }
    if (*device < 1 || *device > devices) {
      return wrong(ErrorCode::invalid_argument, line,
                   "device " + std::to_string(*device) + " is not one of 1 to " + std::to_string(devices));
    }
    if (*round < 1) return wrong(ErrorCode::invalid_argument, line, "rounds are counted from 1");
    trace.lost_.push_back(uint64_t{*device - 1} << 32 | *round);
  }
  std::sort(trace.lost_.begin(), trace.lost_.end());
  const auto twice = std::adjacent_find(trace.lost_.begin(), trace.lost_.end());
  if (twice == trace.lost_.end()) return trace;
  return Error(ErrorCode::malformed, "device " + std::to_string((*twice >> 32) + 1) + " is lost twice in round " +
                                         std::to_string(*twice & UINT32_MAX));
}

bool DropTrace::drops(uint32_t device, uint64_t round) const {
  if (round > UINT32_MAX) return false;
  return std::binary_search(lost_.begin(), lost_.end(), uint64_t{device} << 32 | round);
}

}  // namespace coterie
