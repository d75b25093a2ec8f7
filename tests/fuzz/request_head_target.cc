// What a stranger's bytes become: nothing, or a request that means the same however it is written down again.
#include <algorithm>
#include <string>

#include "base/assert.h"
#include "fl_server/net/request_head.h"

namespace {

using namespace coterie;

bool is_clean(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

void check(const RequestHead& head) {
  COT_ASSERT(!head.method.empty() && head.path.starts_with('/') && head.target.size() <= kTargetBytesMax);
  COT_ASSERT(head.path.find("//") == std::string::npos && head.path.find("/.") == std::string::npos);
  COT_ASSERT(head.path.find('%') == std::string::npos && is_clean(head.target));
  COT_ASSERT(head.headers.size() <= kHeadersMax);
  size_t lengths = 0, hosts = 0;
  for (const auto& [name, value] : head.headers) {
    COT_ASSERT(is_clean(name) && is_clean(value));
    COT_ASSERT(std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
    COT_ASSERT(name != "transfer-encoding");
    lengths += name == "content-length";
    hosts += name == "host";
  }
  COT_ASSERT(lengths == (head.content_length ? 1u : 0u) && hosts <= 1);
  (void)parse_query(head.query).has_value();

  std::string again = head.method + " " + head.target + (hosts == 1 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
  for (const auto& [name, value] : head.headers) again.append(name).append(": ").append(value).append("\r\n");
  again += "\r\n";
  if (again.size() > kHeadBytesMax) return;  // the blanks
  const Result<RequestHead> second = parse_request_head(as_bytes(again));
  COT_ASSERT(second.has_value());
  COT_ASSERT(second->method == head.method && second->path == head.path && second->query == head.query);
  COT_ASSERT(second->headers == head.headers && second->content_length == head.content_length);
  COT_ASSERT(second->expects_continue == head.expects_continue);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const size_t end = find_head_end(input);
  COT_ASSERT(end <= size);
  if (end > 0) {
    if (const auto head = parse_request_head(input.first(end))) check(*head);
  }
  // As it is: only what ends with its first empty line may be one.
  if (const auto head = parse_request_head(input)) COT_ASSERT(end == size);
  // Mutations rarely keep the end.
  const std::string ended = std::string(as_text(input)) + "\r\n\r\n";
  if (find_head_end(as_bytes(ended)) != ended.size()) return 0;
  if (const auto head = parse_request_head(as_bytes(ended))) check(*head);
  return 0;
}
