// SelectionSettings: what a job says about who of the waiting devices its rounds take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace coterie {

class Prng;
struct SelectionRule;
struct TrainedReport;
const SelectionRule& default_selection();  // selection_registry.h

struct SelectionSettings {
  const SelectionRule* rule = &default_selection();  // never null
  std::vector<float> values = {};                    // one for each of rule->settings, in their order

  // A rule with its defaults. Precondition: there is one of this name.
  static SelectionSettings of(std::string_view name);
  // The same with one setting changed. Precondition: the rule has it.
  SelectionSettings with(std::string_view setting, float value) const;

  bool is_uniform() const { return rule == &default_selection(); }
  // Devices that so many tickets are to be drawn among.
  uint64_t candidates(uint64_t tickets) const;
  // Who gets tickets: indices into `reports`, which are in random order, at most `tickets` of them. All devices, if
  // there are no more of them.
  std::vector<uint32_t> choose(std::span<const TrainedReport* const> reports, size_t tickets, uint64_t version,
                               Prng& chance) const;

  friend bool operator==(const SelectionSettings&, const SelectionSettings&) = default;
};

}  // namespace coterie
