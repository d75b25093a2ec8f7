#include "device_sdk/delegates/delegate_module.h"
#include "device_sdk/delegates/onednn/onednn_delegate.h"

namespace {

coterie::Result<std::unique_ptr<coterie::Delegate>> open_onednn() { return coterie::make_onednn_delegate(); }

constexpr coterie::DelegateModule kModule = {COTERIE_VERSION, open_onednn};

}  // namespace

extern "C" const coterie::DelegateModule* coterie_delegate_module() { return &kModule; }
