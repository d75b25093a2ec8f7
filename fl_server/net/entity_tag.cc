#include "fl_server/net/entity_tag.h"

#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

constexpr size_t kTagHexChars = 32;
constexpr std::string_view kWeak = "W/";

// One list for both: elements are separated by commas and blanks; what is no tag ends the list.
bool has_tag(std::string_view list, std::string_view tag, bool weakly) {
  if (list == "*") return true;
  while (!list.empty()) {
    list.remove_prefix(std::min(list.find_first_not_of(", \t"), list.size()));
    const bool is_weak = list.starts_with(kWeak);
    if (is_weak) list.remove_prefix(kWeak.size());
    if (!list.starts_with('"')) return false;
    const size_t close = list.find('"', 1);
    if (close == std::string_view::npos) return false;
    if (list.substr(0, close + 1) == tag && (weakly || !is_weak)) return true;
    list.remove_prefix(close + 1);
  }
  return false;
}

}  // namespace

std::string entity_tag(ByteView body) { return "\"" + sha256(body).hex().substr(0, kTagHexChars) + "\""; }

bool if_match(std::string_view header, std::string_view tag) { return has_tag(header, tag, false); }

bool if_none_match(std::string_view header, std::string_view tag) { return has_tag(header, tag, true); }

HttpResponse with_entity_tag(const RequestHead& head, HttpResponse response) {
  const std::string tag = entity_tag(response.body);
  response.headers.emplace_back("ETag", tag);
  const bool reads = head.method == "GET" || head.method == "HEAD";
  if (reads && response.status == 200 && if_none_match(head.header("if-none-match"), tag)) {
    response.status = 304;
    response.body.clear();
  }
  return response;
}

}  // namespace coterie
