// Actor: code that blocks, on a thread of its own, of which one at a time runs. Whoever resumes an actor stands still
// until the actor blocks or ends; so everything has one order, the same in each repetition.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace coterie::simulation {

// What unwinds an actor that is killed. What an actor runs catches no exceptions of others, so that only destructors
// see it: they close files and connections, as the system does for a process that is gone.
struct Killed {};

class Actor {
 public:
  // Runs `body` from the first resume() on.
  explicit Actor(std::function<void()> body);
  ~Actor();  // kills it
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  // ---- For the one who drives it
  void resume();  // it has not ended
  void kill();    // it ends where it blocks
  bool has_ended() const { return has_ended_; }
  bool is_killed() const { return is_killed_; }

  // ---- For the actor itself
  void block();             // until it is resumed; throws Killed
  [[noreturn]] void die();  // throws Killed here

 private:
  std::binary_semaphore may_run_{0}, stands_still_{0};
  bool is_killed_ = false, has_ended_ = false;  // handed over with the semaphores
  std::thread thread_;
};

}  // namespace coterie::simulation
