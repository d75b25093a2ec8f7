// Connection: a party's connection to the coordinator, both directions in order, each message late by a little. It may
// be cut, and then what is on its way arrives in part: in the middle of a frame.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/random.h"
#include "tests/simulation/event_queue.h"

namespace coterie::simulation {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  enum Side : uint8_t { kParty = 0, kCoordinator = 1 };
  struct End {
    std::function<void(ByteView)> heard;
    std::function<void()> ended;  // nothing more comes
  };

  Connection(EventQueue& queue, Prng& prng, Millis delay_max) : queue_(queue), prng_(prng), delay_max_(delay_max) {}

  void attach(Side side, End end) { ends_[side] = std::move(end); }
  // In pieces, perhaps.
  void send(Side from, ByteView bytes);
  // The other side hears what was sent, then the end. Who closes hears nothing more.
  void close(Side from);
  void cut();
  // Nothing arrives for so long.
  void stall(Millis time);

 private:
  struct Chunk {
    Bytes bytes;
    bool is_end = false;
  };
  // From one side to the other.
  struct Direction {
    std::deque<Chunk> on_the_way;
    Instant last{};  // when the newest arrives
    bool is_over = false;
  };
  void push(Side from, Chunk chunk);
  void arrive(Side from);

  EventQueue& queue_;
  Prng& prng_;
  Millis delay_max_;
  End ends_[2];
  Direction directions_[2];
};

}  // namespace coterie::simulation
