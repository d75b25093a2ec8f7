#include "tests/chaos/clock_control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/paths.h"

namespace coterie::chaos {

Result<ClockControl> ClockControl::make(const std::string& control_file) {
  const int fd = ::open(control_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(clock_steps)) != 0) {
    return Error(ErrorCode::unavailable, "test: cannot make " + control_file);
  }
  void* const mapped = ::mmap(nullptr, sizeof(clock_steps), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return Error(ErrorCode::unavailable, "test: cannot map " + control_file);
  return ClockControl(control_file, static_cast<clock_steps*>(mapped));
}

ClockControl::~ClockControl() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(clock_steps));
}

std::vector<std::string> ClockControl::environment() const {
  return {"LD_PRELOAD=" + test::bin_dir() + "/libcoterie_clock_steps.so",
          std::string(CLOCK_STEPS_CONTROL) + "=" + file_};
}

}  // namespace coterie::chaos
