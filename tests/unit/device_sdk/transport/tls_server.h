// TlsServer: one thread, a port the system chose, and for each connection a script that reads and writes what
// it likes.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "secure/crypto/dev_ca.h"

namespace coterie::test {

// A connection after its handshake.
class ServerConnection {
 public:
  ServerConnection(SSL* ssl, int fd) : ssl_(ssl), fd_(fd) {}

  // The next request's head; "" at the end of the stream.
  std::string read_head();
  std::string read_body(size_t bytes);
  void write(std::string_view text);
  // Waits for the peer to close.
  void drain();
  // The end without a TLS goodbye, as when a process dies.
  void cut();

 private:
  bool fill();

  SSL* ssl_;
  int fd_;
  std::string buffered_;
};

class TlsServer {
 public:
  struct Settings {
    PemPair certificate;
    int version_max = TLS1_3_VERSION;
  };
  // The scripts of the connections, in the order in which they are accepted; further connections are closed
  // at once.
  using Script = std::function<void(ServerConnection&)>;

  TlsServer(const Settings& settings, std::vector<Script> scripts);
  ~TlsServer();

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }  // accepted, handshake or not

 private:
  void serve();
  void serve_one(int fd, size_t index);

  SSL_CTX* context_;
  std::vector<Script> scripts_;
  int listener_;
  uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  int current_ = -1;  // so that the destructor can end it
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace coterie::test
