// HTTPS requests over connections that are kept, by libcurl. Blocks; any thread.
//
// The certificate is verified, and that it is the host's; TLS 1.2 at least. Nothing but https, HTTP/1.1, no
// redirects, no proxy of the environment, no cookies, no compression: bytes arrive as they were sent.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace coterie::s3 {

inline constexpr size_t kKeptConnectionsMax = 16;
inline constexpr size_t kHeadBytesMax = 64 << 10;  // of an answer

struct HttpsRequest {
  std::string method;
  std::string url;
  std::vector<std::string> headers;  // "name: value"
  ByteView body;                     // sent where the method is PUT or POST
  size_t answer_bytes_max = 0;
  Millis transfer_max{60'000};
};

struct HttpsReply {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  Bytes body;

  // The first of that name; empty if there is none.
  std::string_view header(std::string_view name) const;
};

class HttpsPool {
 public:
  HttpsPool(std::string ca_file, Millis connect_max);
  ~HttpsPool();

  // Whatever status the answer has. unavailable: no such host, no connection, a certificate that is not
  // trusted, cut off; timed_out; too_large: the answer; cancelled.
  Result<HttpsReply> send(const HttpsRequest& request);

  // Ends requests that are under way, and all that follow, with `cancelled`.
  void cancel() { cancelled_.store(true); }
  bool is_cancelled() const { return cancelled_.load(); }

 private:
  struct Handle;  // of libcurl, with its connection
  std::unique_ptr<Handle> take();
  void give_back(std::unique_ptr<Handle> handle);

  const std::string ca_file_;
  const Millis connect_max_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;
};

}  // namespace coterie::s3
