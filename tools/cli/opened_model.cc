#include "tools/cli/opened_model.h"

#include "device_sdk/runtime/int8/int8_model.h"
#include "device_sdk/runtime/seal.h"
#include "tools/cli/admin_command.h"
#include "tools/cli/local_files.h"

namespace coterie {

Result<OpenedModel> open_answering_model(const std::string& file) {
  COT_ASSIGN(Bytes bytes, read_input(file));
  if (!computes_in_int8(bytes)) {
    COT_ASSIGN(Model model, open_model(std::move(bytes), file));
    return OpenedModel{std::move(model), std::nullopt};
  }
  if (const Result<Seal> seal = check_seal(bytes); !seal) return seal.error().with_context(file);
  Result<Int8Model> opened = open_int8_model(bytes);
  if (!opened) return opened.error().with_context(file);
  return OpenedModel{std::move(opened->exact), std::move(opened->program)};
}

}  // namespace coterie
