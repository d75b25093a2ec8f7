// What a module with a delegate offers: a shared library of this build, which a program loads where it is asked for. So
// no program links what the module links.
//
// The interface behind it is C++ of one compiler and one release: the release is compared before anything is called.
#pragma once

#include <memory>

#include "base/result.h"
#include "device_sdk/runtime/delegate/delegate.h"

namespace coterie {

struct DelegateModule {
  const char* release;  // of Coterie: "0.3.0"
  // Errors: unavailable (no device; says what was looked for). The module stays loaded as long as the delegate lives.
  Result<std::unique_ptr<Delegate>> (*open)();
};

}  // namespace coterie

// The module's one symbol.
extern "C" __attribute__((visibility("default"))) const coterie::DelegateModule* coterie_delegate_module();
