#include "fl_server/settings/s3_settings.h"

#include <algorithm>
#include <string_view>

namespace coterie {
namespace {

constexpr std::string_view kScheme = "https://";

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// A name or an IPv4 address, and perhaps a port: in lower case, as the Host header that is signed has it.
bool is_endpoint(std::string_view url) {
  if (!url.starts_with(kScheme) || url.size() > kS3TextBytesMax) return false;
  url.remove_prefix(kScheme.size());
  const size_t colon = url.find(':');
  const std::string_view host = url.substr(0, colon);
  const auto is_host_char = [](char c) { return is_lower_or_digit(c) || c == '.' || c == '-'; };
  if (host.empty() || !std::ranges::all_of(host, is_host_char) || !is_lower_or_digit(host.front()) ||
      !is_lower_or_digit(host.back())) {
    return false;
  }
  if (colon == std::string_view::npos) return true;
  const std::string_view port = url.substr(colon + 1);
  const bool has_digits = !port.empty() && port.size() <= 5 && port.front() != '0' &&
                          std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return has_digits && std::stoul(std::string(port)) <= 65'535 && port != "443";
}

// Amazon S3 User Guide, "General purpose bucket naming rules".
bool is_bucket(std::string_view name) {
  const auto is_bucket_char = [](char c) { return is_lower_or_digit(c) || c == '.' || c == '-'; };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, is_bucket_char) &&
         is_lower_or_digit(name.front()) && is_lower_or_digit(name.back()) && name.find("..") == std::string_view::npos;
}

// A prefix has only characters that mean nothing in a URL, in XML or to a file system.
bool is_prefix(std::string_view prefix) {
  if (prefix.empty()) return true;
  const auto is_plain = [](char c) {
    return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return prefix.size() <= kS3PrefixBytesMax && std::ranges::all_of(prefix, is_plain) && prefix.front() != '/' &&
         prefix.back() == '/' && ("/" + std::string(prefix)).find("/../") == std::string::npos &&
         ("/" + std::string(prefix)).find("/./") == std::string::npos && prefix.find("//") == std::string_view::npos;
}

bool is_region(std::string_view region) {
  return !region.empty() && region.size() <= 64 &&
         std::ranges::all_of(region, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

}  // namespace

Problems validate(const S3Settings& settings) {
  Problems problems;
  if (!is_endpoint(settings.endpoint)) {
    problems.push_back({"/endpoint", "must be https://HOST or https://HOST:PORT, in lower case and without a path"});
  }
  if (!is_region(settings.region)) problems.push_back({"/region", "must have 1 to 64 of a to z, 0 to 9 and -"});
  if (!is_bucket(settings.bucket)) {
    problems.push_back({"/bucket", "must be a bucket's name: 3 to 63 of a to z, 0 to 9, - and ."});
  } else if (!settings.path_style && settings.bucket.find('.') != std::string::npos) {
    problems.push_back({"/bucket", "has a dot, so that no certificate fits its host name: set path_style"});
  }
  if (!is_prefix(settings.prefix)) {
    problems.push_back(
        {"/prefix", "must be empty, or letters, digits, -, _, . and /, not begin with / and end with one"});
  }
  if (settings.ca_file.size() > kS3TextBytesMax) problems.push_back({"/ca_file", "must have at most 1024 characters"});
  return problems;
}

}  // namespace coterie
