// COT_ASSERT: what must be true unless we wrote a bug. On in every build.
//
// COT_INVARIANT: the same, said as a sentence about a machine, which is what is printed when it does not hold. A
// machine states all of its own in `check()`. Tests, the simulator and the fuzz targets call that after every step, and
// builds with COT_CHECK_STEPS (Debug) do so by themselves: see StepCheck.
//
// Input from outside is never asserted on: it returns an Error. The default handler prints and aborts; the server wants
// that (restart is safe by design). The SDK installs a handler that throws AssertionFailure, caught at the C ABI, so
// that a host application is never aborted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie {

struct AssertionFailure {
  const char* expression;
  const char* file;
  int line;
};

using AssertHandler = void (*)(const AssertionFailure&);

// Replaces the process-wide handler; returns the previous one. The handler must not return.
AssertHandler set_assert_handler(AssertHandler handler);

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

// What a map holds under `key`. It must be there unless we wrote a bug: `sentence` says what would be true, as in
// COT_INVARIANT, and the failure names the caller's line.
template <typename Map, typename Key>
auto& must_find(Map& map, const Key& key, const char* sentence, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  const auto found = map.find(key);
  if (found == map.end()) assertion_failed(sentence, file, line);
  return found->second;
}

#ifdef COT_CHECK_STEPS
inline constexpr bool kChecksSteps = true;
#else
inline constexpr bool kChecksSteps = false;
#endif

// When a machine checks itself in builds that check steps. A check looks at everything that the machine holds, so a
// machine with more than kEachStepMax things checks only some of its steps: a step then costs about the same however
// much the machine holds.
class StepCheck {
 public:
  static constexpr size_t kEachStepMax = 256;

  // Call once a step; `size`: how many things a check looks at.
  bool is_due(size_t size) {
    if (!kChecksSteps || ++steps_ * kEachStepMax < size) return false;
    steps_ = 0;
    return true;
  }

 private:
  uint64_t steps_ = 0;  // since the last check
};

}  // namespace coterie

#define COT_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::coterie::assertion_failed(#expression, __FILE__, __LINE__))

#define COT_INVARIANT(condition, sentence) \
  ((condition) ? static_cast<void>(0) : ::coterie::assertion_failed(sentence, __FILE__, __LINE__))
