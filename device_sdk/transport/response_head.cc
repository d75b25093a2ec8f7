#include "device_sdk/transport/response_head.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>

namespace coterie {
namespace {

namespace http = boost::beast::http;

constexpr size_t kChunkLineBytesMax = 4 * 1024;

Error not_http() { return Error(ErrorCode::malformed, "the server's answer is not HTTP/1.1"); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// RFC 9112 section 7.1: hexadecimal digits, then perhaps extensions, which mean nothing to us. Beast is not asked to
// read chunks: an empty body that arrives byte by byte fails one of its assertions.
Result<uint64_t> parse_chunk_size(std::string_view line) {
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  const std::string_view rest = line.substr(static_cast<size_t>(end - line.data()));
  if (error != std::errc() || (!rest.empty() && std::string_view("; \t").find(rest[0]) == std::string_view::npos)) {
    return not_http();
  }
  return size;
}

}  // namespace

Result<std::optional<ResponseHead>> parse_response_head(ByteView bytes) {
  const size_t end = as_text(bytes).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (bytes.size() > kResponseHeadBytesMax) return not_http();
    return std::optional<ResponseHead>();
  }
  ResponseHead head;
  head.head_bytes = end + 4;
  http::response_parser<http::empty_body> parser;
  parser.header_limit(kResponseHeadBytesMax);
  parser.body_limit(boost::none);
  parser.skip(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), head.head_bytes), error);
  if (error || !parser.is_header_done()) return not_http();
  const auto& message = parser.get();
  head.response.status = static_cast<int>(message.result_int());
  head.keep_alive = message.keep_alive();
  head.chunked = message.chunked();
  for (const auto& field : message) {
    const auto name = field.name_string();
    const auto value = field.value();
    head.response.headers.emplace_back(lower({name.data(), name.size()}), std::string(value.data(), value.size()));
  }
  const std::string_view length = head.response.header("content-length");
  if (!length.empty()) {
    uint64_t size = 0;
    const auto [last, failed] = std::from_chars(length.data(), length.data() + length.size(), size);
    if (failed != std::errc() || last != length.data() + length.size()) return not_http();
    head.content_length = size;
  }
  return std::optional<ResponseHead>(std::move(head));
}

Result<uint64_t> read_chunked_body(Bytes bytes, const std::function<Status(Bytes&)>& more,
                                   const std::function<Status(ByteView)>& sink) {
  size_t at = 0;  // bytes before it are consumed
  while ((at = as_text(bytes).find("\r\n\r\n")) == std::string_view::npos) {
    if (bytes.size() > kResponseHeadBytesMax) return not_http();
    COT_TRY(more(bytes));
  }
  at += 4;
  // The next line, without its end.
  const auto read_line = [&]() -> Result<std::string> {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at));
    at = 0;
    for (;;) {
      const size_t end = as_text(bytes).find("\r\n");
      if (end > kChunkLineBytesMax && (end != std::string_view::npos || bytes.size() > kChunkLineBytesMax + 1))
        return not_http();
      if (end == std::string_view::npos) {
        COT_TRY(more(bytes));
        continue;
      }
      at = end + 2;
      return std::string(as_text(bytes).substr(0, end));
    }
  };
  uint64_t total = 0;
  for (;;) {
    COT_ASSIGN(const std::string size_line, read_line());
    COT_ASSIGN(uint64_t left, parse_chunk_size(size_line));
    if (left == 0) break;
    total += left;
    while (left > 0) {
      if (at == bytes.size()) {
        bytes.clear();
        at = 0;
        COT_TRY(more(bytes));
      }
      const size_t count = std::min<uint64_t>(left, bytes.size() - at);
      if (count > 0) COT_TRY(sink(ByteView(bytes).subspan(at, count)));
      at += count;
      left -= count;
    }
    COT_ASSIGN(const std::string behind_data, read_line());
    if (!behind_data.empty()) return not_http();
  }
  for (size_t trailer_bytes = 0;;) {
    COT_ASSIGN(const std::string trailer, read_line());
    if (trailer.empty()) return total;
    // Nobody reads trailers, and no limit of a body counts them: without one of their own they could go on for ever.
    trailer_bytes += trailer.size();
    if (trailer_bytes > kResponseHeadBytesMax) return not_http();
  }
}

}  // namespace coterie
