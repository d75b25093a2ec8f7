// What a client weighs, part by part: pieces of its link map, added up by what a person knows them as. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "tools/crop/link_map.h"

namespace coterie {

struct ClientParts {
  std::map<std::string, std::map<std::string, uint64_t>> kernels;  // by file, by instruction set ("avx2", "common")
  std::map<std::string, uint64_t> rules;                           // of ops, by file
  std::map<std::string, uint64_t> others;                          // by library, or by what the linker adds

  uint64_t bytes() const;
};

// `rules`: names of the files in device_sdk/runtime/ops, without their ending.
ClientParts parts_of(std::span<const LinkedPiece> pieces, const std::set<std::string>& rules);

}  // namespace coterie
