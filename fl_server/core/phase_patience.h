// PhasePatience: how long a phase of a cohort still waits for devices that have not answered, by how many have. Pure.
//
// Devices of one cohort do the same work, so the time that most of them took says what the others may need. While only
// those are missing who were planned for, they have as long again. While more are missing and the session could do
// without them, five times as long: without them it is nearer to its end. While it cannot do without them: as long as
// the phase may take.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace coterie {

struct PhasePatience {
  uint32_t planned = 0;  // answers when only those are missing who were planned for
  uint32_t least = 0;    // answers without which the session cannot go on; at most `planned`
  Millis min{0};         // a device is never given less: it may be waiting for its disk or its turn

  // How long from now on, at most, when `answered` have answered in the first `elapsed` of the phase; nothing: no
  // limit.
  std::optional<Instant::duration> after(uint32_t answered, Instant::duration elapsed) const;
};

}  // namespace coterie
