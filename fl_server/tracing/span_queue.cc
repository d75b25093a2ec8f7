#include "fl_server/tracing/span_queue.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace coterie {

void SpanQueue::add(std::vector<Span> spans) {
  for (Span& span : spans) spans_.push_back(std::move(span));
  if (spans_.size() > kSpansMax) drop(spans_.size() - kSpansMax);
}

// The oldest are those of the batch under way, if there is one: they count as dropped, wherever they have arrived.
void SpanQueue::drop(size_t count) {
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(count));
  under_way_ -= std::min(under_way_, count);
  dropped_ += count;
}

std::vector<Span> SpanQueue::begin_batch(Instant now) {
  COT_ASSERT(under_way_ == 0);
  if (now < not_before_) return {};
  under_way_ = std::min(spans_.size(), kBatchMax);
  return {spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(under_way_)};
}

void SpanQueue::done(Exported outcome, Instant now) {
  const size_t count = std::exchange(under_way_, 0);
  COT_ASSERT(count <= spans_.size());
  if (outcome == Exported::unavailable) {
    delay_ = std::clamp(delay_ * 2, kDelayMin, kDelayMax);
    not_before_ = now + delay_;
    return;
  }
  spans_.erase(spans_.begin(), spans_.begin() + static_cast<std::ptrdiff_t>(count));
  (outcome == Exported::taken ? exported_ : dropped_) += count;
  delay_ = Millis(0);
  not_before_ = now;
}

std::optional<Instant> SpanQueue::next() const {
  if (spans_.empty()) return std::nullopt;
  return not_before_;
}

}  // namespace coterie
