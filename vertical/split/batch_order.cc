#include "vertical/split/batch_order.h"

#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "base/random.h"

namespace coterie::vertical {

BatchOrder::BatchOrder(const SplitSettings& settings, uint32_t rows, const Digest& name)
    : rows_(rows),
      batch_(std::min(settings.batch, rows)),
      epochs_(settings.epochs),
      steps_an_epoch_((rows + batch_ - 1) / batch_),
      shuffle_(settings.shuffle),
      order_(rows) {
  for (size_t i = 0; i < 8; ++i) seed_ |= uint64_t{name.bytes[i]} << (8 * i);
}

uint32_t BatchOrder::rows_of(uint32_t step) const { return std::min(batch_, rows_ - step % steps_an_epoch_ * batch_); }

std::span<const uint32_t> BatchOrder::rows(uint32_t step) {
  COT_ASSERT(step < steps());
  if (const uint32_t epoch = step / steps_an_epoch_; epoch != epoch_) {
    std::iota(order_.begin(), order_.end(), 0u);
    Prng random = Prng::derived(seed_, epoch);
    if (shuffle_) random.shuffle(order_);
    epoch_ = epoch;
  }
  return std::span(order_).subspan(step % steps_an_epoch_ * batch_, rows_of(step));
}

}  // namespace coterie::vertical
