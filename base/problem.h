// Problem: one thing that is wrong with what somebody wrote (a job, a configuration, a query), and where.
#pragma once

#include <string>
#include <vector>

namespace coterie {

struct Problem {
  std::string pointer;  // RFC 6901 JSON pointer of the value that is wrong
  std::string detail;   // what to do about it
  friend bool operator==(const Problem&, const Problem&) = default;
};
using Problems = std::vector<Problem>;

}  // namespace coterie
