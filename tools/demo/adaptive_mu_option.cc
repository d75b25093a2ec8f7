#include "tools/demo/adaptive_mu_option.h"

#include <algorithm>
#include <string>

#include "device_sdk/runtime/parse_number.h"

namespace coterie {
namespace {

Status read_setting(const std::string& word, AdaptiveMuSettings& settings) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals), number = equals == word.npos ? "" : word.substr(equals + 1);
  if (name == "step" && parse_number(number, settings.step)) return {};
  if (name == "falls" && parse_number(number, settings.falls)) return {};
  if (name == "max" && parse_number(number, settings.max)) return {};
  return Error(ErrorCode::invalid_argument, word + " is none of step=X, falls=N and max=X");
}

}  // namespace

Result<AdaptiveMuSettings> parse_adaptive_mu(std::string_view text) {
  AdaptiveMuSettings settings;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    COT_TRY(read_setting(std::string(text.substr(at, comma - at)), settings));
    at = comma + 1;
  }
  return settings;
}

}  // namespace coterie
