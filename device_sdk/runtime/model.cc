#include "device_sdk/runtime/model.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/order/sort_key.h"
#include "base/text/concat.h"
#include "device_sdk/runtime/answer_shapes.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/loss_scaling.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/shape_inference.h"
#include "proto/codec/codec.h"
#include "proto/messages/model_outputs.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

Error malformed(std::string_view what) { return Error(ErrorCode::malformed, concat({"model: ", what})); }

// Without a branch an element: a model's parameters are read once here before the first step. Zeros of either
// sign: a padding of -0 adds nothing to an average.
bool all_zero(std::span<const float> values) {
  uint32_t found = 0;
  for (const float value : values) found |= value != 0;
  return found == 0;
}

// Every value finite, and 0 outside the parameters: what an average or a checkpoint carries is then always meaningful.
// decode_model has checked that the parameters lie inside the payload, apart from each other.
Status check_values(const ModelGraph& graph, std::span<const float> values) {
  std::vector<SortKey> parameters;  // first and count
  for (const TensorInfo& tensor : graph.tensors) {
    if (!has_payload(tensor.role)) continue;
    COT_ASSIGN(const uint64_t count, element_count(tensor.shape));
    parameters.push_back({tensor.payload_offset / sizeof(float), count});
    if (!all_finite(values.subspan(parameters.back().major, count))) {
      return malformed(concat({"parameter ", tensor.name, " has a value that is not finite"}));
    }
  }
  parameters.push_back({values.size(), 0});
  sort(parameters);
  size_t end = 0;
  for (const auto& [first, count, index] : parameters) {
    if (!all_zero(values.subspan(end, first - end))) return malformed("the padding between parameters is not zero");
    end = first + count;
  }
  return {};
}

}  // namespace

Result<Model> Model::load(Bytes file) {
  auto state = std::make_shared<State>();
  state->file = std::move(file);
  COT_ASSIGN(Decoded<ModelGraph> decoded, decode_model(state->file));
  state->graph = std::move(decoded.header);
  if (decoded.payload.size() % sizeof(float) != 0) return malformed("the payload is not a whole number of float32");
  state->parameters = payload_as<float>(decoded.payload);
  if (state->parameters.empty()) return malformed("has no parameters");
  COT_ASSIGN(SymbolicTypes symbolic, infer_symbolic(state->graph));
  state->types = std::move(symbolic.types);
  state->flops = symbolic.flops_per_example;
  COT_ASSIGN(state->output_shape, shape_of_one_example(state->types[state->graph.output].shape));
  COT_ASSIGN(const std::vector<uint32_t> outputs, graph_outputs(state->graph));
  for (const uint32_t output : outputs) {
    const Result<Shape> one = shape_of_one_example(state->types[output].shape);
    if (!one) return one.error().with_context(concat({"output ", state->graph.tensors[output].name}));
  }
  COT_TRY(check_values(state->graph, state->parameters));
  return Model(std::move(state));
}

const Digest& Model::digest() const {
  std::call_once(state_->digest_once, [this] { state_->digest = content_digest(state_->file); });
  return state_->digest;
}

Bytes Model::file_with(std::span<const float> parameters) const {
  COT_ASSERT(parameters.size() == value_count());
  Bytes file = state_->file;
  const size_t bytes = parameters.size_bytes();
  std::memcpy(file.data() + (file.size() - bytes), parameters.data(), bytes);
  if (const auto place = seal_place(file); place && *place) seal(file);
  return file;
}

}  // namespace coterie
