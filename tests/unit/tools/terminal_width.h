// Whether what a command prints fits a terminal of 80 columns.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace coterie::test {

// But for the lines that name a file, which is as long as its path.
inline void expect_80_columns(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("written to") == line.npos) EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace coterie::test
