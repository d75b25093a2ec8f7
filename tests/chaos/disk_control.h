// DiskControl: the test's end of disk_faults.h: a server that has environment() in its own fails when this says so.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tests/chaos/disk_faults.h"

namespace coterie::chaos {

class DiskControl {
 public:
  // Operations on files under `directory` (absolute) count.
  static Result<DiskControl> make(const std::string& control_file, const std::string& directory);
  DiskControl(DiskControl&& other) noexcept
      : file_(std::move(other.file_)), shared_(std::exchange(other.shared_, nullptr)) {}
  DiskControl& operator=(DiskControl&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~DiskControl();

  std::vector<std::string> environment() const;
  uint64_t count() const { return __atomic_load_n(&shared_->count, __ATOMIC_SEQ_CST); }
  uint64_t strikes() const { return __atomic_load_n(&shared_->strikes, __ATOMIC_SEQ_CST); }
  bool is_armed() const { return __atomic_load_n(&shared_->strike_at, __ATOMIC_SEQ_CST) != 0; }
  // What failed last: "fsync /path".
  std::string struck() const { return shared_->struck; }

  // The operation after the next `skip` fails with `error` (0: a short write), if it is of these kinds, else the next
  // one that is; that one alone, or it and all that follow until clear().
  void arm(uint64_t skip, int error, uint32_t kinds = DISK_ANY, bool lasts = false);
  void clear();

 private:
  DiskControl(std::string file, disk_faults* shared) : file_(std::move(file)), shared_(shared) {}
  std::string file_;
  disk_faults* shared_;
};

}  // namespace coterie::chaos
