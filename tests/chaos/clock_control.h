// ClockControl: the test's end of clock_steps.h: a server that has environment() in its own has this wall clock.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "tests/chaos/clock_steps.h"

namespace coterie::chaos {

class ClockControl {
 public:
  static Result<ClockControl> make(const std::string& control_file);
  ClockControl(ClockControl&& other) noexcept
      : file_(std::move(other.file_)), shared_(std::exchange(other.shared_, nullptr)) {}
  ~ClockControl();

  std::vector<std::string> environment() const;
  // The wall clock is ahead of the real one by so much from now on; less than 0: behind.
  void set_ahead(Millis ahead) { __atomic_store_n(&shared_->ahead_ms, ahead.count(), __ATOMIC_SEQ_CST); }

 private:
  ClockControl(std::string file, clock_steps* shared) : file_(std::move(file)), shared_(shared) {}
  std::string file_;
  clock_steps* shared_;
};

}  // namespace coterie::chaos
