#include "device_sdk/c_api/fence.h"

namespace coterie {

void install_assert_handler() {
  set_assert_handler([](const AssertionFailure& failure) { throw failure; });
}

}  // namespace coterie
