// What the measurements of vertical jobs share: both parties' machines in one process, each one's processor time.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "secure/crypto/secret.h"
#include "tests/bench/thread_time.h"
#include "vertical/stage/stage.h"

namespace coterie::bench {

// Each prints one JSON object.
void measure_psi();
void measure_regression();
void measure_split();

inline void succeed(const Status& status) {
  if (status) return;
  std::fprintf(stderr, "coterie-bench-vertical: %s\n", status.error().message().c_str());
  std::exit(1);
}
template <typename T>
T value_of(Result<T> result) {
  if (!result) succeed(result.error());
  return std::move(*result);
}

inline Secret<32> seed_of(uint64_t number) {
  Prng prng = Prng::derived(number, 32);
  Secret<32> seed;
  for (uint8_t& byte : seed.mutable_bytes()) byte = static_cast<uint8_t>(prng.next());
  return seed;
}

struct PartyWork {
  double cpu_s = 0;
  double sent_bytes = 0;  // of payloads
};

// Party 0 is the label party. Adds to what the parties have spent already.
inline void run_pair(const std::array<vertical::Stage*, 2>& stages, std::array<PartyWork, 2>& work) {
  const auto timed = [&](size_t party, auto call) {
    const double begin = thread_cpu_seconds();
    auto result = call(*stages[party]);
    work[party].cpu_s += thread_cpu_seconds() - begin;
    return result;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t from = 0; from < 2; ++from) {
      while (auto message = timed(from, [](vertical::Stage& stage) { return stage.next(); })) {
        moved = true;
        work[from].sent_bytes += static_cast<double>(message->payload.size());
        message->peer = static_cast<vertical::PartyIndex>(from);
        succeed(timed(1 - from, [&](vertical::Stage& stage) { return stage.receive(*message); }));
      }
    }
  }
  if (!stages[0]->done() || !stages[1]->done()) std::abort();
}

}  // namespace coterie::bench
