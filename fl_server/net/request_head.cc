#include "fl_server/net/request_head.h"

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <charconv>

namespace coterie {
namespace {

namespace http = boost::beast::http;

Error bad(const std::string& what) { return Error(ErrorCode::malformed, "request: " + what); }

bool is_normal_path(std::string_view path) {
  if (path.empty() || path[0] != '/') return false;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '~' || c == ':' || c == '/';
  };
  return std::all_of(path.begin(), path.end(), plain) && path.find("//") == std::string_view::npos &&
         path.find("/.") == std::string_view::npos;
}

// Lines end with CRLF and in no other way, none goes on in the next, and there are no other control characters but
// tabs. (Beast takes folded lines.)
bool has_plain_lines(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\r') {
      if (i + 1 == text.size() || text[i + 1] != '\n') return false;
    } else if (c == '\n') {
      if (i == 0 || text[i - 1] != '\r') return false;
      if (i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\t')) return false;
    } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return false;
    }
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

Status read_target(std::string_view target, RequestHead& head) {
  if (target.size() > kTargetBytesMax) return Error(ErrorCode::too_large, "request: the target is over 2048 bytes");
  const size_t question = target.find('?');
  head.target = target;
  head.path = target.substr(0, question);
  if (question != std::string_view::npos) head.query = target.substr(question + 1);
  if (!is_normal_path(head.path)) return bad("the path must be absolute and plain");
  const auto visible = [](char c) { return c > 0x20 && c < 0x7f && c != '#'; };
  if (!std::all_of(head.query.begin(), head.query.end(), visible)) return bad("the query must be visible ASCII");
  return {};
}

// What says who sends, and what was signed: it is not for us to choose one of two.
bool names_the_sender(std::string_view name) { return name == "authorization" || name.starts_with("coterie-"); }

bool has_header(const RequestHead& head, std::string_view name) {
  return std::ranges::any_of(head.headers, [name](const auto& header) { return header.first == name; });
}

Status read_length(std::string_view text, RequestHead& head) {
  uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) return bad("Content-Length is not a number");
  if (head.content_length) return bad("Content-Length is given twice");
  head.content_length = length;
  return {};
}

}  // namespace

size_t find_head_end(ByteView bytes) {
  const size_t at = as_text(bytes).find("\r\n\r\n");
  return at == std::string_view::npos ? 0 : at + 4;
}

Result<RequestHead> parse_request_head(ByteView bytes) {
  if (bytes.size() > kHeadBytesMax) return Error(ErrorCode::too_large, "request: the head is over 16 KiB");
  if (!has_plain_lines(as_text(bytes)))
    return bad("the head has control characters, or lines that do not end with CRLF");
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kHeadBytesMax);
  parser.body_limit(boost::none);
  parser.skip(true);
  boost::system::error_code error;
  const size_t consumed = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error || !parser.is_header_done() || consumed != bytes.size()) return bad("the head is not HTTP/1.1");
  const auto& message = parser.get();
  if (message.version() != 10 && message.version() != 11) return bad("the head is not HTTP/1.1");
  RequestHead head;
  size_t hosts = 0;
  head.method = std::string(message.method_string());
  const auto target = message.target();
  COT_TRY(read_target({target.data(), target.size()}, head));
  for (const auto& field : message) {
    if (head.headers.size() >= kHeadersMax) return Error(ErrorCode::too_large, "request: more than 100 header lines");
    const auto name_text = field.name_string();
    const auto value_text = field.value();
    std::string name = lower({name_text.data(), name_text.size()});
    std::string value(value_text.data(), value_text.size());
    if (name == "transfer-encoding") {
      return Error(ErrorCode::length_required, "request: send a Content-Length, not a Transfer-Encoding");
    }
    if (names_the_sender(name) && has_header(head, name)) return bad(name + " is given twice");
    if (name == "host") ++hosts;
    if (name == "content-length") COT_TRY(read_length(value, head));
    if (name == "expect") head.expects_continue = lower(value) == "100-continue";
    head.headers.emplace_back(std::move(name), std::move(value));
  }
  if (hosts > 1 || (hosts == 0 && message.version() == 11)) return bad("HTTP/1.1 has one Host header");
  head.keep_alive = message.keep_alive();
  return head;
}

}  // namespace coterie
