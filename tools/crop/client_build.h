// The smallest program that trains (tests/footprint), built from a source tree with a list of ops, weighed and asked
// whether it takes a model. Runs cmake, which must be installed with what the preset `engine` needs.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/crop/link_map.h"

namespace coterie {

struct ClientBuild {
  std::string source;  // folder of the source tree
  std::string folder;  // of the build; made if there is none
  std::string list;    // file that crop_list_text made
};

struct BuiltClient {
  std::string program;                              // its path
  uint64_t bytes = 0;                               // of the file, stripped
  std::vector<LinkedPiece> pieces;                  // of its link map
  std::set<std::string> rules;                      // names of the tree's files with rules of ops
  std::vector<std::string> ops, kernels, left_out;  // what cmake/ops_from.py found, as the build has it
};

// Configures and builds, which takes minutes; goes on with what a folder has. What cmake says is in `folder`/crop.log.
// Errors: not_found (no source tree, no cmake), unavailable (cmake failed: its last words), cancelled.
Result<BuiltClient> build_client(const ClientBuild& build);

// Has the client load a model file. Errors: unavailable, with what the client says.
Status client_takes(const BuiltClient& client, const ClientBuild& build, ByteView model);

}  // namespace coterie
