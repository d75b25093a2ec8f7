#include "fl_server/core/queue_delay.h"

#include <algorithm>

namespace coterie {
namespace {

// A standing queue comes near the target again and again. One that stays below half of it has drained.
constexpr int kShortPart = 2;

// How many targets work waits in a queue that stands. Whoever has a ticket is refused last of all: the ticket was given
// for nothing, then. (With 2 for downloads, a sixth of the tickets at ten times the load.)
int worth(Work work) {
  switch (work) {
    case Work::newcomer: return 1;
    case Work::download: return 6;
    case Work::update: return 7;
    case Work::session: return 8;
  }
  return 1;
}

}  // namespace

void QueueDelay::observe(size_t index, Millis waited, Instant now) {
  Queue& queue = queues_[index];
  queue.latest = waited;
  if (!queue.has_begun || now - queue.began >= settings_.interval) {
    if (queue.has_begun) {
      queue.least_before = queue.least;
      if (queue.least > settings_.target) queue.standing = true;
      else if (queue.most <= settings_.target / kShortPart) queue.standing = false;
    }
    queue.has_begun = true;
    queue.began = now;
    queue.least = queue.most = waited;
  }
  queue.least = std::min(queue.least, waited);
  queue.most = std::max(queue.most, waited);
  if (waited > settings_.interval) queue.standing = true;
}

Millis QueueDelay::patience(size_t index, Work work) const {
  const Millis standing = settings_.target * worth(work);
  return queues_[index].standing ? standing : std::max(standing, settings_.interval);
}

double QueueDelay::load() const {
  Millis longest{0};
  for (const Queue& queue : queues_) longest = std::max(longest, std::min(queue.latest, queue.least_before));
  return settings_.target.count() == 0
             ? 0
             : static_cast<double>(longest.count()) / static_cast<double>(settings_.target.count());
}

}  // namespace coterie
