// Finding: one thing that the doctor looked at, what it saw, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coterie {

enum class Health : uint8_t {
  good,
  unseen,   // could not be looked at from here
  warning,  // works today
  bad       // does not work, or is not safe
};
std::string_view to_string(Health health);

struct Finding {
  Health health = Health::good;
  std::string subject;  // "open files"
  std::string seen;
  std::string advice;  // empty: there is nothing to do
  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

}  // namespace coterie
