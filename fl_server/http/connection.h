// Connection: one client, from handshake to close; its requests one after the other.
#pragma once

#include <atomic>

#include "fl_server/http/exchange.h"
#include "fl_server/http/http_server.h"

namespace coterie {

// What every connection of a listener shares.
struct ConnectionContext {
  const ListenerSettings& settings;
  HttpService& service;
  Metrics& metrics;
  const std::atomic<bool>& draining;
  std::atomic<uint32_t>& busy;
};

class Connection final : public Exchange {
 public:
  Connection(Socket socket, SSL_CTX* tls, ConnectionContext context)
      : context_(context), stream_(std::move(socket), tls) {}

  // Serves until either side has had enough. Never throws.
  Awaitable<void> run();

  // For the sweep, on the connection's own thread.
  Instant deadline() const { return deadline_; }
  bool is_idle() const { return idle_; }
  void abort() { stream_.abort(); }

  const RequestHead& head() const override { return head_; }
  const TraceContext& trace() const override { return trace_; }
  Awaitable<Result<Bytes>> read_body(uint64_t bytes_max) override;
  Awaitable<Status> read_body_into(std::span<uint8_t> into) override;
  void extend_deadline(Millis patience) override;
  bool peer_is_gone() override { return stream_.peer_is_gone(); }

 private:
  Awaitable<Status> read_head(size_t& head_bytes);
  Awaitable<bool> serve_one();
  void log_answer(std::string_view route, int status) const;
  Awaitable<Status> write_response(const HttpResponse& response);
  Awaitable<Status> write_blob(const BlobRange& range);
  Awaitable<Status> write_events(EventSource& events);

  ConnectionContext context_;
  TlsStream stream_;
  Instant deadline_{};
  bool idle_ = true;
  Bytes buffer_;               // received, not yet consumed
  RequestHead head_;
  TraceContext trace_;         // of the present request
  uint64_t body_left_ = 0;     // of the present request
};

}  // namespace coterie
