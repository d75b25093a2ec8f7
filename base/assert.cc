#include "base/assert.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace coterie {
namespace {

void print_and_abort(const AssertionFailure& failure) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", failure.file, failure.line, failure.expression);
  std::abort();
}

std::atomic<AssertHandler> g_handler{&print_and_abort};

}  // namespace

AssertHandler set_assert_handler(AssertHandler handler) { return g_handler.exchange(handler); }

void assertion_failed(const char* expression, const char* file, int line) {
  g_handler.load()(AssertionFailure{expression, file, line});
  std::abort();  // a handler that returns is a bug of the embedder
}

}  // namespace coterie
