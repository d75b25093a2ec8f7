// Absences: which devices of a demo vanish, and when: each with a probability in each round, at a random moment of it,
// as one whose app the phone puts to sleep. It is away until the round is over, or for absence_max if the round cannot
// go on without it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace coterie {

class Absences {
 public:
  struct Moves {
    std::vector<uint32_t> leave, come_back;
  };
  static constexpr Millis absence_max{3'000};

  Absences(uint32_t devices, double probability, uint64_t seed)
      : devices_(devices), probability_(probability), prng_(seed) {}

  // A round of about this length begins; the one before is over.
  void begin_round(Instant now, Millis length);
  void end_round(Instant now);
  // The devices (from 0) whose time has come since the last call. None leaves who is away, none comes back who is not.
  Moves step(Instant now);

 private:
  struct Absence {
    uint32_t device = 0;
    Instant from, until;
    bool is_away = false;
  };

  uint32_t devices_;
  double probability_;
  Prng prng_;
  std::vector<Absence> absences_;
};

}  // namespace coterie
