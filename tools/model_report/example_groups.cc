#include "tools/model_report/example_groups.h"

#include <algorithm>
#include <functional>
#include <map>

#include "tools/data/csv_rows.h"
#include "tools/demo/chart_page.h"

namespace coterie {
namespace {

constexpr const char* kMissing = "(missing)";
constexpr const char* kRest = "(other)";

// The numbers that the fields say, of fields that say one; empty if one says anything else.
std::vector<double> numbers_in(std::span<const std::string> values) {
  std::vector<double> numbers;
  for (const std::string& value : values) {
    if (is_missing(value)) continue;
    const std::optional<double> number = number_in(value);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// Where the quartiles end, the last excepted; empty where values are few enough to be groups themselves.
std::vector<double> cuts_of(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  std::vector<double> different = numbers;
  different.erase(std::ranges::unique(different).begin(), different.end());
  if (different.size() <= kGroupValuesMax) return {};
  std::vector<double> cuts;
  for (size_t quarter = 1; quarter < 4; ++quarter) {
    const double cut = numbers[(numbers.size() * quarter - 1) / 4];
    if (cuts.empty() || cut > cuts.back()) cuts.push_back(cut);
  }
  if (cuts.back() == numbers.back()) cuts.pop_back();
  return cuts;
}

std::string quartile_name(const std::vector<double>& cuts, size_t part) {
  if (part == 0) return "up to " + shortest(cuts[0]);
  const std::string over = "over " + shortest(cuts[part - 1]);
  return part == cuts.size() ? over : over + ", up to " + shortest(cuts[part]);
}

// A group before any is folded.
struct Found {
  std::string name;
  size_t part = 0;  // of a quartile
  uint64_t examples = 0;
};

bool stands_before(const Found& a, const Found& b) {
  if ((a.name == kMissing) != (b.name == kMissing)) return b.name == kMissing;
  return a.part != b.part ? a.part < b.part : comes_before(a.name, b.name);
}

std::vector<bool> folded_groups(const std::vector<Found>& found, uint64_t examples_min) {
  std::vector<size_t> by_size(found.size());
  for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::ranges::stable_sort(by_size, std::greater<>(), [&](size_t i) { return found[i].examples; });
  std::vector<bool> folded(found.size());
  for (size_t rank = 0; rank < by_size.size(); ++rank) {
    folded[by_size[rank]] = rank >= kExampleGroupsMax || found[by_size[rank]].examples < examples_min;
  }
  return folded;
}

}  // namespace

ExampleGroups make_groups(const std::string& column, std::span<const std::string> values, uint64_t examples_min) {
  const std::vector<double> cuts = cuts_of(numbers_in(values));
  std::map<std::string, size_t> places;
  std::vector<Found> found;
  std::vector<size_t> place_of;
  for (const std::string& value : values) {
    Found one{.name = is_missing(value) ? kMissing : value};
    if (!cuts.empty() && !is_missing(value)) {
      one.part = static_cast<size_t>(std::ranges::lower_bound(cuts, *number_in(value)) - cuts.begin());
      one.name = quartile_name(cuts, one.part);
    }
    const auto [place, is_new] = places.emplace(one.name, found.size());
    if (is_new) found.push_back(one);
    ++found[place->second].examples;
    place_of.push_back(place->second);
  }
  std::vector<size_t> order(found.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](size_t a, size_t b) { return stands_before(found[a], found[b]); });
  const std::vector<bool> folded = folded_groups(found, examples_min);
  ExampleGroups groups{.column = column};
  std::vector<uint32_t> group_of(found.size());
  for (const size_t place : order) {
    if (folded[place]) continue;
    group_of[place] = static_cast<uint32_t>(groups.names.size());
    groups.names.push_back(found[place].name);
  }
  groups.folded = static_cast<size_t>(std::ranges::count(folded, true));
  if (groups.folded > 0) {
    groups.rest = static_cast<uint32_t>(groups.names.size());
    groups.names.emplace_back(kRest);
    for (size_t place = 0; place < found.size(); ++place) {
      if (folded[place]) group_of[place] = *groups.rest;
    }
  }
  for (const size_t place : place_of) groups.of.push_back(group_of[place]);
  return groups;
}

}  // namespace coterie
