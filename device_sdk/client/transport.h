// Transport: how a device reaches its server. The SDK brings one over HTTPS (device_sdk/transport); an app may bring
// the platform's own instead.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct TransportRequest {
  std::string_view method;
  std::string target;  // path and query
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view content_type;
  ByteView body;
  Millis answer_max{60'000};  // for the first byte of the answer, after the request is sent
};

struct TransportResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  uint64_t body_bytes = 0;

  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

// Takes a piece of the answer's body, knowing its status and headers; an error ends the transfer.
using BodySink = std::function<Status(const TransportResponse& head, ByteView piece)>;

class Transport {
 public:
  virtual ~Transport() = default;
  // Sends one request and feeds the answer's body to `sink`. Any HTTP status is success here. Errors: unavailable
  // (cannot connect, lost), timed_out, unauthenticated (the server's certificate is not trusted), cancelled, malformed,
  // and the sink's own.
  virtual Result<TransportResponse> send(const TransportRequest& request, const BodySink& sink) = 0;
};

}  // namespace coterie
