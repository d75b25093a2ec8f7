// Where spans may be sent.
#pragma once

#include <string>

namespace coterie {

// https, or http to 127.0.0.1, [::1] or localhost: requests in the clear are for this machine (ADR 88).
inline bool is_collector_url(const std::string& url) {
  if (url.starts_with("https://")) return url.size() > 8;
  for (const char* const host : {"http://127.0.0.1", "http://[::1]", "http://localhost"}) {
    if (!url.starts_with(host)) continue;
    // "http://localhost.example" is another host, and so is what stands behind an @.
    const std::string rest = url.substr(std::string(host).size());
    return (rest.starts_with(":") || rest.starts_with("/")) && rest.find('@') == std::string::npos;
  }
  return false;
}

}  // namespace coterie
