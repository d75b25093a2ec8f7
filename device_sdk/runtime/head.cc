#include "device_sdk/runtime/head.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/random.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/parse_number.h"
#include "device_sdk/runtime/seal.h"
#include "proto/codec/limits.h"

namespace coterie {
namespace {

constexpr uint32_t kClassesMax = 1'000'000;

Error bad(std::string_view what) { return Error(ErrorCode::invalid_argument, concat({"head: ", what})); }

bool is_called(const ModelGraph& graph, const OpInfo& op, const std::string& layer) {
  return op.name == layer ||
         (op.inputs.size() > 1 && op.inputs[1] != kNoTensor && graph.tensors[op.inputs[1]].name == layer + ".weight");
}

Result<const OpInfo*> find_layer(const ModelGraph& graph, const std::string& layer) {
  const auto found = std::ranges::find_if(graph.ops, [&](const OpInfo& op) { return is_called(graph, op, layer); });
  if (found == graph.ops.end()) return bad(concat({"the model has no layer ", layer}));
  const bool is_whole = found->kind == OpKind::dense ||
                        (found->kind == OpKind::conv2d && std::get<Conv2dAttributes>(found->attributes).groups == 1);
  if (!is_whole) return bad(concat({layer, " is ", to_string(found->kind), ", not dense or conv2d without groups"}));
  return &*found;
}

// Weight and bias, to be drawn again.
Result<std::vector<uint32_t>> head_tensors(const ModelGraph& graph, const OpInfo& op) {
  std::vector<uint32_t> tensors;
  for (size_t i = 1; i < op.inputs.size(); ++i) {
    const uint32_t tensor = op.inputs[i];
    if (tensor == kNoTensor) continue;
    const TensorInfo& info = graph.tensors[tensor];
    if (info.role != TensorRole::parameter) return bad(concat({info.name, " of ", op.name, " is no parameter"}));
    ptrdiff_t readers = 0;
    for (const OpInfo& other : graph.ops) readers += std::ranges::count(other.inputs, tensor);
    if (readers != 1) return bad(concat({info.name, " of ", op.name, " is another layer's too"}));
    tensors.push_back(tensor);
  }
  return tensors;
}

uint64_t values_in(const TensorInfo& tensor) {
  uint64_t count = 1;
  for (const int64_t dimension : tensor.shape) count *= static_cast<uint64_t>(dimension);
  return count;
}

void draw(const TensorInfo& tensor, Prng& random, float* values) {
  if (tensor.shape.size() == 1) return;  // a bias: zeros
  // A weight is [.., in, out], and its deviation sqrt(2 / fan_in) keeps the variance of what passes a relu (He et al.
  // 2015).
  const uint64_t count = values_in(tensor), fan_in = count / static_cast<uint64_t>(tensor.shape.back());
  const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in));
  for (uint64_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.normal() * deviation);
}

// The model with the tensors that are `drawn` in their new shapes: all others behind one another as they were.
Bytes file_of(const Model& model, ModelGraph graph, const std::vector<uint32_t>& drawn, uint64_t seed) {
  constexpr size_t kAlignment = limits::kParameterAlignment / sizeof(float);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    if (has_payload(graph.tensors[i].role)) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](uint32_t i) { return graph.tensors[i].payload_offset; });
  Prng random(seed);
  std::vector<float> values;
  for (const uint32_t i : order) {
    TensorInfo& tensor = graph.tensors[i];
    const uint64_t from = tensor.payload_offset / sizeof(float), count = values_in(tensor);
    values.resize(round_up(values.size(), kAlignment));
    tensor.payload_offset = values.size() * sizeof(float);
    values.resize(values.size() + count);
    float* into = values.data() + tensor.payload_offset / sizeof(float);
    if (std::ranges::find(drawn, i) != drawn.end()) draw(tensor, random, into);
    else std::copy_n(model.parameters().begin() + static_cast<ptrdiff_t>(from), count, into);
  }
  return sealed_model_file(graph, values);
}

}  // namespace

Result<HeadSettings> parse_head(std::string_view text) {
  const Error wrong = bad(concat({"must be LAYER:CLASSES or LAYER:CLASSES:SEED, is ", text}));
  const auto take_number = [&text](auto& number) {
    const size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || !parse_number(text.substr(colon + 1), number)) return false;
    text = text.substr(0, colon);
    return true;
  };
  // The last number is the seed if there is one more before it; names of layers may hold colons too.
  uint64_t last = 0, before = 0;
  if (!take_number(last)) return wrong;
  HeadSettings settings;
  if (take_number(before)) {
    settings.seed = last;
    last = before;
  }
  settings.layer = std::string(text);
  if (text.empty() || last < 1 || last > kClassesMax) return wrong;
  settings.classes = static_cast<uint32_t>(last);
  return settings;
}

Result<Bytes> replace_head(const Model& model, const HeadSettings& settings) {
  if (settings.classes < 1 || settings.classes > kClassesMax) return bad("the classes must be in [1, 1000000]");
  COT_ASSIGN(const OpInfo* op, find_layer(model.graph(), settings.layer));
  COT_ASSIGN(const std::vector<uint32_t> drawn, head_tensors(model.graph(), *op));
  ModelGraph graph = model.graph();
  for (const uint32_t tensor : drawn) {
    graph.tensors[tensor].shape.back() = settings.classes;
    graph.tensors[tensor].is_frozen = false;
  }
  Bytes file = file_of(model, std::move(graph), drawn, settings.seed);
  const Result<Model> made = Model::load(file);
  if (!made) return bad(concat({"what is behind ", settings.layer, " does not fit: ", made.error().message()}));
  if (made->output_shape() == model.output_shape() && model.shape(op->outputs[0]).back() != settings.classes) {
    return bad(concat({settings.layer, " is not the last layer: the model's output stays as it is"}));
  }
  return file;
}

}  // namespace coterie
