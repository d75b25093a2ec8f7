// Tensors of a model and of a file paired by their names and shapes, before any element is read. Pure bookkeeping: what
// map_weights.h promises is decided here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_import/mapping/map_weights.h"

namespace coterie::model_import {

// What the file offers, in its order: floats alone, and the two biases of a recurrent layer as the model has them, as
// one or apart.
struct Source {
  Offer offer;
  WeightName name;
  std::vector<size_t> tensors;  // indices into the table
};

struct Pair {
  size_t slot = 0, source = 0;
  std::string rule, confidence;
  Fit fit;
  // fused norm: gamma, beta, mean, variance, and the bias of the layer if it has one. The pair of the bias has no
  // source (as many as there are) and no fit.
  std::vector<size_t> norm = {};
  std::optional<size_t> norm_bias = {};
};

struct Pairing {
  std::vector<Slot> slots;
  std::vector<Source> sources;
  std::vector<Pair> pairs;
  std::vector<size_t> kept;  // slots
  std::vector<MapProblem> problems;
  std::vector<std::string> notes;
};

// `slots` say whether the model has the two biases of its recurrent layers apart.
std::vector<Source> sources_of(const WeightTable& table, const std::vector<Slot>& slots,
                               std::vector<std::string>& notes);

// Errors: invalid_argument (a rule or a pattern that matches nothing).
Result<Pairing> pair_up(std::vector<Slot> slots, const WeightTable& table, const MapOptions& options);

// The rules by name of pair_up fill `pairs`; those by place (pair_by_place.cc) go on with what they leave.
class Pairs {
 public:
  Pairs(Pairing& pairing, const MapOptions& options);

  bool is_slot_free(size_t slot) const { return slot_free_[slot]; }
  bool is_source_free(size_t source) const { return source_free_[source]; }
  std::vector<size_t> free_slots() const;
  std::vector<size_t> free_sources() const;
  std::vector<Fit> fits_of(size_t slot, size_t source) const;
  // They fit, and neither name says that it is another part.
  bool could_be(size_t slot, size_t source) const;
  // Pairs them if they fit; a fit of two layouts is decided by settle_layouts. Whether they do.
  bool pair(size_t slot, size_t source, const char* rule, const char* confidence);
  void take(Pair pair);
  void take_source(size_t source) { source_free_[source] = false; }
  void problem(size_t slot, const std::string& what);
  // Weights that fit both ways get one way: that of the others.
  void settle_layouts(WeightFormat format);

  Pairing& pairing() { return pairing_; }

 private:
  Pairing& pairing_;
  const MapOptions& options_;
  std::vector<bool> slot_free_, source_free_;
};

void pair_by_name(Pairs& pairs, bool is_exact);
void pair_fused_norms(Pairs& pairs);
void pair_by_place(Pairs& pairs, bool has_order);

}  // namespace coterie::model_import
