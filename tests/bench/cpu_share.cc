#include "tests/bench/cpu_share.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace coterie::bench {
namespace {

constexpr int kPeriodUs = 10'000;

bool write_text(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fputs(text.c_str(), file) >= 0;
  return std::fclose(file) == 0 && written;
}

}  // namespace

Result<CpuShare> CpuShare::give(int pid, double share) {
  const std::string name = "/coterie-bench-" + std::to_string(::getpid());
  const std::string quota = std::to_string(static_cast<int>(share * kPeriodUs)), period = std::to_string(kPeriodUs);
  for (const bool is_v1 : {true, false}) {
    const std::string directory = (is_v1 ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup") + name;
    if (::mkdir(directory.c_str(), 0755) != 0) continue;
    CpuShare made(directory);
    const bool limited = is_v1 ? write_text(directory + "/cpu.cfs_period_us", period) &&
                                     write_text(directory + "/cpu.cfs_quota_us", quota)
                               : write_text(directory + "/cpu.max", quota + " " + period);
    if (limited && write_text(directory + "/cgroup.procs", std::to_string(pid))) return made;
  }
  return Error(ErrorCode::permission_denied,
               "no control group with a CPU limit can be made here (root, and /sys/fs/cgroup writable)");
}

CpuShare::~CpuShare() {
  if (!directory_.empty()) ::rmdir(directory_.c_str());
}

}  // namespace coterie::bench
