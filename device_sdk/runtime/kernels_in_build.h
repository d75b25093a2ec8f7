// Which kernels this build has: all, or with -DCOTERIE_OPS_FROM those that its ops, losses and optimizers call. What
// asks for others is refused as it is created (their pointers are null); the steps that would call them are compiled
// away here. For sources of this folder that are compiled with the list (CMakeLists.txt).
#pragma once

#include <string_view>

namespace coterie {

#ifdef COTERIE_KERNELS  // "adam_step", ...
consteval bool is_kernel_in_build(std::string_view name) {
  for (const std::string_view one : {COTERIE_KERNELS}) {
    if (one == name) return true;
  }
  return false;
}
#else
consteval bool is_kernel_in_build(std::string_view) { return true; }
#endif

}  // namespace coterie
