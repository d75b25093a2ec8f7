#include "fl_server/serving/servable_model.h"

#include <utility>

#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/seal.h"
#include "device_sdk/runtime/stored_model_file.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

Result<ServableModel> open_int8(const Bytes& file) {
  COT_ASSIGN(Int8Model opened, open_int8_model(file));
  return ServableModel{.model = std::move(opened.exact),
                       .int8 = std::make_shared<const Int8Program>(std::move(opened.program)),
                       .digest = content_digest(file),
                       .file_bytes = file.size()};
}

Result<ServableModel> open_float(Bytes file) {
  const uint64_t bytes = file.size();
  COT_ASSIGN(Model model, Model::load(std::move(file)));
  const Digest digest = model.digest();
  return ServableModel{.model = std::move(model), .digest = digest, .file_bytes = bytes};
}

}  // namespace

Result<ServableModel> open_servable(Bytes file) {
  COT_TRY(check_seal(file));
  COT_ASSIGN(ServableModel opened, computes_in_int8(file) ? open_int8(file) : open_float(std::move(file)));
  const Model& model = opened.model;
  if (model.graph().inputs.empty()) return Error(ErrorCode::invalid_argument, "the model has no input");
  if (model.type(model.graph().output) != DataType::float32) {
    return Error(ErrorCode::invalid_argument,
                 "the model's own output " + model.graph().tensors[model.graph().output].name + " is not float32");
  }
  return opened;
}

}  // namespace coterie
