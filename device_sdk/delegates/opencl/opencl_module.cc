#include "device_sdk/delegates/delegate_module.h"
#include "device_sdk/delegates/opencl/opencl_delegate.h"

namespace {

constexpr coterie::DelegateModule kModule = {COTERIE_VERSION, coterie::open_opencl_delegate};

}  // namespace

extern "C" const coterie::DelegateModule* coterie_delegate_module() { return &kModule; }
