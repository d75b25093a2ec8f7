// Groups of examples by what a column says of each: whom a model is asked to treat alike.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace coterie {

inline constexpr uint32_t kGroupExamplesMin = 30;  // of a group, unless another least is named
inline constexpr size_t kExampleGroupsMax = 50;    // those with the most examples; the others are folded
inline constexpr size_t kGroupValuesMax = 20;  // a column of numbers with more different ones is cut at its quartiles

struct ExampleGroups {
  std::string column;
  std::vector<std::string> names;
  std::vector<uint32_t> of;      // the group of each example, a place in `names`
  std::optional<uint32_t> rest;  // the group of all that are folded: it is compared with no other
  size_t folded = 0;             // groups in it
};

// `values`: what the column says of each example. A field that says that it is missing (is_missing) is in the group
// "(missing)". Groups stand in the order of comes_before, quartiles ascend. Groups of fewer than `examples_min`
// examples, and those beyond kExampleGroupsMax, are folded into "(other)", which stands last: shares of a few examples
// say nothing, and may say whose they are. Pure.
ExampleGroups make_groups(const std::string& column, std::span<const std::string> values, uint64_t examples_min);

}  // namespace coterie
