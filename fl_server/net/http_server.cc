#include "fl_server/net/http_server.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/os/clock.h"
#include "fl_server/net/connection.h"
#include "fl_server/net/event_looks.h"
#include "fl_server/net/event_pace.h"
#include "fl_server/net/peer_address.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr Millis kLookEvery{20};  // at how late the thread is, and for whom events have happened
constexpr int kLooksPerSweep = 5;
constexpr uint64_t kConnectionBytes = 24 * 1024;  // as ./bench measures it
constexpr Millis kAcceptPause{50};
constexpr Millis kHandshakePause{2};
constexpr auto kWait = asio::as_tuple(asio::use_awaitable_t<asio::io_context::executor_type>());

}  // namespace

using Timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                         asio::io_context::executor_type>;

struct HttpServer::Thread {
  // By listener and ConnectionId. Connections that are left go with `context`, so it stands before.
  std::map<std::pair<const Listener*, uint64_t>, Connection*> connections;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
  Turns turns{context};
  EventLooks looks{context};
  size_t index = 0;
  Punctuality punctuality;
  std::thread thread;
};

struct HttpServer::Listener {
  Listener(ListenerSettings s, TlsContext t, HttpService& h, asio::io_context& context)
      : settings(std::move(s)),
        tls(std::move(t)),
        service(h),
        acceptor(std::in_place, context.get_executor()),
        bodies(settings.limits.bodies_bytes_max),
        door({.connections_max = settings.limits.connections_max,
              .per_address_max = settings.limits.connections_per_address_max,
              .grace = settings.limits.stranger_grace},
             random_u64()) {}
  bool trusts(const IpAddress& address) const {
    const auto contains = [&address](const AddressRange& range) { return range.contains(address); };
    return std::ranges::any_of(settings.limits.trusted_addresses, contains);
  }
  TlsContext present_tls() {
    const std::lock_guard lock(tls_mutex);
    return tls;
  }

  ListenerSettings settings;
  std::mutex tls_mutex;
  TlsContext tls;  // guarded by it
  HttpService& service;
  std::optional<asio::basic_socket_acceptor<asio::ip::tcp, asio::io_context::executor_type>> acceptor;
  std::atomic<uint32_t> handshakes{0};
  std::atomic<uint32_t> streams{0};
  BodyBudget bodies;
  ConnectionDoor door;
};

// A connection in its thread's list, for as long as it is there.
class HttpServer::Listed {
 public:
  Listed(decltype(Thread::connections)& all, const decltype(Thread::connections)::key_type& key, Connection* connection)
      : all_(all), key_(key) {
    all_.emplace(key, connection);
  }
  ~Listed() { all_.erase(key_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  decltype(Thread::connections)& all_;
  const decltype(Thread::connections)::key_type key_;
};

HttpServer::HttpServer(size_t threads, Metrics& metrics) : metrics_(metrics) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.push_back(std::make_unique<Thread>());
    threads_.back()->index = i;
  }
}

HttpServer::~HttpServer() {
  stop();
  // An acceptor belongs to a context. Connections that are left go with their contexts, and count themselves out of
  // their listeners.
  for (const auto& listener : listeners_) listener->acceptor.reset();
  threads_.clear();
}

Result<uint16_t> HttpServer::listen(const ListenerSettings& settings, TlsContext tls, HttpService& service) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(settings.address, error);
  const std::string where = settings.address + ":" + std::to_string(settings.port);
  if (error) return Error(ErrorCode::invalid_argument, "cannot listen on " + where + ": not a numeric address");
  if (!tls && !address.is_loopback()) {
    return Error(ErrorCode::invalid_argument,
                 "cannot listen on " + where + " without TLS: that is for 127.0.0.1 and ::1 alone");
  }
  auto listener = std::make_unique<Listener>(settings, std::move(tls), service, threads_.front()->context);
  const asio::ip::tcp::endpoint endpoint(address, settings.port);
  auto& acceptor = *listener->acceptor;
  if (settings.bound_socket >= 0) {
    acceptor.assign(endpoint.protocol(), settings.bound_socket, error);
  } else {
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
  }
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Error(ErrorCode::unavailable, "cannot listen on " + where + ": " + error.message());
  const uint16_t port = acceptor.local_endpoint(error).port();
  listeners_.push_back(std::move(listener));
  return port;
}

void HttpServer::start() {
  for (const auto& listener : listeners_) {
    asio::co_spawn(threads_.front()->context, accept_loop(*listener), asio::detached);
  }
  for (const auto& thread : threads_) {
    asio::co_spawn(thread->context, sweep_loop(*thread), asio::detached);
    thread->thread = std::thread([&context = thread->context] { context.run(); });
  }
}

Awaitable<void> HttpServer::accept_loop(Listener& listener) {
  Timer pause(threads_.front()->context);
  while (!draining_) {
    // Handshakes cost the most of all. If all who come were let begin, none would be done in time.
    while (listener.handshakes >= listener.settings.limits.handshakes_max && !draining_) {
      pause.expires_after(kHandshakePause);
      co_await pause.async_wait(kWait);
    }
    Thread& thread = *threads_[next_thread_++ % threads_.size()];
    Socket socket(thread.context.get_executor());
    const auto [error] = co_await listener.acceptor->async_accept(socket, kWait);
    if (error == asio::error::operation_aborted) co_return;  // stop_accepting()
    if (error) {  // out of descriptors, most likely: give the others a moment to close
      log(LogLevel::warning, "accept_failed", {{"plane", listener.settings.plane}, {"reason", error.message()}});
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(kWait);
      continue;
    }
    const IpAddress peer = peer_of(socket);
    const Origin origin{.address = caller_of(peer), .thread = thread.index, .is_trusted = listener.trusts(peer)};
    // Counted here, as the connection's own thread may come to it late, and more would be let in meanwhile.
    const EntryDecision decision = listener.door.enter(origin.address, origin.is_trusted, os::monotonic_now());
    if (decision.entry != Entry::let_in) {
      metrics_.request_refused(decision.entry == Entry::full ? "connections" : "address_connections");
      continue;  // closes it
    }
    if (decision.evicted) evict(listener, *decision.evicted);
    ++listener.handshakes;
    asio::co_spawn(thread.context, serve(thread, listener, std::move(socket), origin, decision.id), asio::detached);
  }
}

// Whichever thread it is on.
void HttpServer::evict(Listener& listener, ConnectionId id) {
  metrics_.request_refused("stranger_evicted");
  for (const auto& thread : threads_) {
    asio::post(thread->context,
               [&thread = *thread, key = std::pair(static_cast<const Listener*>(&listener), id.value())] {
                 const auto found = thread.connections.find(key);
                 if (found != thread.connections.end()) found->second->abort();
               });
  }
}

Awaitable<void> HttpServer::serve(Thread& thread, Listener& listener, Socket socket, Origin origin, ConnectionId id) {
  metrics_.add_connections(listener.settings.plane, 1);
  try {
    const TlsContext tls = listener.present_tls();  // until the connection has made its own reference
    Connection connection(
        std::move(socket), tls.get(), origin,
        {listener.settings, listener.service, metrics_, draining_, busy_, listener.handshakes, listener.streams,
         thread.index, thread.turns, thread.looks, thread.punctuality, listener.bodies, listener.door, id});
    const auto key = std::pair(static_cast<const Listener*>(&listener), id.value());
    const Listed listed(thread.connections, key, &connection);
    co_await connection.run();
  } catch (const std::bad_alloc&) {
    log(LogLevel::warning, "connection_dropped", {{"plane", listener.settings.plane}, {"reason", "no memory for it"}});
  }
  metrics_.add_connections(listener.settings.plane, -1);
  listener.door.closed(id);
}

// Ends whoever is past their deadline and, while draining, whoever waits for a next request; more often it lets
// streams of events look. How late it is itself, is how long everything else on this thread waits for its turn.
Awaitable<void> HttpServer::sweep_loop(Thread& thread) {
  Timer timer(thread.context);
  for (int looks = 1;; ++looks) {
    thread.punctuality.expect(os::monotonic_now() + kLookEvery);
    timer.expires_after(kLookEvery);
    const auto [error] = co_await timer.async_wait(kWait);
    if (error) co_return;
    const Instant now = os::monotonic_now();
    thread.punctuality.arrived(now);
    thread.turns.observe(thread.punctuality.latest(), now);
    if (observe_delay_) observe_delay_(thread.index, thread.punctuality.latest() + thread.turns.delay(now));
    thread.looks.look(now, events_rest(open_streams()));
    if (looks % kLooksPerSweep != 0) continue;
    for (const auto& [key, connection] : thread.connections) {
      connection->let_others_shake_hands(now);
      connection->tend_events(now);
      if (draining_ && connection->is_idle()) connection->abort();
      else if (now > connection->deadline()) connection->end_late();
    }
  }
}

void HttpServer::set_tls(const TlsContext& tls) {
  for (const auto& listener : listeners_) {
    const std::lock_guard lock(listener->tls_mutex);
    if (listener->tls) listener->tls = tls;
  }
}

void HttpServer::stop_accepting() {
  draining_ = true;
  for (const auto& listener : listeners_) {
    asio::post(threads_.front()->context, [&acceptor = *listener->acceptor] {
      boost::system::error_code ignored;
      acceptor.close(ignored);
    });
  }
}

bool HttpServer::wait_until_quiet(Millis patience) {
  const Instant until = os::monotonic_now() + patience;
  while (busy_ > 0 && os::monotonic_now() < until) std::this_thread::sleep_for(Millis(5));
  return busy_ == 0;
}

uint32_t HttpServer::open_streams() const {
  uint32_t count = 0;
  for (const auto& listener : listeners_) count += listener->streams;
  return count;
}

uint32_t HttpServer::connections(std::string_view plane) const {
  uint32_t count = 0;
  for (const auto& listener : listeners_) {
    if (listener->settings.plane == plane) count += static_cast<uint32_t>(listener->door.size());
  }
  return count;
}

uint64_t HttpServer::body_bytes(std::string_view plane) const {
  uint64_t bytes = 0;
  for (const auto& listener : listeners_) {
    if (listener->settings.plane == plane) bytes += listener->bodies.bytes();
  }
  return bytes;
}

uint64_t HttpServer::held_bytes() const {
  uint64_t bytes = 0;
  for (const auto& listener : listeners_) {
    bytes += listener->bodies.bytes() + listener->door.size() * kConnectionBytes;
  }
  return bytes;
}

void HttpServer::stop() {
  for (const auto& thread : threads_) {
    thread->guard.reset();
    thread->context.stop();  // connections that are left are destroyed with their context
    if (thread->thread.joinable()) thread->thread.join();
  }
}

}  // namespace coterie
