// Connection: one client, from handshake to close; its requests one after the other.
#pragma once

#include <algorithm>
#include <atomic>

#include "base/os/clock.h"
#include "fl_server/net/connection_door.h"
#include "fl_server/net/exchange.h"
#include "fl_server/net/http_server.h"

namespace coterie {

class EventLooks;
class EventMark;

// How late a thread is for a timer that waits its turn like everything else.
class Punctuality {
 public:
  void expect(Instant due) { due_ = due; }
  void arrived(Instant now) { latest_ = std::max(now - due_, Millis(0)); }
  Millis latest() const { return latest_; }
  // At least so late: also by the timer that should have come and has not.
  Millis late(Instant now) const { return std::max(latest_, now - due_); }

 private:
  Instant due_ = Instant::max();
  Millis latest_{0};
};

// What every connection of a listener shares.
struct ConnectionContext {
  const ListenerSettings& settings;
  HttpService& service;
  Metrics& metrics;
  const std::atomic<bool>& draining;
  std::atomic<uint32_t>& busy;
  std::atomic<uint32_t>& handshakes;  // of the listener, under way
  std::atomic<uint32_t>& streams;     // of events, of the listener, that are open
  size_t thread;
  Turns& turns;  // the thread's, as the next two
  EventLooks& looks;
  const Punctuality& punctuality;
  BodyBudget& bodies;  // the listener's, as the next
  ConnectionDoor& door;
  ConnectionId id;
};

class Connection final : public Exchange {
 public:
  Connection(Socket socket, SSL_CTX* tls, const Origin& origin, ConnectionContext context)
      : context_(context), origin_(origin), stream_(std::move(socket), tls, context.turns) {}

  // Serves until either side has had enough. Never throws.
  Awaitable<void> run();

  // For the sweep, on the connection's own thread.
  Instant deadline() const { return deadline_; }
  bool is_idle() const { return idle_; }
  void abort() { stream_.abort(); }
  // Whoever is past its deadline: while a body is read, its request ends with timed_out, and the client has a moment to
  // hear so; everything else is cut off.
  void end_late();
  // Has a stream of events look whether the server drains, or say that it is still there.
  void tend_events(Instant now);
  // After handshake_turn a slow handshake no longer counts against handshakes_max.
  void let_others_shake_hands(Instant now) {
    if (now - began_ > context_.settings.limits.handshake_turn) end_handshake();
  }

  const RequestHead& head() const override { return head_; }
  const Origin& origin() const override { return origin_; }
  Awaitable<Millis> stand_in_line(Work line) override;
  const TraceContext& trace() const override { return trace_; }
  Awaitable<Result<RequestBody>> read_body(uint64_t bytes_max) override;
  Awaitable<Status> read_body_into(std::span<uint8_t> into) override;
  void extend_deadline(Millis patience) override;
  Awaitable<void> rest(Millis time) override;
  void sender_is_known() override;
  bool peer_is_gone() override { return stream_.peer_is_gone(); }

 private:
  void end_handshake();
  void pass_over_body();
  Awaitable<Status> begin_body();
  Awaitable<Status> read_piece(std::span<uint8_t> into);
  Awaitable<Status> read_head(size_t& head_bytes);
  Awaitable<bool> serve_one();
  void log_answer(std::string_view route, int status) const;
  Awaitable<Status> write_response(const HttpResponse& response);
  Awaitable<Status> write_blob(const BlobRange& range);
  Awaitable<Status> write_events(EventSource& events);

  ConnectionContext context_;
  Origin origin_;
  TlsStream stream_;
  Instant began_{};
  bool shakes_hands_ = false;  // and counts as such
  Instant deadline_{};
  std::shared_ptr<EventMark> events_;  // while it tells some
  Instant heartbeat_due_{};            // of these
  bool idle_ = true;
  bool is_known_ = false;  // whoever sends here
  Bytes buffer_;           // received, not yet consumed
  RequestHead head_;
  TraceContext trace_;      // of the present request
  uint64_t body_left_ = 0;  // of the present request
  bool reads_body_ = false;
  bool is_late_ = false;  // the body was
};

}  // namespace coterie
