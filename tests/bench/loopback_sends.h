// What sends cost on loopback: the least that a server pays for telling something to many readers on its own machine.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/time.h"

namespace coterie {

struct LoopbackSends {
  uint32_t readers = 0;  // connections over TCP, each with a thread that takes what comes
  uint32_t bytes = 0;    // a send
  uint32_t rounds = 0;   // in each of which one thread sends to all, one behind the other
  Millis every{0};       // a round
};
// CPU seconds of the thread that sends, a send. Its way ends at the reader's socket, with the reader woken.
Result<double> cpu_seconds_of_a_send(const LoopbackSends& sends);

}  // namespace coterie
