// RawHttp: bytes over TLS, as a client writes them that does not mean well.
#pragma once

#include <memory>
#include <string>

#include "device_sdk/transport/tls_socket.h"
#include "tests/integration/support/server_process.h"

namespace coterie::integration {

class RawHttp {
 public:
  explicit RawHttp(const std::string& url, const std::string& ca_pem);

  Status send(std::string_view text);
  Status send(ByteView bytes);
  // Everything up to the end of the stream, or of the answer if it has a Content-Length. An error if nothing comes.
  Result<std::string> read_answer(Millis patience);
  // Whether the server closes this connection within `patience`.
  bool is_closed_within(Millis patience);

 private:
  std::unique_ptr<TlsSocket> socket_;
};

// The status code of an answer's first line; 0 if it has none.
int status_of(const std::string& answer);

}  // namespace coterie::integration
