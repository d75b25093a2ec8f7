// SettingsChecker: collects what is wrong with a job's settings, each problem under its JSON pointer.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/problem.h"
#include "base/time.h"

namespace coterie {

class SettingsChecker {
 public:
  explicit SettingsChecker(Problems& problems) : problems_(problems) {}

  void require(bool condition, std::string pointer, std::string detail) {
    if (!condition) problems_.push_back({std::move(pointer), std::move(detail)});
  }
  template <typename T>
  void in_range(T value, T low, T high, std::string pointer) {
    require(value >= low && value <= high, std::move(pointer),
            "must be in [" + text(low) + ", " + text(high) + "], is " + text(value));
  }

 private:
  static std::string text(double value) {
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (!digits.empty() && digits.back() == '.') digits.pop_back();
    return digits;
  }
  static std::string text(uint32_t value) { return std::to_string(value); }
  static std::string text(Millis value) { return std::to_string(value.count()); }

  Problems& problems_;
};

}  // namespace coterie
