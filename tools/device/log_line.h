// What the reference device says: lines of JSON on standard error.
#pragma once

#include <cstdio>
#include <string>

namespace coterie {

inline void write_line(const std::string& line) {
  const std::string whole = line + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace coterie
