#include "device_sdk/runtime/left_out.h"

#include "base/text/concat.h"

namespace coterie {

Error left_out(std::string_view what, std::string_view name) {
  return Error(ErrorCode::invalid_argument, concat({what, ": this build was made from a list with -", name}));
}

}  // namespace coterie
