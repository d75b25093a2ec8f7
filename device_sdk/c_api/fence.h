// The exception fence: nothing that happens inside a call reaches the host but a status.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/assert.h"
#include "coterie.h"

namespace coterie {

// Makes assertion failures throw in this process instead of aborting it.
void install_assert_handler();

// Runs `body` (returning coterie_status). `poison` is called, if the body failed in a way that leaves its objects
// unusable.
template <typename Body, typename Poison>
coterie_status fenced(Body body, Poison poison) noexcept {
  try {
    return body();
  } catch (const AssertionFailure& failure) {
    poison(failure.expression);
  } catch (const std::bad_alloc&) {
    poison("out of memory");
  } catch (const std::exception& error) {
    poison(error.what());
  } catch (...) {
    poison("unknown exception");
  }
  return COTERIE_INTERNAL;
}

}  // namespace coterie
