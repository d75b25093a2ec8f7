// COT_ASSERT: what must be true unless we wrote a bug. On in every build.
//
// Input from outside is never asserted on: it returns an Error. The default handler prints and aborts; the server wants
// that (restart is safe by design). The SDK installs a handler that throws AssertionFailure, caught at the C ABI, so
// that a host application is never aborted.
#pragma once

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

}  // namespace coterie

#define COT_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : ::coterie::assertion_failed(#expression, __FILE__, __LINE__))
