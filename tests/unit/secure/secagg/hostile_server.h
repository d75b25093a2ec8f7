// A session in which the server lies to one device, and what that device says to it.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/matchers.h"
#include "tests/support/secagg_world.h"

namespace coterie::secagg {

inline constexpr uint32_t kVictim = 2;

inline test::SecaggWorld active_world(uint32_t devices = 6) {
  return test::SecaggWorld(test::secagg_parameters(SecurityLevel::active), devices);
}

// What the victim says when the server has told it this.
template <typename Message>
std::optional<Fault> victim_fault(test::SecaggWorld& world, test::SecaggWorld::Tamper<Message> test::SecaggWorld::*hook,
                                  auto lie) {
  world.*hook = [&world, lie](uint32_t who, Message& message) {
    if (who == kVictim) lie(world, message);
  };
  (void)world.run();  // the others may go on or not
  return world.fault_of(kVictim);
}

}  // namespace coterie::secagg

// In a cohort of six, with `message` changed by the last argument (the world is w); and then says no more.
#define EXPECT_VICTIM_SAYS(fault, hook, Message, ...)                                                              \
  do {                                                                                                             \
    test::SecaggWorld world = active_world();                                                                      \
    EXPECT_EQ(victim_fault<Message>(world, &test::SecaggWorld::hook,                                               \
                                    []([[maybe_unused]] test::SecaggWorld& w, Message& message) { __VA_ARGS__; }), \
              fault);                                                                                              \
    EXPECT_ERROR(world.client(kVictim).unmask({}), ErrorCode::conflict, "the session is over");                    \
  } while (false)
