// How much memory of the process the machine holds. Only shells include this; pure code is handed the number.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace coterie::os {

// 0 where the system does not say (/proc/self/statm).
inline uint64_t resident_bytes() {
  unsigned long pages_total = 0, pages_resident = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu %lu", &pages_total, &pages_resident) != 2) pages_resident = 0;
    std::fclose(file);
  }
  return static_cast<uint64_t>(pages_resident) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace coterie::os
