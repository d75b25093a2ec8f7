// RoundSpans: each attempt at a round as a trace of its own, made of events. Pure: no clock, no lock.
//
//   round ------------------------------------------------
//     selecting ----  collecting -----------  finalizing --
//
// The spans of an attempt are told when it ends: then its phases are known. An attempt that was under way before the
// first event has none. Its updates are moments of `collecting`, the first kMomentsMax of them: a count each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fl_server/events/event.h"
#include "fl_server/tracing/span.h"

namespace coterie {

class RoundSpans {
 public:
  static constexpr size_t kAttemptsMax = 1'000;  // under way; beyond it the oldest is forgotten
  static constexpr size_t kMomentsMax = 64;      // of one span

  // `life` tells apart what two servers, or two lives of one, call round 1: EventHub's epoch.
  explicit RoundSpans(std::string life) : life_(std::move(life)) {}

  // What the event ends: nothing, or the spans of one attempt, the root first.
  std::vector<Span> take(const Event& event);
  size_t under_way() const { return attempts_.size(); }

 private:
  // The spans so far: the root, then its phases in their order; the last one has no end yet.
  using Attempt = std::vector<Span>;

  void begin(const Event& event, const event::RoundName& round);
  Attempt* find(const event::RoundName& round);
  void begin_phase(const event::RoundName& round, std::string name, WallTime time);
  void add_moment(const event::RoundName& round, Span::Moment moment);
  std::vector<Span> end(const event::RoundName& round, WallTime time);
  Span span_of(const RoundKey& key, uint8_t place, std::string name, WallTime begin) const;

  std::string life_;
  std::map<RoundKey, Attempt> attempts_;
};

}  // namespace coterie
