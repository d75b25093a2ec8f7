#include "model_import/mapping/map_weights.h"

#include <algorithm>
#include <cmath>

#include "model_import/mapping/pairing.h"

namespace coterie::model_import {
namespace {

class Loader {
 public:
  Loader(const WeightTable& table, double norm_epsilon) : table_(table), epsilon_(norm_epsilon) {}

  Result<std::vector<float>> values(const Pairing& pairing, const Pair& pair) const {
    const Slot& slot = pairing.slots[pair.slot];
    if (pair.source >= pairing.sources.size()) return fused_bias(pair);
    std::vector<std::vector<float>> parts;
    for (const size_t tensor : pairing.sources[pair.source].tensors) {
      COT_ASSIGN(std::vector<float> part, read_values(table_.tensors[tensor]));
      parts.push_back(std::move(part));
    }
    std::vector<float> values = fitted(slot, pair.fit, std::move(parts), pairing.sources[pair.source].offer.half);
    if (pair.norm.empty()) return values;
    COT_ASSIGN(const Norm norm, norm_of(pair));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<double>(values[i]) * norm.k[i % norm.k.size()]);
    }
    return values;
  }

 private:
  struct Norm {
    std::vector<double> k, beta, mean;
  };

  Result<Norm> norm_of(const Pair& pair) const {
    COT_ASSIGN(const std::vector<float> gamma, read_values(table_.tensors[pair.norm[0]]));
    COT_ASSIGN(const std::vector<float> beta, read_values(table_.tensors[pair.norm[1]]));
    COT_ASSIGN(const std::vector<float> mean, read_values(table_.tensors[pair.norm[2]]));
    COT_ASSIGN(const std::vector<float> variance, read_values(table_.tensors[pair.norm[3]]));
    Norm norm{.k = {}, .beta = {beta.begin(), beta.end()}, .mean = {mean.begin(), mean.end()}};
    for (size_t i = 0; i < gamma.size(); ++i) {
      const double spread = static_cast<double>(variance[i]) + epsilon_;
      if (!(spread > 0)) {
        return Error(ErrorCode::malformed, table_.tensors[pair.norm[3]].name + " has a variance below 0");
      }
      norm.k.push_back(static_cast<double>(gamma[i]) / std::sqrt(spread));
    }
    return norm;
  }

  Result<std::vector<float>> fused_bias(const Pair& pair) const {
    COT_ASSIGN(const Norm norm, norm_of(pair));
    std::vector<float> bias(norm.k.size());
    if (pair.norm_bias) {
      COT_ASSIGN(bias, read_values(table_.tensors[*pair.norm_bias]));
    }
    for (size_t i = 0; i < bias.size(); ++i) {
      bias[i] = static_cast<float>(norm.beta[i] + (static_cast<double>(bias[i]) - norm.mean[i]) * norm.k[i]);
    }
    return bias;
  }

  const WeightTable& table_;
  double epsilon_;
};

std::vector<std::string> names_of(const Pairing& pairing, const Pair& pair, const WeightTable& table) {
  std::vector<std::string> names;
  if (pair.source < pairing.sources.size()) {
    for (const size_t tensor : pairing.sources[pair.source].tensors) names.push_back(table.tensors[tensor].name);
  }
  if (pair.norm_bias) names.push_back(table.tensors[*pair.norm_bias].name);
  for (const size_t tensor : pair.norm) names.push_back(table.tensors[tensor].name);
  return names;
}

}  // namespace

Result<MapReport> map_weights(const Model& model, const WeightTable& table, const MapOptions& options) {
  std::vector<Slot> slots = slots_of(model);
  if (options.rows == RowOrder::as_graph) {
    for (Slot& slot : slots) slot.flattened.clear();
  }
  COT_ASSIGN(Pairing pairing, pair_up(std::move(slots), table, options));
  MapReport report{.tensors = {},
                   .problems = std::move(pairing.problems),
                   .notes = std::move(pairing.notes),
                   .parameters = {model.parameters().begin(), model.parameters().end()}};
  const Loader loader(table, options.norm_epsilon);
  std::ranges::sort(pairing.pairs, {}, &Pair::slot);
  for (const Pair& pair : pairing.pairs) {
    const Slot& slot = pairing.slots[pair.slot];
    if (pair.fit.moves_rows && options.rows == RowOrder::unknown) {
      report.problems.push_back({slot.name,
                                 "ambiguous: its rows are of a flattened image, whose channels come first (PyTorch) or "
                                 "lie as in the graph"});
    }
    COT_ASSIGN(const std::vector<float> values, loader.values(pairing, pair));
    MappedTensor mapped{.name = slot.name,
                        .shape = slot.shape,
                        .sources = names_of(pairing, pair, table),
                        .rule = pair.rule,
                        .how = pair.fit.rule,
                        .confidence = pair.confidence};
    float* const place = report.parameters.data() + slot.offset;
    for (size_t i = 0; i < values.size(); ++i) {
      mapped.change =
          std::max(mapped.change, std::fabs(static_cast<double>(values[i]) - static_cast<double>(place[i])));
    }
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      return Error(ErrorCode::malformed, slot.name + " would have a value that is not finite");
    }
    std::ranges::copy(values, place);
    report.tensors.push_back(std::move(mapped));
  }
  for (const size_t slot : pairing.kept) {
    report.tensors.push_back({.name = pairing.slots[slot].name,
                              .shape = pairing.slots[slot].shape,
                              .sources = {},
                              .rule = "kept",
                              .how = "",
                              .confidence = "given"});
  }
  return report;
}

}  // namespace coterie::model_import
