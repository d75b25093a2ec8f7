#include <map>

#include "model_import/mapping/pairing.h"

namespace coterie::model_import {
namespace {

std::string text_of(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return shape.empty() ? "1" : text;
}

// A tensor of the model that has its name in the file has nothing else there: if the shape does not fit, that is the
// news.
void pair_exact(Pairs& pairs) {
  const Pairing& pairing = pairs.pairing();
  std::map<std::string, size_t> by_name;
  for (const size_t source : pairs.free_sources()) by_name[pairing.sources[source].offer.name] = source;
  for (const size_t slot : pairs.free_slots()) {
    const auto found = by_name.find(pairing.slots[slot].name);
    if (found == by_name.end() || pairs.pair(slot, found->second, "exact name", "sure")) continue;
    pairs.take_source(found->second);
    pairs.problem(slot, "unmatched: the file's tensor of this name is " +
                            text_of(pairing.sources[found->second].offer.shape) + ", the model's " +
                            text_of(pairing.slots[slot].shape));
  }
}

// One of each, both ways: slots and sources that have the relation with exactly one of the others, and fit.
template <typename Relation>
void pair_unique(Pairs& pairs, const Relation& is_related) {
  std::map<size_t, std::vector<size_t>> of_slot, of_source;
  for (const size_t slot : pairs.free_slots()) {
    for (const size_t source : pairs.free_sources()) {
      if (!is_related(slot, source) || pairs.fits_of(slot, source).empty()) continue;
      of_slot[slot].push_back(source);
      of_source[source].push_back(slot);
    }
  }
  for (const auto& [slot, sources] : of_slot) {
    if (sources.size() == 1 && of_source[sources[0]].size() == 1)
      pairs.pair(slot, sources[0], "normalised name", "high");
  }
}

}  // namespace

void pair_by_name(Pairs& pairs, bool is_exact) {
  if (is_exact) {
    pair_exact(pairs);
    return;
  }
  const Pairing& pairing = pairs.pairing();
  std::vector<WeightName> names;
  for (const Slot& slot : pairing.slots) {
    names.push_back(parse_weight_name(slot.name));
    if (names.back().part == WeightPart::unknown) names.back().part = slot.part;
  }
  pair_unique(pairs, [&](size_t slot, size_t source) { return names[slot] == pairing.sources[source].name; });
  pair_unique(pairs, [&](size_t slot, size_t source) {
    const WeightName& name = pairing.sources[source].name;
    return ends_with(names[slot], name) || ends_with(name, names[slot]);
  });
}

}  // namespace coterie::model_import
