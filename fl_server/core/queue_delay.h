// QueueDelay: whether work that has waited for its turn is still begun, by how long it has waited and what it is worth.
// Pure.
//
// "Controlled delay" of a server (Maurer, Fail at Scale, ACM Queue 13(8), 2015; after CoDel, Nichols and Jacobson
// 2012): a queue that is longer than `target` for a moment is a burst and gets patience; one that is so for a whole
// `interval`, or longer than that, is standing until it was short for an interval, and then nobody is served who waited
// for longer than his work is worth. Requests are refused when their turn comes, for little, so that the queue stays
// about as long as the patience of what comes most, and the server goes on working at its rate whatever comes.
//
// What is worth more waits longer, so that it is refused only once everything below is refused and that was not enough:
//   newcomer  check-ins, enrollment: nothing was invested yet
//   download  plans and models: a ticket was given
//   update    the device has trained
//   session   messages of secure aggregation: without them the work of a whole cohort is lost
//
// Several queues (a network thread each, the store) are watched apart, as one may stand while another is empty.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace coterie {

enum class Work : uint8_t { newcomer, download, update, session };

struct QueueDelaySettings {
  Millis target{100};    // newcomers wait no longer in a queue that stands
  Millis interval{500};  // a queue that is longer than that for so long stands; patience with a burst
};

class QueueDelay {
 public:
  QueueDelay(QueueDelaySettings settings, size_t queues) : settings_(settings), queues_(queues) {}

  // What was seen at the head of a queue: its oldest has waited so long. Often: several times an interval.
  void observe(size_t queue, Millis waited, Instant now);

  // Whether work of this kind that has waited so long in this queue is still done.
  bool admits(size_t queue, Work work, Millis waited) const { return waited <= patience(queue, work); }
  Millis patience(size_t queue, Work work) const;

  bool is_standing(size_t queue) const { return queues_[queue].standing; }
  Millis latest(size_t queue) const { return queues_[queue].latest; }
  // The longest standing delay as a part of the target: what a fleet is scaled on. A burst does not count.
  double load() const;

 private:
  struct Queue {
    Millis latest{0};
    Millis least{0};  // since the interval began
    Millis most{0};
    Millis least_before{0};  // of the whole interval before
    Instant began{};
    bool has_begun = false;
    bool standing = false;
  };

  QueueDelaySettings settings_;
  std::vector<Queue> queues_;
};

}  // namespace coterie
