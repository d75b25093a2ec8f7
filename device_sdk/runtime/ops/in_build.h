// Which ops this build has: all, or with -DCOTERIE_OPS_FROM those of some models (cmake/CoterieOps.cmake).
#pragma once

#include <algorithm>
#include <initializer_list>

#include "proto/messages/model.h"

namespace coterie::ops {

#ifdef COTERIE_OPS  // dense, conv2d, ...: the compiler is told for registry.cc alone
inline constexpr bool is_in_build(OpKind kind) {
  using enum OpKind;
  constexpr OpKind kOps[] = {COTERIE_OPS};
  return std::ranges::find(kOps, kind) != std::end(kOps);
}
#else
inline constexpr bool is_in_build(OpKind) { return true; }
#endif

inline constexpr bool is_any_in_build(std::initializer_list<OpKind> kinds) {
  return std::ranges::any_of(kinds, is_in_build);
}

}  // namespace coterie::ops
