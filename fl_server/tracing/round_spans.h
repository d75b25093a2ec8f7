// RoundSpans: each attempt at a round as a trace of its own, made of events. Pure: no clock, no lock.
//
//   round ------------------------------------------------
//     selecting ----  collecting -----------  finalizing --
//
// The spans of an attempt are told when it ends: then its phases are known. Calls of stores are spans below the phase
// in which they began, those that took longest. An attempt that was under way before the first event has none. Its
// updates are moments of `collecting`, the first kMomentsMax of them: a count each.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "fl_server/events/event.h"
#include "fl_server/tracing/span.h"
#include "fl_server/tracing/store_call.h"

namespace coterie {

class RoundSpans {
 public:
  static constexpr size_t kAttemptsMax = 1'000;  // under way; beyond it the oldest is forgotten
  static constexpr size_t kMomentsMax = 64;      // of one span
  static constexpr size_t kCallsMax = 64;        // of one attempt: the longest
  static constexpr size_t kLateCallsMax = 16;    // of one attempt that has ended: the first
  static constexpr size_t kEndedMax = 128;       // attempts whose late calls are still told, the newest

  // `life` tells apart what two servers, or two lives of one, call round 1: EventHub's epoch.
  explicit RoundSpans(std::string life, TracedStores stores = {})
      : life_(std::move(life)), stores_(std::move(stores)) {}

  // What the event ends: nothing, or the spans of one attempt: the root, its phases, its calls of stores as they
  // returned.
  std::vector<Span> take(const Event& event);
  // A call that has returned. It is told with its attempt; at once where that has ended, as the call that commits a
  // round returns after the event which says so.
  std::vector<Span> take_call(const RoundKey& key, const StoreCall& call);
  size_t under_way() const { return attempts_.size(); }

 private:
  struct Call {
    StoreCall of;
    size_t spans = 0;  // the root and the phases that had begun when it returned
  };
  struct Attempt {
    std::vector<Span> spans;  // the root, then its phases in their order; the last one has no end yet
    std::vector<Call> calls = {};
    uint64_t calls_in_all = 0;
  };
  struct Ended {
    RoundKey key;
    std::vector<Span> spans;  // the root and the phases
    size_t late_calls = 0;
  };

  void begin(const Event& event, const event::RoundName& round);
  Attempt* find(const event::RoundName& round);
  void begin_phase(const event::RoundName& round, std::string name, WallTime time);
  void add_moment(const event::RoundName& round, Span::Moment moment);
  std::vector<Span> end(const event::RoundName& round, WallTime time);
  static void keep_longest(Attempt& attempt, const StoreCall& call);
  Span call_span(const Ended& ended, size_t place, const Call& call) const;
  Span phase_span(const RoundKey& key, size_t place, std::string name, WallTime begin) const;
  SpanId id_of(const RoundKey& key, size_t place) const;
  std::string name_of(const RoundKey& key) const;

  std::string life_;
  TracedStores stores_;
  std::map<RoundKey, Attempt> attempts_;
  std::deque<Ended> ended_;  // the oldest first
};

}  // namespace coterie
