#include "tools/demo/absences.h"

#include <algorithm>

namespace coterie {

void Absences::begin_round(Instant now, Millis length) {
  end_round(now);
  for (uint32_t device = 0; device < devices_; ++device) {
    if (!prng_.chance(probability_)) continue;
    const Instant from = now + Millis(prng_.below(static_cast<uint64_t>(std::max(Millis(0), length).count()) + 1));
    absences_.push_back({device, from, from + absence_max});
  }
}

void Absences::end_round(Instant now) {
  std::erase_if(absences_, [](const Absence& absence) { return !absence.is_away; });  // the round was over before
  for (Absence& absence : absences_) absence.until = std::min(absence.until, now);
}

// First those of a round that is over: one of them may leave in the next.
Absences::Moves Absences::step(Instant now) {
  Moves moves;
  for (Absence& absence : absences_) {
    if (absence.is_away && now >= absence.until) moves.come_back.push_back(absence.device);
  }
  std::erase_if(absences_, [&](const Absence& absence) { return absence.is_away && now >= absence.until; });
  for (Absence& absence : absences_) {
    if (absence.is_away || now < absence.from) continue;
    absence.is_away = true;
    absence.until = now + absence_max;
    moves.leave.push_back(absence.device);
  }
  return moves;
}

}  // namespace coterie
