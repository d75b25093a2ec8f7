// Whether this process computes what everybody else does: a known answer a primitive. Asked before the first round, so
// that a library that was built or replaced wrongly, or a CPU that lies about its instructions, is found there.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace coterie {

// Runs once a process, in less than 5 ms, and keeps its answer; thread-safe. The error (internal) names the primitive.
Result<void> crypto_self_test();

// What it asks, for its own test.
struct KnownAnswer {
  const char* primitive;
  std::string (*compute)();
  const char* expected;
};
std::span<const KnownAnswer> known_answers();
Status check(std::span<const KnownAnswer> answers);

}  // namespace coterie
