#include "fl_server/serving/process_pulse.h"

namespace coterie {

bool ProcessPulse::look(size_t process, uint64_t beats) {
  Seen& seen = seen_[process];
  if (beats != seen.beats) {
    seen = {.beats = beats};
    return false;
  }
  return ++seen.without_beat == looks_max_;
}

}  // namespace coterie
