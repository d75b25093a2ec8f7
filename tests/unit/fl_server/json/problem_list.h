// What is wrong: printed, and as the list of places that are named.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/problem.h"

namespace coterie {

inline void PrintTo(const Problem& problem, std::ostream* out) { *out << problem.pointer << ": " << problem.detail; }

}  // namespace coterie

namespace coterie::test {

inline std::vector<std::string> pointers_of(const Problems& problems) {
  std::vector<std::string> pointers;
  for (const Problem& problem : problems) pointers.push_back(problem.pointer);
  return pointers;
}

}  // namespace coterie::test
