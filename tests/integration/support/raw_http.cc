#include "tests/integration/support/raw_http.h"

#include "device_sdk/transport/response_head.h"

namespace coterie::integration {

RawHttp::RawHttp(const std::string& url, const std::string& ca_pem) {
  auto trust = TlsTrust::make(ca_pem);
  COT_ASSERT(trust.has_value());
  const uint16_t port = static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  auto socket = TlsSocket::connect("127.0.0.1", port, *trust, Millis(30'000), nullptr);
  COT_ASSERT(socket.has_value());
  socket_ = std::move(*socket);
}

Status RawHttp::send(std::string_view text) { return send(as_bytes(text)); }

Status RawHttp::send(ByteView bytes) { return socket_->write_all(bytes, Millis(30'000)); }

Result<std::string> RawHttp::read_answer(Millis patience) {
  std::string answer;
  for (;;) {
    const auto head = parse_response_head(as_bytes(answer));
    if (head && *head && answer.size() >= (*head)->head_bytes + (*head)->content_length.value_or(0)) return answer;
    uint8_t buffer[4096];
    const Result<size_t> count = socket_->read_some(buffer, patience);
    if (!count && answer.empty()) return count.error();
    if (!count || *count == 0) return answer;
    answer.append(reinterpret_cast<const char*>(buffer), *count);
  }
}

bool RawHttp::is_closed_within(Millis patience) {
  uint8_t buffer[4096];
  for (;;) {
    const Result<size_t> count = socket_->read_some(buffer, patience);
    if (!count) return count.error().code() != ErrorCode::timed_out;
    if (*count == 0) return true;
  }
}

int status_of(const std::string& answer) {
  return answer.starts_with("HTTP/1.1 ") && answer.size() >= 12 ? std::stoi(answer.substr(9, 3)) : 0;
}

}  // namespace coterie::integration
