// Which families of kernels this build has: all, or with -DCOTERIE_OPS_FROM those that its ops call. For the sources
// that fill tables, which alone are compiled with the list.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace coterie::kernels {

constexpr bool is_family_in_build([[maybe_unused]] std::string_view family) {
#ifdef COTERIE_KERNEL_FAMILIES  // "dense", "conv2d", ...
  constexpr std::string_view kFamilies[] = {COTERIE_KERNEL_FAMILIES};
  return std::ranges::find(kFamilies, family) != std::end(kFamilies);
#else
  return true;
#endif
}

}  // namespace coterie::kernels
