#include "device_sdk/runtime/lora.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/assert.h"
#include "base/random.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/cluster_models.h"
#include "device_sdk/runtime/parse_number.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/limits.h"
#include "proto/messages/lora_pairs.h"
#include "proto/messages/model_clusters.h"

namespace coterie {
namespace {

constexpr const char *kA = kLoraAEnding, *kB = kLoraBEnding;

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"lora: ", what})); }

bool is_in_range(const LoraSettings& settings) {
  return settings.rank >= 1 && settings.rank <= kLoraRankMax && std::isfinite(settings.alpha) && settings.alpha > 0;
}

// The graph and its values while companions are added behind what is there.
class Rewrite {
 public:
  Rewrite(const Model& model, const LoraSettings& settings, std::vector<LoraPair> pairs, uint64_t seed)
      : settings_(settings),
        random_(seed),
        graph_(model.graph()),
        values_(model.parameters().begin(), model.parameters().end()),
        pairs_(std::move(pairs)) {
    for (TensorInfo& tensor : graph_.tensors) tensor.is_frozen = tensor.role == TensorRole::parameter;
    if (settings_.fixed_a_seed) fixed_a_ = draw_lora_a(pairs_, settings_);
  }

  Result<Bytes> run() {
    std::vector<OpInfo> ops;
    for (const OpInfo& op : std::vector<OpInfo>(std::move(graph_.ops))) {
      if (takes_companion(op)) adapt(op, ops);
      else ops.push_back(op);
    }
    graph_.ops = std::move(ops);
    return sealed_model_file(graph_, values_);
  }

 private:
  struct Companions {
    uint32_t a, b;
  };

  uint32_t add_tensor(TensorInfo tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<uint32_t>(graph_.tensors.size() - 1);
  }
  uint32_t add_activation(std::string name) {
    return add_tensor({.name = std::move(name), .role = TensorRole::activation});
  }

  uint32_t add_parameter(std::string name, Shape shape, double deviation) {
    constexpr size_t kAlignment = limits::kParameterAlignment / sizeof(float);
    values_.resize((values_.size() + kAlignment - 1) / kAlignment * kAlignment);
    const size_t first = values_.size();
    size_t count = 1;
    for (const int64_t dimension : shape) count *= static_cast<size_t>(dimension);
    values_.resize(first + count);
    for (size_t i = first; deviation > 0 && i < values_.size(); ++i) {
      values_[i] = static_cast<float>(random_.normal() * deviation);
    }
    return add_tensor({.name = std::move(name),
                       .role = TensorRole::parameter,
                       .shape = std::move(shape),
                       .payload_offset = first * sizeof(float)});
  }

  // Whatever reads a pair's weight takes its companion.
  bool takes_companion(const OpInfo& op) const {
    const bool may = op.kind == OpKind::dense || op.kind == OpKind::conv2d;
    return may && std::ranges::find(pairs_, op.inputs[1], &LoraPair::weight) != pairs_.end();
  }

  // Several ops that share a weight share one pair. They come in the order of the pairs.
  Companions companions_of(uint32_t weight) {
    const auto found = companions_.find(weight);
    if (found != companions_.end()) return found->second;
    const LoraPair& pair = pairs_[companions_.size()];
    COT_ASSERT(pair.weight == weight);
    const std::string name = graph_.tensors[weight].name;
    const Shape shape = graph_.tensors[weight].shape;  // [.., in, out]
    const auto rank = static_cast<int64_t>(settings_.rank);
    Shape a = shape, b = shape;
    a.back() = rank;
    b[b.size() - 2] = rank;
    const double deviation = settings_.fixed_a_seed ? 0 : std::sqrt(2.0 / static_cast<double>(pair.in));
    const Companions made{add_parameter(name + kA, std::move(a), deviation), add_parameter(name + kB, std::move(b), 0)};
    if (settings_.fixed_a_seed) fix_a(graph_.tensors[made.a], pair);
    companions_.emplace(weight, made);
    return made;
  }

  void fix_a(TensorInfo& a, const LoraPair& pair) {
    a.is_frozen = true;
    const auto drawn = fixed_a_.begin() + static_cast<ptrdiff_t>(fixed_a_used_);
    std::copy_n(drawn, pair.a_values(), values_.begin() + static_cast<ptrdiff_t>(a.payload_offset / sizeof(float)));
    fixed_a_used_ += pair.a_values();
  }

  uint32_t scale() {
    if (scale_ != kNoTensor) return scale_;
    const float factor = settings_.scale();
    const auto* bytes = reinterpret_cast<const uint8_t*>(&factor);
    scale_ = add_tensor({.name = "lora_scale",
                         .role = TensorRole::constant,
                         .shape = {1},
                         .data = Bytes(bytes, bytes + sizeof factor)});
    return scale_;
  }

  // base = op; low = x A; scaled = low * scale; high = scaled B; what op computed = base + high.
  void adapt(const OpInfo& op, std::vector<OpInfo>& ops) {
    const Companions pair = companions_of(op.inputs[1]);
    const uint32_t result = op.outputs[0];
    const std::string stem = op.name + ".lora";
    const uint32_t base = add_activation(stem + "_base"), low = add_activation(stem + "_low"),
                   scaled = add_activation(stem + "_scaled"), high = add_activation(stem + "_high");
    OpInfo plain = op;
    plain.outputs[0] = base;
    ops.push_back(std::move(plain));
    // The stride and the padding are the first one's; behind it every position counts once.
    ops.push_back({op.kind, stem + kA, {op.inputs[0], pair.a}, {low}, op.attributes});
    ops.push_back({OpKind::mul, stem + "_scale", {low, scale()}, {scaled}, default_attributes(OpKind::mul)});
    ops.push_back({op.kind, stem + kB, {scaled, pair.b}, {high}, default_attributes(op.kind)});
    ops.push_back({OpKind::add, stem + "_sum", {base, high}, {result}, default_attributes(OpKind::add)});
  }

  const LoraSettings& settings_;
  Prng random_;
  ModelGraph graph_;
  std::vector<float> values_;
  std::vector<LoraPair> pairs_;
  std::vector<float> fixed_a_;  // of all pairs, if A is fixed
  size_t fixed_a_used_ = 0;
  std::map<uint32_t, Companions> companions_;  // by weight
  uint32_t scale_ = kNoTensor;
};

}  // namespace

Result<LoraSettings> parse_lora(std::string_view text) {
  const Error wrong =
      bad(concat({"must be rank=N:PATTERN, with alpha=X or seed=N behind the rank and a comma, is ", text}));
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size() || !text.starts_with("rank=")) return wrong;
  LoraSettings settings{.pattern = std::string(text.substr(colon + 1))};
  std::string_view numbers = text.substr(0, colon);
  const auto take = [&numbers](std::string_view key, auto& into) {
    if (!numbers.starts_with(key)) return false;
    const size_t comma = numbers.find(',');
    const bool is_number = parse_number(numbers.substr(key.size(), comma - key.size()), into);
    numbers.remove_prefix(comma == std::string_view::npos ? numbers.size() : comma + 1);
    return is_number;
  };
  const bool ends_so = numbers.ends_with(',');
  if (ends_so || !take("rank=", settings.rank)) return wrong;
  settings.alpha = static_cast<float>(settings.rank);
  if (numbers.starts_with("alpha=") && !take("alpha=", settings.alpha)) return wrong;
  if (uint64_t seed = 0; numbers.starts_with("seed=")) {
    if (!take("seed=", seed)) return wrong;
    settings.fixed_a_seed = seed;
  }
  if (!numbers.empty()) return wrong;
  if (!is_in_range(settings))
    return bad(concat({"the rank must be in [1, 4096] and alpha a number above 0, is ", text}));
  return settings;
}

Result<Bytes> add_lora(const Model& model, const LoraSettings& settings, uint64_t seed) {
  if (!is_in_range(settings)) return bad("the rank must be in [1, 4096] and alpha a number above 0");
  COT_ASSIGN(std::vector<LoraPair> pairs, lora_pairs(model.graph(), settings));
  COT_ASSIGN(Bytes file, Rewrite(model, settings, std::move(pairs), seed).run());
  COT_TRY(Model::load(file));
  return file;
}

std::vector<float> merge_lora(const Model& model, const LoraSettings& settings, const Model& adapted,
                              std::span<const float> values) {
  COT_ASSERT(values.size() == adapted.value_count() && values.size() > model.value_count());
  const Result<std::vector<LoraPair>> pairs = lora_pairs(model.graph(), settings);
  COT_ASSERT(pairs.has_value());
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& tensor : adapted.graph().tensors) by_name.emplace(tensor.name, &tensor);
  const auto values_of = [&](const std::string& name, uint64_t count) {
    const auto found = by_name.find(name);
    COT_ASSERT(found != by_name.end());
    return values.subspan(found->second->payload_offset / sizeof(float), count);
  };
  // What was there before lies where it lay.
  std::vector<float> merged(values.begin(), values.begin() + static_cast<ptrdiff_t>(model.value_count()));
  const double scale = static_cast<double>(settings.scale());
  for (const LoraPair& pair : *pairs) {
    const std::string& name = model.graph().tensors[pair.weight].name;
    add_lora_product(pair, scale, values_of(name + kA, pair.a_values()), values_of(name + kB, pair.b_values()), 0,
                     std::span(merged).subspan(pair.first_value, pair.in * pair.out));
  }
  return merged;
}

Result<Model> model_to_train(const Model& model, const TrainingSettings& training) {
  COT_TRY(check_clusters(model, training));
  if (cluster_count(training) > 1) return cluster_model(model, 0);
  if (!training.lora) return model;
  COT_ASSIGN(Bytes file, add_lora(model, *training.lora, 0));
  return Model::load(std::move(file));
}

}  // namespace coterie
