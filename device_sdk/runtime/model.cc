#include "device_sdk/runtime/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/op_rule.h"
#include "device_sdk/runtime/shape_inference.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "model: " + what); }

// Every value finite, and 0 outside the parameters: what an average or a checkpoint carries is then always meaningful.
Status check_values(const ModelGraph& graph, std::span<const float> values) {
  std::vector<bool> is_parameter(values.size());
  for (const TensorInfo& tensor : graph.tensors) {
    if (!has_payload(tensor.role)) continue;
    COT_ASSIGN(const uint64_t count, element_count(tensor.shape));
    const size_t first = tensor.payload_offset / sizeof(float);
    for (size_t i = first; i < first + count; ++i) {
      if (!std::isfinite(values[i])) return malformed("parameter " + tensor.name + " has a value that is not finite");
      is_parameter[i] = true;
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!is_parameter[i] && values[i] != 0) return malformed("the padding between parameters is not zero");
  }
  return {};
}

// The output begins with the batch, alone or times something: rows of each example.
Result<Shape> shape_of_one_example(const Shape& output) {
  if (output.empty() || output[0] >= 0) return malformed("its output does not begin with the batch dimension");
  Shape one(output.begin() + 1, output.end());
  if (output[0] != -1) one.insert(one.begin(), -output[0]);
  for (const int64_t dimension : one) {
    if (dimension < 0) return malformed("its output has the batch in two dimensions");
  }
  return one;
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
  COT_TRY(check_values(state->graph, state->parameters));
  state->digest = content_digest(state->file);
  return Model(std::move(state));
}

Bytes Model::file_with(std::span<const float> parameters) const {
  COT_ASSERT(parameters.size() == value_count());
  Bytes file = state_->file;
  const size_t bytes = parameters.size_bytes();
  std::memcpy(file.data() + (file.size() - bytes), parameters.data(), bytes);
  return file;
}

}  // namespace coterie
