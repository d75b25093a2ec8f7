#include "device_sdk/transport/https_client.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace coterie {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kPieceBytes = 256 * 1024;
// From here on we ask before we send: the server may have accepted this update already, or be full.
constexpr size_t kExpectContinueBytes = 64 * 1024;

struct Origin {
  std::string host;
  uint16_t port = 443;
};

Result<Origin> parse_url(std::string_view url) {
  const Error bad(ErrorCode::invalid_argument,
                  "the server's URL must look like https://host:port, is " + std::string(url));
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) return bad;
  url.remove_prefix(kScheme.size());
  if (url.ends_with('/')) url.remove_suffix(1);
  Origin origin;
  size_t colon = url.rfind(':');
  if (url.starts_with('[')) {
    const size_t bracket = url.find(']');
    if (bracket == std::string_view::npos) return bad;
    origin.host = url.substr(1, bracket - 1);
    colon = bracket + 1 < url.size() ? bracket + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && url[colon] != ':') return bad;
  } else {
    origin.host = url.substr(0, colon);
  }
  if (colon != std::string_view::npos) {
    const std::string_view port = url.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), origin.port);
    if (error != std::errc() || end != port.data() + port.size() || origin.port == 0) return bad;
  }
  // The host goes into a header, where a line break would begin another one.
  const bool clean = std::all_of(origin.host.begin(), origin.host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  });
  if (origin.host.empty() || !clean) return bad;
  return origin;
}

}  // namespace

Result<std::unique_ptr<HttpsClient>> HttpsClient::make(const HttpsClientSettings& settings) {
  COT_ASSIGN(Origin origin, parse_url(settings.url));
  COT_ASSIGN(std::shared_ptr<TlsTrust> trust, TlsTrust::make(settings.ca_pem));
  return std::unique_ptr<HttpsClient>(new HttpsClient(settings, std::move(origin.host), origin.port, std::move(trust)));
}

Status HttpsClient::connect() {
  buffered_.clear();
  socket_.reset();  // a server counts its connections
  COT_ASSIGN(socket_, TlsSocket::connect(host_, port_, trust_, settings_.connect_max, settings_.cancelled));
  return {};
}

Result<TransportResponse> HttpsClient::send(const TransportRequest& request, const BodySink& sink) {
  // What came behind the last answer's end must not become this one's.
  const bool reused = socket_ != nullptr && buffered_.empty() && !socket_->is_stale();
  if (!reused) COT_TRY(connect());
  bool answer_began = false;
  Result<TransportResponse> response = attempt(request, sink, answer_began);
  if (response || !reused || answer_began || response.error().code() != ErrorCode::unavailable) {
    if (!response) socket_.reset();
    return response;
  }
  // The server had closed the kept connection before it saw the request (every request of ours may be repeated).
  COT_TRY(connect());
  response = attempt(request, sink, answer_began);
  if (!response) socket_.reset();
  return response;
}

std::string HttpsClient::head_of(const TransportRequest& request, bool waits) const {
  std::string head(request.method);
  head += " " + request.target + " HTTP/1.1\r\nHost: ";
  head += host_.find(':') == std::string::npos ? host_ : "[" + host_ + "]";
  head += ":" + std::to_string(port_) + "\r\n";
  for (const auto& [name, value] : request.headers) head += name + ": " + value + "\r\n";
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    head += "Content-Length: " + std::to_string(request.body.size()) + "\r\n";
  }
  if (!request.content_type.empty()) head += "Content-Type: " + std::string(request.content_type) + "\r\n";
  if (waits) head += "Expect: 100-continue\r\n";
  head += "\r\n";
  return head;
}

Result<TransportResponse> HttpsClient::attempt(const TransportRequest& request, const BodySink& sink,
                                               bool& answer_began) {
  const bool waits = request.body.size() >= kExpectContinueBytes;
  std::string head = head_of(request, waits);
  // One write: head and body of a small request travel in one packet.
  if (!waits && request.body.size() <= 8 * 1024) head.append(as_text(request.body));
  COT_TRY(socket_->write_all(as_bytes(head), settings_.silence_max));
  Result<ResponseHead> answer = Error(ErrorCode::timed_out, "");
  if (waits) answer = read_head(request.answer_max);  // 100, or the server's refusal
  // A server may say nothing until it has the body (RFC 9110 section 10.1.1): after the patience the body is sent
  // anyway.
  if (waits && !answer && answer.error().code() != ErrorCode::timed_out) return answer.error();
  const auto is_interim = [](const ResponseHead& h) { return h.response.status < 200; };
  const bool go_on = !answer || is_interim(*answer);
  if (go_on) {
    if (waits || request.body.size() > 8 * 1024) COT_TRY(socket_->write_all(request.body, settings_.silence_max));
    do {
      answer = read_head(request.answer_max);
      if (!answer) return answer.error();
    } while (is_interim(*answer));
  }
  answer_began = true;
  TransportResponse response = answer->response;
  const bool has_body = request.method != "HEAD" && response.status != 204 && response.status != 304;
  if (has_body) COT_TRY(read_body(*answer, sink, response.body_bytes));
  const bool ends = has_body && !answer->chunked && !answer->content_length;
  if (!answer->keep_alive || ends || !go_on)
    socket_.reset();  // a refused body was never sent: the connection cannot go on
  return response;
}

Status HttpsClient::fill(Bytes& buffer, Millis patience) {
  const size_t filled = buffer.size();
  buffer.resize(filled + kReadBytes);
  Result<size_t> count = socket_->read_some(std::span(buffer).subspan(filled), patience);
  buffer.resize(filled + (count ? *count : 0));
  if (!count) return count.error();
  if (*count == 0) return Error(ErrorCode::unavailable, "the server has closed the connection");
  return {};
}

// Consumes the head; what follows it stays in buffered_ (unless the body is chunked, which is parsed with its head).
Result<ResponseHead> HttpsClient::read_head(Millis patience) {
  for (;;) {
    COT_ASSIGN(std::optional<ResponseHead> head, parse_response_head(buffered_));
    if (head) {
      if (!head->chunked) {
        buffered_.erase(buffered_.begin(), buffered_.begin() + static_cast<ptrdiff_t>(head->head_bytes));
      }
      return *std::move(head);
    }
    COT_TRY(fill(buffered_, patience));
  }
}

Status HttpsClient::read_body(const ResponseHead& head, const BodySink& sink, uint64_t& size) {
  if (head.chunked) {
    const auto more = [this](Bytes& bytes) { return fill(bytes, settings_.silence_max); };
    const auto pass_on = [&](ByteView piece) { return sink(head.response, piece); };
    COT_ASSIGN(size, read_chunked_body(std::exchange(buffered_, {}), more, pass_on));
    return {};
  }
  // Without a length a connection that broke looks like an answer that ended. Only a caller who can tell may take it.
  if (!head.content_length && settings_.reads_to_end) return read_to_end(head, sink, size);
  if (!head.content_length) return Error(ErrorCode::malformed, "the server's answer has no length");
  size = *head.content_length;
  const size_t early = std::min<uint64_t>(buffered_.size(), size);
  if (early > 0) COT_TRY(sink(head.response, ByteView(buffered_).first(early)));
  buffered_.erase(buffered_.begin(), buffered_.begin() + static_cast<ptrdiff_t>(early));
  uint64_t left = size - early;
  Bytes piece(std::min<uint64_t>(left, kPieceBytes));
  while (left > 0) {
    const std::span<uint8_t> into = std::span(piece).first(std::min<uint64_t>(left, piece.size()));
    COT_ASSIGN(const size_t count, socket_->read_some(into, settings_.silence_max));
    if (count == 0) return Error(ErrorCode::unavailable, "the server has closed the connection");
    COT_TRY(sink(head.response, into.first(count)));
    left -= count;
  }
  return {};
}

// Nothing is kept of it: the connection has no more to say.
Status HttpsClient::read_to_end(const ResponseHead& head, const BodySink& sink, uint64_t& size) {
  Bytes piece = std::exchange(buffered_, {});
  size_t count = piece.size();
  piece.resize(std::max(count, kReadBytes));
  do {
    if (count > 0) COT_TRY(sink(head.response, ByteView(piece).first(count)));
    size += count;
    COT_ASSIGN(count, socket_->read_some(piece, settings_.silence_max));
  } while (count > 0);
  return {};
}

}  // namespace coterie
