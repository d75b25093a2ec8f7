#include "tests/simulation/vertical/actor.h"

#include <utility>

#include "base/assert.h"

namespace coterie::simulation {

Actor::Actor(std::function<void()> body)
    : thread_([this, body = std::move(body)] {
        may_run_.acquire();
        try {
          if (!is_killed_) body();
        } catch (const Killed&) {
          // All that it held is gone.
        }
        has_ended_ = true;
        stands_still_.release();
      }) {}

Actor::~Actor() { kill(); }

void Actor::resume() {
  COT_ASSERT(!has_ended_);
  may_run_.release();
  stands_still_.acquire();
  if (has_ended_) thread_.join();  // a world has many lives: what ended keeps no stack
}

void Actor::kill() {
  if (has_ended_) return;
  is_killed_ = true;
  resume();
  COT_ASSERT(has_ended_);
}

void Actor::block() {
  COT_ASSERT(!is_killed_);
  stands_still_.release();
  may_run_.acquire();
  if (is_killed_) throw Killed();
}

void Actor::die() {
  is_killed_ = true;
  throw Killed();
}

}  // namespace coterie::simulation
