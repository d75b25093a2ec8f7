#include "tests/chaos/disk_control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/support/paths.h"

namespace coterie::chaos {

Result<DiskControl> DiskControl::make(const std::string& control_file, const std::string& directory) {
  const int fd = ::open(control_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(disk_faults)) != 0) {
    return Error(ErrorCode::unavailable, "test: cannot make " + control_file + ": " + std::strerror(errno));
  }
  void* const mapped = ::mmap(nullptr, sizeof(disk_faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (mapped == MAP_FAILED) return Error(ErrorCode::unavailable, "test: cannot map " + control_file);
  auto* const shared = static_cast<disk_faults*>(mapped);
  std::strncpy(shared->under, (directory + "/").c_str(), DISK_FAULTS_PATH_MAX - 1);
  return DiskControl(control_file, shared);
}

DiskControl::~DiskControl() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(disk_faults));
}

std::vector<std::string> DiskControl::environment() const {
  return {"LD_PRELOAD=" + test::bin_dir() + "/libcoterie_disk_faults.so",
          std::string(DISK_FAULTS_CONTROL) + "=" + file_};
}

void DiskControl::arm(uint64_t skip, int error, uint32_t kinds, bool lasts) {
  __atomic_store_n(&shared_->strike_at, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared_->error, static_cast<uint32_t>(error), __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared_->kinds, kinds, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared_->lasts, lasts ? 1u : 0u, __ATOMIC_SEQ_CST);
  __atomic_store_n(&shared_->strike_at, count() + skip + 1, __ATOMIC_SEQ_CST);
}

void DiskControl::clear() { __atomic_store_n(&shared_->strike_at, 0, __ATOMIC_SEQ_CST); }

}  // namespace coterie::chaos
