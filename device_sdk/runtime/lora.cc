#include "device_sdk/runtime/lora.h"

#include <cmath>
#include <cstring>
#include <map>

#include "base/assert.h"
#include "base/random.h"
#include "device_sdk/runtime/name_pattern.h"
#include "device_sdk/runtime/parse_number.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/codec.h"
#include "proto/codec/limits.h"

namespace coterie {
namespace {

constexpr const char* kA = ".lora_a";
constexpr const char* kB = ".lora_b";
constexpr uint32_t kRankMax = 4096;

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, "lora: " + what); }

bool is_in_range(const LoraSettings& settings) {
  return settings.rank >= 1 && settings.rank <= kRankMax && std::isfinite(settings.alpha) && settings.alpha > 0;
}

// dense: w[in, out]; conv2d: w[1, 1, in, out].
bool takes_companion(const ModelGraph& graph, const OpInfo& op, const std::string& pattern) {
  if (op.kind != OpKind::dense && op.kind != OpKind::conv2d) return false;
  const TensorInfo& weight = graph.tensors[op.inputs[1]];
  if (weight.role != TensorRole::parameter || !name_matches(pattern, weight.name)) return false;
  if (op.kind == OpKind::dense) return true;
  const auto& conv = std::get<Conv2dAttributes>(op.attributes);
  return weight.shape[0] == 1 && weight.shape[1] == 1 && conv.groups == 1;
}

// The graph and its values while companions are added behind what is there.
class Rewrite {
 public:
  Rewrite(const Model& model, const LoraSettings& settings, uint64_t seed)
      : settings_(settings),
        random_(seed),
        graph_(model.graph()),
        values_(model.parameters().begin(), model.parameters().end()) {
    for (TensorInfo& tensor : graph_.tensors) tensor.is_frozen = tensor.role == TensorRole::parameter;
  }

  Result<Bytes> run() {
    std::vector<OpInfo> ops;
    for (const OpInfo& op : std::vector<OpInfo>(std::move(graph_.ops))) {
      if (takes_companion(graph_, op, settings_.pattern)) adapt(op, ops);
      else ops.push_back(op);
    }
    if (companions_.empty()) return bad(settings_.pattern + " matches no weight of a dense or a 1x1 convolution");
    graph_.ops = std::move(ops);
    Bytes file = encode_head(graph_, values_.size() * sizeof(float));
    const auto* bytes = reinterpret_cast<const uint8_t*>(values_.data());
    file.insert(file.end(), bytes, bytes + values_.size() * sizeof(float));
    seal(file);
    return file;
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

  // Several ops that share a weight share one pair.
  Companions companions_of(uint32_t weight) {
    const auto found = companions_.find(weight);
    if (found != companions_.end()) return found->second;
    const std::string name = graph_.tensors[weight].name;
    const Shape shape = graph_.tensors[weight].shape;  // [.., in, out]
    const auto rank = static_cast<int64_t>(settings_.rank);
    Shape a = shape, b = shape;
    a.back() = rank;
    b[b.size() - 2] = rank;
    const double deviation = std::sqrt(2.0 / static_cast<double>(shape[shape.size() - 2]));
    const Companions made{add_parameter(name + kA, std::move(a), deviation), add_parameter(name + kB, std::move(b), 0)};
    companions_.emplace(weight, made);
    return made;
  }

  uint32_t scale() {
    if (scale_ != kNoTensor) return scale_;
    const float factor = settings_.alpha / static_cast<float>(settings_.rank);
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
  std::map<uint32_t, Companions> companions_;  // by weight
  uint32_t scale_ = kNoTensor;
};

}  // namespace

Result<LoraSettings> parse_lora(std::string_view text) {
  const Error wrong = bad("must be rank=N:PATTERN or rank=N,alpha=X:PATTERN, is " + std::string(text));
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon + 1 == text.size() || !text.starts_with("rank=")) return wrong;
  LoraSettings settings{.pattern = std::string(text.substr(colon + 1))};
  std::string_view numbers = text.substr(0, colon);
  numbers.remove_prefix(std::string_view("rank=").size());
  const size_t comma = numbers.find(",alpha=");
  if (!parse_number(numbers.substr(0, comma), settings.rank)) return wrong;
  settings.alpha = static_cast<float>(settings.rank);
  if (comma != std::string_view::npos) {
    numbers.remove_prefix(comma + std::string_view(",alpha=").size());
    if (!parse_number(numbers, settings.alpha)) return wrong;
  }
  if (!is_in_range(settings))
    return bad("the rank must be in [1, 4096] and alpha a number above 0, is " + std::string(text));
  return settings;
}

Result<Bytes> add_lora(const Model& model, const LoraSettings& settings, uint64_t seed) {
  if (!is_in_range(settings)) return bad("the rank must be in [1, 4096] and alpha a number above 0");
  COT_ASSIGN(Bytes file, Rewrite(model, settings, seed).run());
  COT_TRY(Model::load(file));
  return file;
}

std::vector<float> merge_lora(const Model& model, const LoraSettings& settings, const Model& adapted,
                              std::span<const float> values) {
  COT_ASSERT(values.size() == adapted.value_count() && values.size() > model.value_count());
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& tensor : adapted.graph().tensors) by_name.emplace(tensor.name, &tensor);
  // What was there before lies where it lay.
  std::vector<float> merged(values.begin(), values.begin() + static_cast<ptrdiff_t>(model.value_count()));
  const double scale = static_cast<double>(settings.alpha / static_cast<float>(settings.rank));
  for (const TensorInfo& weight : model.graph().tensors) {
    const auto a = by_name.find(weight.name + kA), b = by_name.find(weight.name + kB);
    if (weight.role != TensorRole::parameter || a == by_name.end() || b == by_name.end()) continue;
    const size_t columns = static_cast<size_t>(weight.shape.back()), rank = settings.rank;
    const size_t rows = static_cast<size_t>(weight.shape[weight.shape.size() - 2]);
    const float* left = values.data() + a->second->payload_offset / sizeof(float);
    const float* right = values.data() + b->second->payload_offset / sizeof(float);
    float* into = merged.data() + weight.payload_offset / sizeof(float);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (size_t k = 0; k < rank; ++k) {
          sum += static_cast<double>(left[i * rank + k]) * static_cast<double>(right[k * columns + j]);
        }
        float& value = into[i * columns + j];
        value = static_cast<float>(static_cast<double>(value) + sum * scale);
      }
    }
  }
  return merged;
}

}  // namespace coterie
