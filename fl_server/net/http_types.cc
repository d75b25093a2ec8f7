#include "fl_server/net/http_types.h"

namespace coterie {
namespace {

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return Error(ErrorCode::malformed, "query: a percent escape is cut off");
    std::string digits(text.substr(i + 1, 2));
    for (char& c : digits) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const Result<Bytes> byte = from_hex(digits);
    if (!byte || (*byte)[0] < 0x20 || (*byte)[0] == 0x7f)
      return Error(ErrorCode::malformed, "query: a percent escape is not a character");
    decoded += static_cast<char>((*byte)[0]);
    i += 2;
  }
  return decoded;
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 507: return "Insufficient Storage";
    default: return "Status";
  }
}

std::string response_head(const HttpResponse& response, uint64_t size) {
  std::string head;
  head.reserve(256);
  head += "HTTP/1.1 ";
  head += std::to_string(response.status);
  head += ' ';
  head += reason_phrase(response.status);
  head += "\r\n";
  // RFC 9110 section 8.6: these never have a body, and a length would be that of another answer.
  const bool has_length = response.status >= 200 && response.status != 204 && response.status != 304;
  if (has_length && !response.events) head += "Content-Length: " + std::to_string(size) + "\r\n";
  if (has_length && (size > 0 || response.events)) head += "Content-Type: " + response.content_type + "\r\n";
  for (const auto& [name, value] : response.headers) {
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  if (response.close) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    if (item.empty()) continue;
    const size_t equals = item.find('=');
    COT_ASSIGN(std::string key, percent_decoded(item.substr(0, equals)));
    COT_ASSIGN(std::string value,
               percent_decoded(equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1)));
    pairs.emplace_back(std::move(key), std::move(value));
  }
  return pairs;
}

}  // namespace coterie
