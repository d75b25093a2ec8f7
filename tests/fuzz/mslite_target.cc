// Any bytes as a MindSpore Lite model: an error, or a model file that decodes.
#include "base/assert.h"
#include "model_import/mslite/import_mslite.h"
#include "model_import/mslite/read_mslite.h"
#include "proto/codec/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coterie;
  using namespace coterie::model_import;
  const Result<MsliteModel> model = read_mslite({data, size});
  if (!model) {
    COT_ASSERT(model.error().code() != ErrorCode::internal);
    return 0;
  }
  const Result<ImportedModel> import = import_mslite(*model);
  if (import) COT_ASSERT(decode_model(import->model).has_value());
  else COT_ASSERT(import.error().code() != ErrorCode::internal);
  return 0;
}
