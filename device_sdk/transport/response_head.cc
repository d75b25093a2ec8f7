#include "device_sdk/transport/response_head.h"

#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>

namespace coterie {
namespace {

namespace http = boost::beast::http;

constexpr size_t kPieceBytes = 64 * 1024;

Error not_http() { return Error(ErrorCode::malformed, "the server's answer is not HTTP/1.1"); }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
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
  http::response_parser<http::buffer_body> parser;
  parser.header_limit(kResponseHeadBytesMax);
  parser.body_limit(boost::none);
  parser.eager(true);
  Bytes piece(kPieceBytes);
  uint64_t total = 0;
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    boost::system::error_code error;
    const size_t consumed = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(consumed));
    const size_t produced = piece.size() - body.size;
    total += produced;
    if (produced > 0) COT_TRY(sink(ByteView(piece).first(produced)));
    if (error && error != http::error::need_more && error != http::error::need_buffer) return not_http();
    if (!parser.is_done() && consumed == 0 && produced == 0) COT_TRY(more(bytes));
  }
  return total;
}

}  // namespace coterie
