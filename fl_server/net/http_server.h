// HttpServer: listeners, threads and connections. Everything a client can do wrong with time or amounts ends here:
// named limits, one deadline a connection, a sweep that closes whoever is past it.
//
// One io_context and one thread a core; a connection lives on one of them (assigned in turn) and shares nothing with
// the others.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "fl_server/core/connection_table.h"
#include "fl_server/net/exchange.h"
#include "fl_server/net/tls_context.h"
#include "fl_server/settings/http_limits.h"
#include "fl_server/telemetry/metrics.h"

namespace coterie {

struct ListenerSettings {
  std::string plane;    // "device", "admin": label and log field
  std::string address;  // numeric
  uint16_t port = 0;    // 0: the system chooses
  HttpLimits limits;
  // One that is bound to them already, perhaps of several processes; the listener closes it. -1: none is.
  int bound_socket = -1;
};

class HttpServer {
 public:
  HttpServer(size_t threads, Metrics& metrics);
  ~HttpServer();

  // Binds and listens; the port that was chosen. Call before start(). `service` outlives the server. Without `tls`
  // requests come and go in the clear, which is for loopback alone: invalid_argument for any other address.
  Result<uint16_t> listen(const ListenerSettings& settings, TlsContext tls, HttpService& service);
  void start();
  // Called on each network thread several times in 100 ms: how late it is for what it has to do. Call before start().
  using DelayObserver = std::function<void(size_t thread, Millis late)>;
  void observe_delays(DelayObserver observer) { observe_delay_ = std::move(observer); }
  // From now on new connections get this certificate, on all listeners that have one; those that are there keep
  // theirs. Thread-safe.
  void set_tls(const TlsContext& tls);
  // Takes no new connections, closes those that are idle; exchanges under way go on.
  void stop_accepting();
  // After stop_accepting: waits until no exchange is under way, at most `patience`; whether that was reached.
  bool wait_until_quiet(Millis patience);
  void stop();
  // Open now, of connections_max, of the plane's listener.
  uint32_t connections(std::string_view plane) const;
  // What bodies hold now of bodies_bytes_max, likewise.
  uint64_t body_bytes(std::string_view plane) const;
  // About what bodies and connections of all planes hold.
  uint64_t held_bytes() const;

 private:
  struct Thread;
  struct Listener;
  class Listed;

  Awaitable<void> accept_loop(Listener& listener);
  Awaitable<void> serve(Thread& thread, Listener& listener, Socket socket, Origin origin, ConnectionId id);
  void evict(Listener& listener, ConnectionId id);
  Awaitable<void> sweep_loop(Thread& thread);
  uint32_t open_streams() const;

  Metrics& metrics_;
  DelayObserver observe_delay_;
  std::atomic<bool> draining_{false};
  std::atomic<uint32_t> busy_{0};  // exchanges under way; before the threads, with which the last of them go
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  size_t next_thread_ = 0;  // of the accepting thread
};

}  // namespace coterie
