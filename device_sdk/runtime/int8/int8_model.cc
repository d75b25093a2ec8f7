#include "device_sdk/runtime/int8/int8_model.h"

#include "proto/codec/stored_model.h"

namespace coterie {

Result<Int8Model> open_int8_model(const Bytes& file) {
  COT_ASSIGN(const StoredModel stored, decode_stored_model(file));
  if (stored.forms.grids.empty()) return Error(ErrorCode::malformed, "the model does not compute in int8");
  std::vector<Int8Weights> weights;
  for (const QuantisedTensor& form : stored.forms.weights) {
    const TensorInfo& tensor = stored.graph.tensors[form.tensor];
    const ByteView bytes = stored.payload.subspan(tensor.payload_offset, elements(tensor.shape));
    weights.push_back({.form = form, .values = {bytes.begin(), bytes.end()}});
  }
  COT_ASSIGN(Model exact, Model::load(expanded_file(stored)));
  COT_ASSIGN(Int8Program program, make_int8_program(exact, weights, stored.forms.grids));
  return Int8Model{std::move(exact), std::move(program), std::move(weights)};
}

}  // namespace coterie
