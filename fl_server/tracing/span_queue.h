// SpanQueue: spans that wait for their collector, and when it is asked again. Pure: it is handed the time.
//
// A collector that does not answer costs spans, never a round: when the queue is full the oldest go, and are counted.
// After a failure that may pass the same spans are sent again, later each time; one that will not pass (a collector
// that refuses them) drops them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/time.h"
#include "fl_server/tracing/span.h"

namespace coterie {

// What came of a batch.
enum class Exported : uint8_t { taken, refused, unavailable };

class SpanQueue {
 public:
  static constexpr size_t kSpansMax = 4'096;
  static constexpr size_t kBatchMax = 512;
  static constexpr Millis kDelayMin{1'000}, kDelayMax{60'000};

  void add(std::vector<Span> spans);
  // The oldest kBatchMax that wait, if the collector may be asked now. They stay until done() says what came of them;
  // one batch is under way at a time.
  std::vector<Span> begin_batch(Instant now);
  void done(Exported outcome, Instant now);
  // When there may be something to send; nothing: when spans are added.
  std::optional<Instant> next() const;

  size_t size() const { return spans_.size(); }
  uint64_t exported() const { return exported_; }
  uint64_t dropped() const { return dropped_; }

 private:
  void drop(size_t count);

  std::deque<Span> spans_;
  size_t under_way_ = 0;  // of them, the oldest: the batch without what went for want of room since
  Millis delay_{0};
  Instant not_before_{};
  uint64_t exported_ = 0, dropped_ = 0;
};

}  // namespace coterie
