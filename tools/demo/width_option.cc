#include "tools/demo/width_option.h"

#include <algorithm>
#include <optional>
#include <string>

#include "device_sdk/runtime/parse_number.h"
#include "proto/messages/width_share.h"

namespace coterie {

Result<std::vector<uint32_t>> parse_widths(std::string_view text) {
  std::vector<uint32_t> widths;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word(text.substr(at, comma - at));
    double share = 0;
    const std::optional<uint32_t> width = parse_number(word, share) ? width_of(share) : std::nullopt;
    if (!width) {
      return Error(ErrorCode::invalid_argument,
                   "must be numbers in (0, 1] with commas between, such as 1,0.5,0.25; \"" + word + "\" is none");
    }
    widths.push_back(*width);
    at = comma + 1;
  }
  return widths;
}

}  // namespace coterie
