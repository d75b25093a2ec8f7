#include "device_sdk/runtime/int8/int8_model.h"

#include <string>

#include "proto/codec/stored_integers.h"
#include "proto/codec/stored_model.h"

namespace coterie {
namespace {

constexpr uint32_t kInt8BitsMax = 8;

}  // namespace

Result<Int8Model> open_int8_model(const Bytes& file) {
  COT_ASSIGN(const StoredModel stored, decode_stored_model(file));
  if (stored.forms.grids.empty()) return Error(ErrorCode::malformed, "the model does not compute in int8");
  std::vector<Int8Weights> weights;
  for (const QuantisedTensor& form : stored.forms.weights) {
    if (form.bits > kInt8BitsMax) {
      return Error(ErrorCode::malformed, "tensor " + stored.graph.tensors[form.tensor].name + " has integers of " +
                                             std::to_string(form.bits) +
                                             " bits, and a model that computes in int8 takes 8 at most");
    }
    const std::vector<int16_t> integers = stored_integers(stored, form);
    weights.push_back({.form = form, .values = {integers.begin(), integers.end()}});
  }
  COT_ASSIGN(Model exact, Model::load(expanded_file(stored)));
  COT_ASSIGN(Int8Program program, make_int8_program(exact, weights, stored.forms.grids));
  return Int8Model{std::move(exact), std::move(program), std::move(weights)};
}

}  // namespace coterie
