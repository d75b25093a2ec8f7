// A double (process_double.h) that is written in Python.
#pragma once

#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/process_double.h"

namespace coterie::test {

class PythonDouble : public ProcessDouble {
 public:
  // `program`: below the source directory.
  PythonDouble(const std::string& program, const std::vector<std::string>& arguments)
      : ProcessDouble(words(program, arguments)) {}

 private:
  static std::vector<std::string> words(const std::string& program, const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"python3", "-B", source_dir() + "/" + program};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }
};

}  // namespace coterie::test
