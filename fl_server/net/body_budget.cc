#include "fl_server/net/body_budget.h"

namespace coterie {

bool BodyBudget::Share::resize(uint64_t bytes, uint64_t whole) {
  if (bytes <= bytes_) {
    if (state_) state_->bytes -= bytes_ - bytes;
    bytes_ = bytes;
    return true;
  }
  const uint64_t all = state_->bytes_max;
  const uint64_t mine = whole <= kSmallBodyBytesMax ? all : all - all / 4;
  const uint64_t more = bytes - bytes_;
  uint64_t held = state_->bytes;
  do {
    if (held > mine || more > mine - held) return false;
  } while (!state_->bytes.compare_exchange_weak(held, held + more));
  bytes_ = bytes;
  return true;
}

}  // namespace coterie
