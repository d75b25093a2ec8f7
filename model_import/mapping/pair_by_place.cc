#include <algorithm>
#include <map>
#include <set>

#include "model_import/mapping/pairing.h"

namespace coterie::model_import {
namespace {

struct Placed {
  size_t slot, source;
};

std::string joined(const WeightName& name) {
  std::string text;
  for (const std::string& word : name.stem) text += word + ".";
  return text;
}

// Whether tensors of one layer of the model are of one layer of the file, and the other way round.
bool keeps_layers_together(const Pairing& pairing, const std::vector<Placed>& placed) {
  std::map<std::string, std::string> to, from;
  for (const Placed& each : placed) {
    const std::string slot = joined(parse_weight_name(pairing.slots[each.slot].name));
    const std::string source = joined(pairing.sources[each.source].name);
    if (to.emplace(slot, source).first->second != source || from.emplace(source, slot).first->second != slot)
      return false;
  }
  return true;
}

// Part by part (weights, biases, means, variances) in the order of both sides. Where the file's names say no part, all
// in one row. Empty: it does not come out.
std::vector<Placed> in_order(const Pairs& pairs, const Pairing& pairing, const std::vector<size_t>& slots,
                             const std::vector<size_t>& sources) {
  const bool has_parts = std::ranges::none_of(
      sources, [&](size_t source) { return pairing.sources[source].name.part == WeightPart::unknown; });
  std::map<WeightPart, std::pair<std::vector<size_t>, std::vector<size_t>>> rows;
  for (const size_t slot : slots)
    rows[has_parts ? pairing.slots[slot].part : WeightPart::unknown].first.push_back(slot);
  for (const size_t source : sources) {
    rows[has_parts ? pairing.sources[source].name.part : WeightPart::unknown].second.push_back(source);
  }
  std::vector<Placed> placed;
  for (const auto& [part, row] : rows) {
    if (row.first.size() != row.second.size()) return {};
    for (size_t i = 0; i < row.first.size(); ++i) {
      if (pairs.fits_of(row.first[i], row.second[i]).empty()) return {};
      placed.push_back({row.first[i], row.second[i]});
    }
  }
  if (has_parts && !keeps_layers_together(pairing, placed)) return {};
  return placed;
}

struct Norm {
  std::vector<size_t> sources = std::vector<size_t>(4);  // gamma, beta, mean, variance
  std::vector<std::string> stem;
  int64_t size = 0;
  bool is_taken = false;
};

std::vector<Norm> norms_in(const Pairs& pairs, const Pairing& pairing) {
  std::map<std::vector<std::string>, std::map<WeightPart, size_t>> by_stem;
  for (const size_t source : pairs.free_sources()) {
    const Source& each = pairing.sources[source];
    if (each.offer.shape.size() == 1 && each.offer.parts == 1) by_stem[each.name.stem][each.name.part] = source;
  }
  std::vector<Norm> norms;
  for (const auto& [stem, parts] : by_stem) {
    constexpr WeightPart kParts[] = {WeightPart::weight, WeightPart::bias, WeightPart::mean, WeightPart::variance};
    Norm norm{.stem = stem};
    std::set<int64_t> sizes;
    for (size_t i = 0; i < std::size(kParts) && parts.contains(kParts[i]); ++i) {
      norm.sources[i] = parts.at(kParts[i]);
      sizes.insert(pairing.sources[norm.sources[i]].offer.shape[0]);
    }
    if (parts.size() != std::size(kParts) || sizes.size() != 1) continue;
    norm.size = *sizes.begin();
    norms.push_back(std::move(norm));
  }
  return norms;
}

// conv1 and bn1, conv and norm, 0 and 1: names that stand behind each other where there is no order.
bool follows_by_name(const std::vector<std::string>& layer, const std::vector<std::string>& norm) {
  if (layer.empty() || layer.size() != norm.size() || !std::equal(layer.begin(), layer.end() - 1, norm.begin()))
    return false;
  const std::string& from = layer.back();
  for (const std::string word : {"bn", "norm", "batchnorm"}) {
    for (const std::string kind : {"conv", "fc", "linear"}) {
      if (from.starts_with(kind) && norm.back() == word + from.substr(kind.size())) return true;
    }
  }
  const bool are_numbers =
      from.size() < 6 && from.find_first_not_of("0123456789") == std::string::npos && !from.empty();
  return are_numbers && norm.back() == std::to_string(std::stoi(from) + 1);
}

}  // namespace

void pair_fused_norms(Pairs& pairs) {
  Pairing& pairing = pairs.pairing();
  std::vector<Norm> norms = norms_in(pairs, pairing);
  if (norms.empty() || std::ranges::any_of(pairs.free_slots(),
                                           [&](size_t slot) { return pairing.slots[slot].op == OpKind::batch_norm; })) {
    return;  // the model has norms of its own that look for theirs
  }
  std::map<size_t, size_t> bias_slots;  // by the op that reads them
  for (size_t slot = 0; slot < pairing.slots.size(); ++slot) {
    if (pairing.slots[slot].part == WeightPart::bias) bias_slots[pairing.slots[slot].reader] = slot;
  }
  const size_t count = pairing.pairs.size();
  for (size_t i = 0; i < count; ++i) {
    const Slot& slot = pairing.slots[pairing.pairs[i].slot];
    const bool is_layer = slot.kind == SlotKind::linear || slot.kind == SlotKind::convolution;
    const auto bias = bias_slots.find(slot.reader);
    if (!is_layer || bias == bias_slots.end()) continue;
    const Source& layer = pairing.sources[pairing.pairs[i].source];
    Norm* found = nullptr;
    size_t candidates = 0;
    for (Norm& norm : norms) {
      if (norm.is_taken || norm.size != slot.shape.back() || !follows_by_name(layer.name.stem, norm.stem)) continue;
      ++candidates;
      found = &norm;
    }
    if (candidates != 1) continue;
    found->is_taken = true;
    for (const size_t source : found->sources) pairs.take_source(source);
    std::vector<size_t> parts;
    for (const size_t source : found->sources) parts.push_back(pairing.sources[source].tensors[0]);
    pairing.pairs[i].norm = parts;
    pairing.pairs[i].rule += ", fused norm";
    pairing.pairs[i].confidence = "medium";
    // The bias of the file's layer, where it has one, is paired by its name already.
    const auto paired = std::ranges::find(pairing.pairs, bias->second, &Pair::slot);
    Pair of_bias{.slot = bias->second,
                 .source = pairing.sources.size(),
                 .rule = "fused norm",
                 .confidence = "medium",
                 .fit = {.rule = "beta - mean k"},
                 .norm = parts};
    if (paired != pairing.pairs.end()) {
      of_bias.norm_bias = pairing.sources[paired->source].tensors[0];
      *paired = std::move(of_bias);
    } else if (pairs.is_slot_free(bias->second)) {
      pairs.take(std::move(of_bias));
    }
  }
}

void pair_by_place(Pairs& pairs, bool has_order) {
  const Pairing& pairing = pairs.pairing();
  const std::vector<size_t> slots = pairs.free_slots(), sources = pairs.free_sources();
  if (has_order && slots.size() == sources.size()) {
    const std::vector<Placed> placed = in_order(pairs, pairing, slots, sources);
    for (const Placed& each : placed) pairs.pair(each.slot, each.source, "order", "medium");
  }
  std::vector<Placed> only;
  for (const size_t slot : pairs.free_slots()) {
    std::vector<size_t> found;
    for (const size_t source : pairs.free_sources()) {
      if (pairs.could_be(slot, source)) found.push_back(source);
    }
    if (found.size() != 1) continue;
    const auto rivals =
        std::ranges::count_if(pairs.free_slots(), [&](size_t other) { return pairs.could_be(other, found[0]); });
    if (rivals == 1) only.push_back({slot, found[0]});
  }
  for (const Placed& each : only) pairs.pair(each.slot, each.source, "only one", "medium");
}

}  // namespace coterie::model_import
