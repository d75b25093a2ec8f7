// JSON pointers: how problems name a place in a document (RFC 6901).
#pragma once

#include <string>
#include <string_view>

namespace coterie {

// A key as one step of a pointer (section 3).
inline std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') step += "~0";
    else if (c == '/') step += "~1";
    else step += c;
  }
  return step;
}

}  // namespace coterie
