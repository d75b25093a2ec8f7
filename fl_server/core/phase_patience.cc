#include "fl_server/core/phase_patience.h"

#include <algorithm>

namespace coterie {
namespace {

constexpr int kForPlanned = 1, kForUnplanned = 5;  // times what those who answered took

}  // namespace

std::optional<Instant::duration> PhasePatience::after(uint32_t answered, Instant::duration elapsed) const {
  if (answered == 0 || answered < least) return std::nullopt;
  if (answered >= planned) return std::max<Instant::duration>(min, kForPlanned * elapsed);
  return kForUnplanned * std::max<Instant::duration>(min, elapsed);
}

}  // namespace coterie
