#include "tests/simulation/vertical/connection.h"

#include <algorithm>
#include <utility>

namespace coterie::simulation {

void Connection::push(Side from, Chunk chunk) {
  Direction& direction = directions_[from];
  const Millis delay(prng_.below(static_cast<uint64_t>(delay_max_.count()) + 1));
  direction.last = std::max(direction.last, queue_.now() + delay);
  direction.on_the_way.push_back(std::move(chunk));
  queue_.at(direction.last, [self = shared_from_this(), from] { self->arrive(from); });
}

void Connection::arrive(Side from) {
  std::deque<Chunk>& waiting = directions_[from].on_the_way;
  if (waiting.empty()) return;  // lost in a cut
  const Chunk chunk = std::move(waiting.front());
  waiting.pop_front();
  // A copy: who hears it may close the connection.
  const End end = ends_[1 - from];
  if (chunk.is_end) {
    if (end.ended) end.ended();
  } else if (end.heard) {
    end.heard(chunk.bytes);
  }
}

void Connection::send(Side from, ByteView bytes) {
  if (directions_[from].is_over) return;
  if (bytes.size() > 1 && prng_.chance(0.2)) {
    const size_t first = 1 + prng_.below(bytes.size() - 1);
    push(from, {.bytes = Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(first))});
    bytes = bytes.subspan(first);
  }
  push(from, {.bytes = Bytes(bytes.begin(), bytes.end())});
}

void Connection::close(Side from) {
  ends_[from] = {};
  if (std::exchange(directions_[from].is_over, true)) return;
  push(from, {.bytes = {}, .is_end = true});
}

void Connection::cut() {
  for (const Side from : {kParty, kCoordinator}) {
    Direction& direction = directions_[from];
    if (std::exchange(direction.is_over, true)) continue;
    std::deque<Chunk>& waiting = direction.on_the_way;
    if (!waiting.empty()) {
      waiting.resize(1);
      waiting[0].bytes.resize(prng_.below(waiting[0].bytes.size() + 1));
    }
    push(from, {.bytes = {}, .is_end = true});
  }
}

void Connection::stall(Millis time) {
  for (Direction& direction : directions_) direction.last = std::max(direction.last, queue_.now() + time);
}

}  // namespace coterie::simulation
