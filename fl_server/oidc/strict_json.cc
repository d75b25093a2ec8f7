#include "fl_server/oidc/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace coterie {

std::optional<nlohmann::json> parse_strict_object(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  if (text.find('\0') != std::string_view::npos) return std::nullopt;  // the parser would take it for the text's end
  bool refused = false;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, Event event, nlohmann::json& parsed) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kOidcJsonDepthMax) refused = true;
    if (refused) return false;
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event == Event::key) refused = !keys.back().insert(parsed.get_ref<const std::string&>()).second;
    return !refused;
  };
  nlohmann::json json = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  if (refused || json.is_discarded() || !json.is_object()) return std::nullopt;
  return json;
}

const std::string* string_under(const nlohmann::json& object, std::string_view key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : found->get_ptr<const std::string*>();
}

}  // namespace coterie
