#include "tools/compare_tensors/align_traces.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "tools/compare_tensors/axis_order.h"

namespace coterie {
namespace {

constexpr size_t kStepsMax = 6;     // ops without a counterpart that a place is looked for behind
constexpr size_t kVisitedMax = 64;  // values that are looked at for one place

bool is_name(const std::string& name) {
  return !std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// What ONNX and model files call otherwise has one name here.
std::string family_of(const std::string& kind) {
  std::string plain;
  for (const unsigned char c : kind) {
    if (c != '_') plain += static_cast<char>(std::tolower(c));
  }
  if (plain.ends_with("2d")) plain.resize(plain.size() - 2);
  static const std::map<std::string, std::string> same = {{"gemm", "dense"},
                                                          {"matmul", "dense"},
                                                          {"batchnormalization", "batchnorm"},
                                                          {"averagepool", "avgpool"},
                                                          {"globalaveragepool", "globalavgpool"},
                                                          {"layernormalization", "layernorm"},
                                                          {"clip", "relu6"}};
  const auto found = same.find(plain);
  return found == same.end() ? plain : found->second;
}

bool only_moves(const std::string& family) {
  static const std::set<std::string> families = {"reshape",   "flatten", "squeeze",  "unsqueeze",
                                                 "transpose", "cast",    "identity", "dropout"};
  return families.contains(family);
}

// Their sequences lie otherwise in each format, and their further outputs are others.
bool is_recurrent(const std::string& family) { return family == "rnn" || family == "gru" || family == "lstm"; }

bool is_layer(const std::string& family) {
  return family == "conv" || family == "convtranspose" || family == "dense" || family == "depthwiseconv";
}

// What there are few of. Sums, products and the like are everywhere, as in a norm that an exporter took apart: they are
// looked for directly behind a pair alone.
bool is_landmark(const std::string& family) {
  static const std::set<std::string> activations = {"relu",    "relu6",      "leakyrelu", "prelu",
                                                    "sigmoid", "tanh",       "softmax",   "gelu",
                                                    "elu",     "logsoftmax", "selu",      "hardswish"};
  return is_layer(family) || family.find("pool") != std::string::npos || family.find("norm") != std::string::npos ||
         activations.contains(family);
}

// One of the two networks, with what is asked of it.
class Side {
 public:
  explicit Side(const TensorTrace& trace) : trace_(trace), readers_(size()), partner_(size()) {
    for (uint32_t i = 0; i < size(); ++i) {
      const TracedTensor& tensor = trace.tensors[i];
      families_.push_back(family_of(tensor.kind));
      for (const uint32_t read : tensor.reads) readers_[read].push_back(i);
      if (i < trace.inputs) continue;
      if (is_name(tensor.name)) by_name_.try_emplace(tensor.name, i);
      if (is_name(tensor.layer)) by_layer_.try_emplace(tensor.layer, i);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(trace_.tensors.size()); }
  const TensorTrace& trace() const { return trace_; }
  const TracedTensor& tensor(uint32_t i) const { return trace_.tensors[i]; }
  const std::string& family(uint32_t i) const { return families_[i]; }
  std::optional<uint32_t> partner(uint32_t i) const { return partner_[i]; }
  void join(uint32_t i, uint32_t other) { partner_[i] = other; }
  std::optional<uint32_t> named(const std::string& name) const { return found(by_name_, name); }
  std::optional<uint32_t> of_layer(const std::string& name) const { return found(by_layer_, name); }
  bool knows(const TracedTensor& tensor) const {
    return by_name_.contains(tensor.name) || by_layer_.contains(tensor.layer);
  }
  const std::vector<uint32_t>& readers(uint32_t i) const { return readers_[i]; }

  // The norm or the sum with a constant that alone reads a layer's value.
  std::optional<uint32_t> norm_behind(uint32_t i) const {
    if (!is_layer(families_[i]) || readers_[i].size() != 1) return std::nullopt;
    const uint32_t reader = readers_[i][0];
    const bool is_norm = families_[reader] == "batchnorm" || families_[reader] == "add";
    return is_norm && trace_.tensors[reader].reads.size() == 1 ? std::optional(reader) : std::nullopt;
  }

 private:
  using Names = std::map<std::string, uint32_t>;
  static std::optional<uint32_t> found(const Names& names, const std::string& name) {
    const auto at = names.find(name);
    return at == names.end() ? std::nullopt : std::optional(at->second);
  }

  const TensorTrace& trace_;
  std::vector<std::string> families_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<std::optional<uint32_t>> partner_;
  Names by_name_, by_layer_;
};

class Alignment {
 public:
  Alignment(const TensorTrace& a, const TensorTrace& b) : a_(a), b_(b), by_(a.tensors.size()) {
    for (uint32_t i = 0; i < std::min(a.inputs, b.inputs); ++i) join(i, i, PairedBy::name);
    for (uint32_t i = a.inputs; i < a_.size(); ++i) {
      if (const auto other = b_.named(a_.tensor(i).name)) try_join_layer(i, *other, PairedBy::name);
    }
    for (size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i) {
      const uint32_t of_a = a.outputs[i], of_b = b.outputs[i];
      if (a_.tensor(of_a).has_numbers && b_.tensor(of_b).has_numbers) try_join(of_a, of_b, PairedBy::output);
    }
    for (uint32_t i = a.inputs; i < a_.size(); ++i) {
      const auto other = b_.of_layer(a_.tensor(i).layer);
      if (!other || only_moves(a_.family(i)) || only_moves(b_.family(*other))) continue;
      try_join_layer(i, *other, PairedBy::layer);
    }
    for (uint32_t i = a.inputs; i < a_.size(); ++i) {
      if (!a_.partner(i) && !only_moves(a_.family(i)) && !is_recurrent(a_.family(i))) place(i);
    }
  }

  std::vector<TracePair> pairs() const {
    std::vector<TracePair> pairs;
    for (uint32_t i = a_.trace().inputs; i < a_.size(); ++i) {
      if (a_.partner(i)) pairs.push_back({i, *a_.partner(i), by_[i]});
    }
    return pairs;
  }

 private:
  void join(uint32_t i, uint32_t other, PairedBy by) {
    a_.join(i, other);
    b_.join(other, i);
    by_[i] = by;
  }
  void try_join(uint32_t i, uint32_t other, PairedBy by) {
    if (!a_.partner(i) && !b_.partner(other)) join(i, other, by);
  }

  // Behind a layer that one of both has folded something into, that something's value.
  void try_join_layer(uint32_t i, uint32_t other, PairedBy by) {
    if (a_.partner(i) || b_.partner(other)) return;
    const auto norm_a = a_.norm_behind(i), norm_b = b_.norm_behind(other);
    if (norm_a && !norm_b && !b_.knows(a_.tensor(*norm_a))) try_join(*norm_a, other, by);
    else if (norm_b && !norm_a && !a_.knows(b_.tensor(*norm_b))) try_join(i, *norm_b, by);
    else join(i, other, by);
  }

  // The nearest values of a that it comes from and that have a partner.
  std::vector<uint32_t> partners_before(uint32_t i) const {
    std::vector<uint32_t> partners, open = a_.tensor(i).reads;
    std::set<uint32_t> seen(open.begin(), open.end());
    for (size_t at = 0; at < open.size() && at < kVisitedMax; ++at) {
      if (const auto partner = a_.partner(open[at])) {
        partners.push_back(*partner);
        continue;
      }
      if (!is_landmark(a_.family(i))) continue;
      for (const uint32_t read : a_.tensor(open[at]).reads) {
        if (open.size() >= kVisitedMax) break;
        if (seen.insert(read).second) open.push_back(read);
      }
    }
    return partners;
  }

  void place(uint32_t i) {
    std::optional<uint32_t> of_kind;
    for (const uint32_t partner : partners_before(i)) {
      std::vector<std::pair<uint32_t, size_t>> open;  // and how many steps behind
      std::set<uint32_t> seen;
      // No more than are looked at: a value may have as many readers as there are nodes.
      const auto open_readers = [&](uint32_t j, size_t steps) {
        for (const uint32_t reader : b_.readers(j)) {
          if (open.size() >= kVisitedMax) return;
          open.emplace_back(reader, steps);
        }
      };
      open_readers(partner, 1);
      for (size_t at = 0; at < open.size() && at < kVisitedMax; ++at) {
        const auto [j, steps] = open[at];
        if (b_.partner(j) || !seen.insert(j).second) continue;
        if (a_.family(i) == b_.family(j)) {
          if (!fitting_orders(a_.tensor(i).shape, b_.tensor(j).shape).empty())
            return try_join_layer(i, j, PairedBy::place);
          if (!of_kind) of_kind = j;
        }
        if (steps >= kStepsMax || !is_landmark(a_.family(i))) continue;
        open_readers(j, steps + 1);
      }
    }
    if (of_kind) try_join_layer(i, *of_kind, PairedBy::place);
  }

  Side a_, b_;
  std::vector<PairedBy> by_;
};

}  // namespace

std::vector<TracePair> align_traces(const TensorTrace& a, const TensorTrace& b) { return Alignment(a, b).pairs(); }

}  // namespace coterie
