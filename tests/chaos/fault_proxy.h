// FaultProxy: a TCP proxy of this process that does to connections what networks do: it delays, throttles, stalls,
// swallows, truncates, resets and refuses. One thread (poll). Whoever is tested connects to endpoint() instead of the
// real server.
//
// One fault at a time is armed. It strikes in front of a certain byte of one direction, so that a test can cut a
// conversation wherever it wants and cut it there again:
//   * in front of the byte number `after_bytes` (from 0) that comes in its direction after arm(), on all connections
//   together;
//   * or, with a `pattern`, in front of its n-th occurrence in one connection after arm(): the pattern itself does not
//   pass.
// Everything in front of it reaches the other end first. What does not strike leaves no trace.
//
// Thread-safe; the destructor closes everything.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "tests/chaos/socket.h"

namespace coterie::chaos {

enum class Direction : uint8_t { to_server, to_client };

enum class FaultKind : uint8_t {
  delay,      // until clear(), what comes in this direction is passed on `delay` later
  bandwidth,  // until clear(), at most `bytes_per_second` pass in this direction
  stall,      // until clear(), nothing passes on any connection, in either direction; then all of it does, in order
  half_open,  // of this connection nothing passes in this direction any more, nor its end; the other one goes on
  blackhole,  // of this connection nothing passes any more, nor of new ones until clear(); nobody is told
  truncate,   // this connection is closed at both ends, in order
  reset,      // this connection is reset (RST) at both ends
};

struct Fault {
  FaultKind kind = FaultKind::reset;
  Direction direction = Direction::to_client;
  uint64_t after_bytes = 0;
  std::string pattern = {};
  uint32_t occurrence = 1;        // which one of the pattern, from 1
  Millis delay = Millis(0);       // of FaultKind::delay
  uint64_t bytes_per_second = 0;  // of FaultKind::bandwidth
};

class FaultProxy {
 public:
  // Listens at `listen` and connects every client to `server`, which need not be there yet: then the client is reset.
  static Result<std::unique_ptr<FaultProxy>> start(Endpoint listen, Endpoint server);
  ~FaultProxy();

  const Endpoint& endpoint() const { return listen_; }

  // In place of what was armed before; what has struck goes on until clear().
  void arm(Fault fault);
  // Ends what is armed and what lasts. Connections that have lost bytes never recover.
  void clear();
  // From now on nobody may connect (ECONNREFUSED; a socket's file is gone), or again.
  void refuse(bool refuses);
  // Every connection, at once.
  void reset_all();

  // Whether what was armed last has struck.
  bool has_struck() const;
  bool wait_until_struck(Millis patience);
  // Bytes that came in this direction, whether they were passed on or not, on all connections so far.
  uint64_t bytes(Direction direction) const;
  bool wait_for_bytes(Direction direction, uint64_t count, Millis patience);
  uint64_t connections() const;  // ever accepted

 private:
  struct Piece {  // on its way; without bytes: the end of the stream
    Bytes bytes;
    Instant due;
  };
  struct Lane {  // one direction of a connection
    Direction direction;
    std::deque<Piece> queue = {};
    size_t queued = 0;
    Bytes held = {};       // may be the beginning of the armed pattern
    uint32_t seen = 0;     // occurrences of it
    Instant free_at = {};  // of a throttled one
    bool is_swallowed = false;
    bool has_ended = false;      // nothing more is read
    bool end_is_passed = false;  // or nobody is there to pass it to
  };
  enum class Ending : uint8_t { none, truncate, reset };
  struct Connection {
    Socket client, server;
    Lane to_server{Direction::to_server}, to_client{Direction::to_client};
    Ending ending = Ending::none;  // as soon as what is queued has left
    bool is_over = false;
    Socket& from(const Lane& lane) { return lane.direction == Direction::to_server ? client : server; }
    Socket& to(const Lane& lane) { return lane.direction == Direction::to_server ? server : client; }
  };
  FaultProxy(Endpoint listen, Endpoint server) : listen_(std::move(listen)), server_(std::move(server)) {}

  // All of these expect the mutex to be held.
  Status open_door();
  void wake() const;
  bool is_stalled() const { return lasting_ && lasting_->kind == FaultKind::stall; }
  void forget_patterns();
  void take_in();
  void read(Connection& connection, Lane& lane);
  void pass(Connection& connection, Lane& lane, ByteView bytes);
  std::optional<size_t> find_strike(Lane& lane, ByteView bytes, size_t& may_pass);
  void strike(Connection& connection, Lane& lane, ByteView rest);
  void enqueue(Lane& lane, ByteView bytes);
  void flush(Connection& connection, Lane& lane, Instant now);
  void end_if_due(Connection& connection);
  Millis until_next(Instant now);
  // The proxy's thread.
  void run();

  Endpoint listen_;
  const Endpoint server_;
  Socket port_;  // so that nobody else takes it while we refuse
  Socket door_;
  int wake_ = -1;
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Connection> connections_;  // only the proxy's thread adds and removes
  std::optional<Fault> armed_;
  std::optional<Fault> lasting_;  // what has struck and goes on
  uint64_t countdown_ = 0;        // of armed_: bytes that pass before it strikes
  bool has_struck_ = false;
  bool refuses_ = false;
  bool stops_ = false;
  std::array<uint64_t, 2> bytes_{};
  uint64_t accepted_ = 0;
};

}  // namespace coterie::chaos
