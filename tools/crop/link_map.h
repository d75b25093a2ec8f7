// What a linker put into a program: lld's map of it, read. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coterie {

// A map may be so large, in bytes.
inline constexpr size_t kLinkMapBytesMax = size_t{64} << 20;

// A piece of one object that is part of the program.
struct LinkedPiece {
  std::string library;  // "libcoterie_runtime.a"; empty: an object by itself, or the linker's own
  std::string object;   // "trainer.cc.o"; "<internal>": the linker's own
  std::string section;  // of the object: ".text._ZN7coterie5stepEv"; of the linker's own: ".rela.dyn"
  uint64_t bytes = 0;
};

// All pieces that take room in the file: of zeroed memory there are none. Errors: malformed (no map of lld's).
Result<std::vector<LinkedPiece>> read_link_map(std::string_view text);

}  // namespace coterie
