#include "model_import/mapping/pairing.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/assert.h"
#include "base/text/name_pattern.h"

namespace coterie::model_import {
namespace {

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const int64_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return shape.empty() ? "1" : text;
}

// The name of the other bias of a recurrent layer; empty: it is none of two.
std::string other_bias(const std::string& name) {
  const size_t at = name.rfind("bias_ih");
  return at == std::string::npos ? "" : std::string(name).replace(at, 7, "bias_hh");
}

// Both biases of a recurrent layer in one, where the model has biases of this size apart: Keras's, ONNX's.
bool is_joint_bias(const WeightTensor& tensor, const std::set<int64_t>& halves) {
  if (tensor.shape.size() != 2 || parse_weight_name(tensor.name).part != WeightPart::bias) return false;
  return (tensor.shape[0] == 2 && halves.contains(tensor.shape[1])) ||
         (tensor.shape[0] == 1 && tensor.shape[1] % 2 == 0 && halves.contains(tensor.shape[1] / 2));
}

Status keep_and_ignore(Pairing& pairing, const MapOptions& options, Pairs& pairs) {
  for (const std::string& pattern : options.keep) {
    bool matches = false;
    for (size_t i = 0; i < pairing.slots.size(); ++i) {
      if (!name_matches(pattern, pairing.slots[i].name)) continue;
      matches = true;
      if (!pairs.is_slot_free(i)) continue;
      pairing.kept.push_back(i);
      pairs.take({.slot = i, .source = pairing.sources.size(), .rule = "kept", .confidence = "given", .fit = {}});
    }
    if (!matches) return Error(ErrorCode::invalid_argument, "--keep " + pattern + " is of no tensor of the model");
  }
  for (const std::string& pattern : options.ignore) {
    bool matches = false;
    for (size_t i = 0; i < pairing.sources.size(); ++i) {
      if (!name_matches(pattern, pairing.sources[i].offer.name)) continue;
      matches = true;
      pairs.take_source(i);
    }
    if (!matches) return Error(ErrorCode::invalid_argument, "--ignore " + pattern + " is of no tensor of the file");
  }
  return {};
}

Status pair_by_hand(Pairing& pairing, const MapOptions& options, Pairs& pairs) {
  for (const auto& [to, from] : options.by_hand) {
    bool matches = false;
    for (size_t slot = 0; slot < pairing.slots.size(); ++slot) {
      const std::optional<std::string> wanted = renamed(pairing.slots[slot].name, to, from);
      if (!wanted || !pairs.is_slot_free(slot)) continue;
      const auto source =
          std::ranges::find_if(pairing.sources, [&](const Source& s) { return s.offer.name == *wanted; });
      if (source == pairing.sources.end()) continue;
      matches = true;
      const auto index = static_cast<size_t>(source - pairing.sources.begin());
      if (!pairs.is_source_free(index) || !pairs.pair(slot, index, "by hand", "given")) {
        pairs.problem(slot, "unmatched: " + *wanted + " (" + shape_text(source->offer.shape) +
                                ") was mapped to it and does not fit " + shape_text(pairing.slots[slot].shape));
      }
    }
    if (!matches) {
      return Error(
          ErrorCode::invalid_argument,
          "--map " + to + "=" + from + " pairs nothing: no tensor of the model, or none of the file, has such a name");
    }
  }
  return {};
}

void report_rest(Pairing& pairing, Pairs& pairs) {
  for (const size_t slot : pairs.free_slots()) {
    std::string candidates;
    size_t count = 0;
    for (const size_t source : pairs.free_sources()) {
      if (!pairs.could_be(slot, source) || ++count > 3) continue;
      candidates += (candidates.empty() ? "" : ", ") + pairing.sources[source].offer.name;
    }
    if (count > 3) candidates += " and " + std::to_string(count - 3) + " more";
    pairs.problem(slot, count == 0 ? "unmatched: nothing in the file has its name, or fits " +
                                         shape_text(pairing.slots[slot].shape)
                                   : "ambiguous: it could be " + candidates);
  }
  for (const size_t source : pairs.free_sources()) {
    pairing.problems.push_back(
        {pairing.sources[source].offer.name,
         "unused: the model has no place for it (" + shape_text(pairing.sources[source].offer.shape) + ")"});
  }
}

}  // namespace

std::vector<Source> sources_of(const WeightTable& table, const std::vector<Slot>& slots,
                               std::vector<std::string>& notes) {
  std::set<int64_t> halves;  // sizes of biases that the model has apart
  for (const Slot& slot : slots) {
    if (slot.kind == SlotKind::recurrent_half) halves.insert(slot.shape[0]);
  }
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < table.tensors.size(); ++i) by_name[table.tensors[i].name] = i;
  std::vector<Source> sources;
  std::map<std::string, size_t> types;
  size_t counters = 0;
  for (size_t i = 0; i < table.tensors.size(); ++i) {
    const WeightTensor& tensor = table.tensors[i];
    if (!is_real(tensor.type)) {
      ++counters;
      continue;
    }
    if (tensor.type != WeightType::float32) ++types[std::string(to_string(tensor.type))];
    Source source{.offer = {.name = tensor.name, .shape = tensor.shape}, .name = {}, .tensors = {i}};
    if (is_joint_bias(tensor, halves)) {
      for (const size_t half : {size_t{1}, size_t{2}}) {
        source.offer.half = half;
        source.name = parse_weight_name(tensor.name);
        source.name.part = half == 1 ? WeightPart::bias_ih : WeightPart::bias_hh;
        sources.push_back(source);
      }
      continue;
    }
    const auto other = by_name.find(other_bias(tensor.name));
    const bool are_apart = !tensor.shape.empty() && halves.contains(tensor.shape.back());
    if (!are_apart && other != by_name.end() && table.tensors[other->second].shape == tensor.shape) {
      source.tensors.push_back(other->second);
      source.offer.parts = 2;
      source.offer.name.replace(source.offer.name.rfind("bias_ih"), 7, "bias");
    }
    const size_t hidden = tensor.name.rfind("bias_hh");
    if (!are_apart && hidden != std::string::npos &&
        by_name.contains(std::string(tensor.name).replace(hidden, 7, "bias_ih")))
      continue;
    source.name = parse_weight_name(source.offer.name);
    sources.push_back(std::move(source));
  }
  if (counters > 0) {
    notes.push_back(std::to_string(counters) +
                    (counters == 1 ? " tensor of whole numbers was" : " tensors of whole numbers were") +
                    " left out: no weight is one");
  }
  for (const auto& [type, count] : types) {
    notes.push_back(std::to_string(count) +
                    (count == 1 ? " tensor of " + type + " becomes" : " tensors of " + type + " become") + " float32" +
                    (type == "float64" ? ", rounded to nearest" : ", exactly"));
  }
  return sources;
}

Pairs::Pairs(Pairing& pairing, const MapOptions& options)
    : pairing_(pairing),
      options_(options),
      slot_free_(pairing.slots.size(), true),
      source_free_(pairing.sources.size(), true) {}

std::vector<size_t> Pairs::free_slots() const {
  std::vector<size_t> free;
  for (size_t i = 0; i < slot_free_.size(); ++i) {
    if (slot_free_[i]) free.push_back(i);
  }
  return free;
}

std::vector<size_t> Pairs::free_sources() const {
  std::vector<size_t> free;
  for (size_t i = 0; i < source_free_.size(); ++i) {
    if (source_free_[i]) free.push_back(i);
  }
  return free;
}

std::vector<Fit> Pairs::fits_of(size_t slot, size_t source) const {
  COT_ASSERT(slot < pairing_.slots.size() && source < pairing_.sources.size());
  return fits(pairing_.slots[slot], pairing_.sources[source].offer, pairing_.sources[source].name.is_kernel);
}

bool Pairs::could_be(size_t slot, size_t source) const {
  const WeightPart to = pairing_.slots[slot].part, from = pairing_.sources[source].name.part;
  const bool is_part = to == WeightPart::unknown || from == WeightPart::unknown || to == from;
  return is_part && !fits_of(slot, source).empty();
}

bool Pairs::pair(size_t slot, size_t source, const char* rule, const char* confidence) {
  std::vector<Fit> found = fits_of(slot, source);
  if (found.empty()) return false;
  take({.slot = slot, .source = source, .rule = rule, .confidence = confidence, .fit = std::move(found[0])});
  return true;
}

void Pairs::take(Pair pair) {
  slot_free_[pair.slot] = false;
  if (pair.source < source_free_.size()) source_free_[pair.source] = false;
  if (pair.rule != "kept") pairing_.pairs.push_back(std::move(pair));
}

void Pairs::problem(size_t slot, const std::string& what) {
  slot_free_[slot] = false;
  pairing_.problems.push_back({pairing_.slots[slot].name, what});
}

void Pairs::settle_layouts(WeightFormat format) {
  size_t out_first = 0, in_first = 0;
  // A bias that is made of a norm alone has no source, and lies one way.
  const auto has_source = [&](const Pair& pair) { return pair.source < pairing_.sources.size(); };
  for (const Pair& pair : pairing_.pairs) {
    if (!has_source(pair) || fits_of(pair.slot, pair.source).size() != 1) continue;
    out_first += pair.fit.layout == WeightLayout::out_first;
    in_first += pair.fit.layout == WeightLayout::in_first;
  }
  for (Pair& pair : pairing_.pairs) {
    if (!has_source(pair)) continue;
    std::vector<Fit> found = fits_of(pair.slot, pair.source);
    if (found.size() < 2) continue;
    const Source& source = pairing_.sources[pair.source];
    WeightLayout layout = options_.layout;
    if (layout == WeightLayout::any && (out_first == 0) != (in_first == 0)) {
      layout = in_first == 0 ? WeightLayout::out_first : WeightLayout::in_first;
    } else if (layout == WeightLayout::any && out_first == 0) {
      const bool has_rule = format == WeightFormat::pytorch || format == WeightFormat::mindspore;
      if (source.name.is_kernel) layout = WeightLayout::in_first;
      else if (has_rule || source.offer.name.ends_with("weight")) layout = WeightLayout::out_first;
    }
    const auto chosen = std::ranges::find(found, layout, &Fit::layout);
    if (chosen != found.end()) {
      pair.fit = std::move(*chosen);
      if (options_.layout == WeightLayout::any && pair.confidence == "sure") pair.confidence = "high";
    } else {
      pairing_.problems.push_back(
          {pairing_.slots[pair.slot].name,
           "ambiguous: " + source.offer.name + " fits as it is and transposed; say --layout out-first or in-first"});
    }
  }
}

Result<Pairing> pair_up(std::vector<Slot> slots, const WeightTable& table, const MapOptions& options) {
  Pairing pairing{
      .slots = std::move(slots), .sources = {}, .pairs = {}, .kept = {}, .problems = {}, .notes = table.notes};
  pairing.sources = sources_of(table, pairing.slots, pairing.notes);
  Pairs pairs(pairing, options);
  COT_TRY(keep_and_ignore(pairing, options, pairs));
  COT_TRY(pair_by_hand(pairing, options, pairs));
  pair_by_name(pairs, true);
  pair_by_name(pairs, false);
  pair_fused_norms(pairs);
  pair_by_place(pairs, table.format != WeightFormat::safetensors);
  pairs.settle_layouts(table.format);
  report_rest(pairing, pairs);
  return pairing;
}

}  // namespace coterie::model_import
