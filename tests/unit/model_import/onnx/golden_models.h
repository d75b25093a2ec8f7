// The names of the golden ONNX models (tests/golden/onnx/NAME.onnx).
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/paths.h"

namespace coterie::test {

inline std::vector<std::string> golden_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/onnx"))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace coterie::test
