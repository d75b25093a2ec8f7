#include "device_sdk/runtime/delegate/fence.h"

#include <exception>
#include <string>

namespace coterie {

Status fenced(const std::function<Status()>& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    return Error(ErrorCode::internal, std::string("it has thrown: ") + thrown.what());
  } catch (...) {
    return Error(ErrorCode::internal, "it has thrown something that is no std::exception");
  }
}

Result<DelegateTraits> traits_of(const Delegate& delegate) {
  DelegateTraits traits;
  COT_TRY(fenced([&]() -> Status {
    traits = delegate.traits();
    return {};
  }));
  return traits;
}

}  // namespace coterie
