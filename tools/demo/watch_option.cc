#include "tools/demo/watch_option.h"

#include <algorithm>
#include <string>

#include "device_sdk/runtime/parse_number.h"

namespace coterie {

Result<WatchSettings> parse_watch_option(std::string_view text) {
  constexpr std::string_view kEvery = "every=";
  WatchSettings watch;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word(text.substr(at, comma - at));
    at = comma + 1;
    if (!word.starts_with(kEvery)) watch.checks.push_back(word);
    else if (!parse_number(word.substr(kEvery.size()), watch.every))
      return Error(ErrorCode::invalid_argument, word + ": every is a whole number");
  }
  if (!watch.checks.empty() && std::ranges::find(watch.checks, "") == watch.checks.end()) return watch;
  return Error(ErrorCode::invalid_argument, "must be `recommended`, or names of checks with commas between");
}

}  // namespace coterie
