#include "tests/chaos/fault_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/assert.h"
#include "base/os/clock.h"

namespace coterie::chaos {
namespace {

constexpr size_t kReadMax = 64 * 1024;
constexpr size_t kQueueMax = 1 << 20;      // of a direction: then its sender waits
constexpr uint64_t kSlicesPerSecond = 50;  // of a throttled direction
constexpr Millis kForever{60'000};

size_t index_of(Direction direction) { return static_cast<size_t>(direction); }

// How much of the end of `bytes` is a beginning of `pattern`, less than all of it.
size_t begun(std::string_view bytes, std::string_view pattern) {
  for (size_t size = std::min(bytes.size(), pattern.size() - 1); size > 0; --size) {
    if (bytes.substr(bytes.size() - size) == pattern.substr(0, size)) return size;
  }
  return 0;
}

}  // namespace

// ---- What tests ask for

Result<std::unique_ptr<FaultProxy>> FaultProxy::start(Endpoint listen, Endpoint server) {
  std::unique_ptr<FaultProxy> proxy(new FaultProxy(std::move(listen), std::move(server)));
  proxy->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (proxy->listen_.path.empty()) {
    COT_ASSIGN(proxy->port_, hold_port(proxy->listen_));
  }
  COT_TRY(proxy->open_door());
  proxy->thread_ = std::thread([raw = proxy.get()] { raw->run(); });
  return proxy;
}

FaultProxy::~FaultProxy() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    wake();
  }
  if (thread_.joinable()) thread_.join();
  door_.close();
  if (!listen_.path.empty()) ::unlink(listen_.path.c_str());
  ::close(wake_);
}

Status FaultProxy::open_door() {
  COT_ASSIGN(door_, listen_at(listen_));
  return {};
}

void FaultProxy::wake() const {
  const uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void FaultProxy::forget_patterns() {
  for (Connection& connection : connections_) {
    for (Lane* lane : {&connection.to_server, &connection.to_client}) {
      lane->seen = 0;
      enqueue(*lane, std::exchange(lane->held, {}));
    }
  }
}

void FaultProxy::arm(Fault fault) {
  const std::lock_guard lock(mutex_);
  forget_patterns();
  countdown_ = fault.after_bytes;
  armed_ = std::move(fault);
  has_struck_ = false;
  wake();
}

void FaultProxy::clear() {
  const std::lock_guard lock(mutex_);
  forget_patterns();
  armed_.reset();
  lasting_.reset();
  for (Connection& connection : connections_) {
    for (Lane* lane : {&connection.to_server, &connection.to_client}) {
      for (Piece& piece : lane->queue) {
        if (piece.due == Instant::max()) piece.due = os::monotonic_now();
      }
    }
  }
  wake();
}

void FaultProxy::refuse(bool refuses) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(refuses_, refuses) == refuses) return;
  if (refuses) {
    ::shutdown(door_.fd(), SHUT_RDWR);  // at once, though the proxy's thread may be looking at it
    door_.close();
    if (!listen_.path.empty()) ::unlink(listen_.path.c_str());
  } else {
    const Status opened = open_door();
    COT_ASSERT(opened.has_value());
  }
  wake();
}

void FaultProxy::reset_all() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    connection.client.reset();
    connection.server.reset();
    connection.is_over = true;
  }
  wake();
}

bool FaultProxy::has_struck() const {
  const std::lock_guard lock(mutex_);
  return has_struck_;
}

bool FaultProxy::wait_until_struck(Millis patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return has_struck_; });
}

uint64_t FaultProxy::bytes(Direction direction) const {
  const std::lock_guard lock(mutex_);
  return bytes_[index_of(direction)];
}

bool FaultProxy::wait_for_bytes(Direction direction, uint64_t count, Millis patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return bytes_[index_of(direction)] >= count; });
}

uint64_t FaultProxy::connections() const {
  const std::lock_guard lock(mutex_);
  return accepted_;
}

// ---- The proxy's thread

void FaultProxy::run() {
  struct Watched {
    Connection* connection;
    Lane* lane;
  };
  std::unique_lock lock(mutex_);
  while (!stops_) {
    std::vector<pollfd> polled = {{wake_, POLLIN, 0}, {refuses_ || is_stalled() ? -1 : door_.fd(), POLLIN, 0}};
    std::vector<Watched> watched;
    for (Connection& connection : connections_) {
      for (Lane* lane : {&connection.to_server, &connection.to_client}) {
        const bool reads =
            !lane->has_ended && !is_stalled() && connection.ending == Ending::none && lane->queued < kQueueMax;
        if (reads) {
          polled.push_back({connection.from(*lane).fd(), POLLIN, 0});
          watched.push_back({&connection, lane});
        }
        const bool writes = !lane->queue.empty() && lane->queue.front().due <= os::monotonic_now();
        if (writes) polled.push_back({connection.to(*lane).fd(), POLLOUT, 0});
        if (writes) watched.push_back({nullptr, nullptr});
      }
    }
    const Millis patience = until_next(os::monotonic_now());
    lock.unlock();
    ::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    lock.lock();
    uint64_t ignored;
    (void)!::read(wake_, &ignored, sizeof ignored);
    for (size_t i = 0; i < watched.size(); ++i) {
      if (watched[i].connection != nullptr && polled[i + 2].revents != 0)
        read(*watched[i].connection, *watched[i].lane);
    }
    take_in();
    const Instant now = os::monotonic_now();
    for (Connection& connection : connections_) {
      flush(connection, connection.to_server, now);
      flush(connection, connection.to_client, now);
      end_if_due(connection);
    }
    connections_.remove_if([](const Connection& connection) { return connection.is_over; });
    changed_.notify_all();
  }
}

// Until something is to be done that no socket tells of.
Millis FaultProxy::until_next(Instant now) {
  Millis patience = kForever;
  for (Connection& connection : connections_) {
    if (connection.ending != Ending::none) patience = std::min(patience, Millis(1));
    for (const Lane* lane : {&connection.to_server, &connection.to_client}) {
      if (lane->queue.empty() || lane->queue.front().due <= now) continue;
      patience = std::min(patience, lane->queue.front().due - now);
    }
  }
  return patience;
}

void FaultProxy::take_in() {
  while (!refuses_ && !is_stalled()) {
    Socket client(::accept4(door_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.is_open()) return;
    ++accepted_;
    Connection connection;
    connection.client = std::move(client);
    if (lasting_ && lasting_->kind == FaultKind::blackhole) {
      connection.to_server.is_swallowed = connection.to_client.is_swallowed = true;
      connection.to_client.has_ended = true;  // there is nobody
    } else {
      Result<Socket> server = connect_to(server_);
      if (!server) {
        connection.client.reset();
        continue;
      }
      connection.server = std::move(*server);
      send_at_once(connection.client);
      send_at_once(connection.server);
    }
    connections_.push_back(std::move(connection));
  }
}

void FaultProxy::read(Connection& connection, Lane& lane) {
  if (connection.is_over || connection.ending != Ending::none || lane.has_ended || is_stalled()) return;
  std::array<uint8_t, kReadMax> buffer;
  const ssize_t count = ::recv(connection.from(lane).fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) return pass(connection, lane, ByteView(buffer).first(static_cast<size_t>(count)));
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  lane.has_ended = true;
  if (lane.is_swallowed) return connection.from(lane).close();  // the other end is not told
  enqueue(lane, std::exchange(lane.held, {}));
  if (count < 0) connection.ending = Ending::reset;
  else lane.queue.push_back({{}, lane.queue.empty() ? os::monotonic_now() : lane.queue.back().due});
}

void FaultProxy::pass(Connection& connection, Lane& lane, ByteView bytes) {
  bytes_[index_of(lane.direction)] += bytes.size();
  if (lane.is_swallowed) return;
  if (!armed_ || armed_->direction != lane.direction) return enqueue(lane, bytes);
  Bytes all = std::exchange(lane.held, {});
  all.insert(all.end(), bytes.begin(), bytes.end());
  size_t may_pass = all.size();
  const std::optional<size_t> at = find_strike(lane, all, may_pass);
  const size_t front = at.value_or(may_pass);
  enqueue(lane, ByteView(all).first(front));
  if (at) strike(connection, lane, ByteView(all).subspan(front));
  else lane.held.assign(all.begin() + static_cast<std::ptrdiff_t>(front), all.end());
}

// Where in `bytes` the armed fault strikes, or nowhere: then the first `may_pass` of them may be passed on.
std::optional<size_t> FaultProxy::find_strike(Lane& lane, ByteView bytes, size_t& may_pass) {
  if (armed_->pattern.empty()) {
    if (countdown_ < bytes.size()) return countdown_;
    countdown_ -= bytes.size();
    return std::nullopt;
  }
  const std::string_view text = as_text(bytes);
  size_t from = 0;
  for (size_t at = text.find(armed_->pattern); at != std::string_view::npos; at = text.find(armed_->pattern, from)) {
    if (++lane.seen == armed_->occurrence) return at;
    from = at + armed_->pattern.size();
  }
  may_pass = bytes.size() - begun(text.substr(from), armed_->pattern);
  return std::nullopt;
}

void FaultProxy::strike(Connection& connection, Lane& lane, ByteView rest) {
  const Fault fault = *std::exchange(armed_, std::nullopt);
  has_struck_ = true;
  switch (fault.kind) {
    case FaultKind::delay:
    case FaultKind::bandwidth:
    case FaultKind::stall: lasting_ = fault; return enqueue(lane, rest);
    case FaultKind::half_open: lane.is_swallowed = true; return;
    case FaultKind::blackhole:
      lasting_ = fault;
      connection.to_server.is_swallowed = connection.to_client.is_swallowed = true;
      return;
    case FaultKind::truncate: connection.ending = Ending::truncate; return;
    case FaultKind::reset: connection.ending = Ending::reset; return;
  }
}

void FaultProxy::enqueue(Lane& lane, ByteView bytes) {
  Instant due = os::monotonic_now();
  size_t slice = kReadMax;
  const bool is_slow = lasting_ && lasting_->direction == lane.direction;
  if (is_stalled()) due = Instant::max();  // until clear()
  if (is_slow && lasting_->kind == FaultKind::delay) due += lasting_->delay;
  const bool is_throttled = is_slow && lasting_->kind == FaultKind::bandwidth;
  if (is_throttled) slice = static_cast<size_t>(std::max<uint64_t>(1, lasting_->bytes_per_second / kSlicesPerSecond));
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min(bytes.size(), slice));
    if (is_throttled) {
      lane.free_at = std::max(lane.free_at, due) + Millis(piece.size() * 1000 / lasting_->bytes_per_second);
      lane.queue.push_back({Bytes(piece.begin(), piece.end()), lane.free_at});
    } else {
      lane.queue.push_back({Bytes(piece.begin(), piece.end()), due});
    }
    lane.queued += piece.size();
    bytes = bytes.subspan(piece.size());
  }
}

void FaultProxy::flush(Connection& connection, Lane& lane, Instant now) {
  while (!lane.queue.empty() && lane.queue.front().due <= now && !lane.end_is_passed) {
    Piece& piece = lane.queue.front();
    const int to = connection.to(lane).fd();
    if (piece.bytes.empty()) {
      ::shutdown(to, SHUT_WR);
      lane.end_is_passed = true;
      return lane.queue.clear();
    }
    const ssize_t count = ::send(to, piece.bytes.data(), piece.bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) {  // nobody is there any more; what he said before he went still passes in the other lane
      lane.queue.clear();
      lane.queued = 0;
      lane.has_ended = lane.end_is_passed = true;
      return;
    }
    lane.queued -= static_cast<size_t>(count);
    piece.bytes.erase(piece.bytes.begin(), piece.bytes.begin() + count);
    if (piece.bytes.empty()) lane.queue.pop_front();
  }
}

void FaultProxy::end_if_due(Connection& connection) {
  if (connection.ending == Ending::none) {
    const bool is_done = connection.to_server.end_is_passed && connection.to_client.end_is_passed;
    connection.is_over = connection.is_over || is_done;
    return;
  }
  const bool is_empty = connection.to_server.queue.empty() && connection.to_client.queue.empty();
  if (!is_empty || unconfirmed(connection.client) > 0 || unconfirmed(connection.server) > 0) return;
  if (connection.ending == Ending::reset) {
    connection.client.reset();
    connection.server.reset();
  }
  connection.is_over = true;
}

}  // namespace coterie::chaos
