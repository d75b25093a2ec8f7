// ShardFolder: what `coterie data make` leaves in a directory.
//
//   device-01.cotf ...  a data set file a device
//   held-out.cotf       the examples no device has, where some are held out
//   contract.json       the encoding of all of them (input_contract.h)
//   data.json           who has what (schema coterie.data.v1); written last: a directory without it is unfinished
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/data/federate.h"

namespace coterie {

struct ShardRecord {
  std::string file;        // in the directory
  std::string group = {};  // of split group:COLUMN
  uint64_t examples = 0;
  std::vector<uint32_t> classes = {};  // how many examples of each; empty where the target is a number
};

struct ShardFolder {
  std::string path;
  std::string source, split;
  uint64_t seed = 0;
  InputContract contract;
  std::vector<ShardRecord> devices;
  std::optional<ShardRecord> held_out;
  std::vector<std::string> notes;

  std::string path_of(const ShardRecord& record) const { return path + "/" + record.file; }
};

// Told after each file: how many of how many. An error stops the writing.
using ShardProgress = std::function<Status(size_t done, size_t all)>;

// `directory` is new or empty (conflict). Whatever goes wrong, no file of ours is left in it.
Result<ShardFolder> write_shards(const FederatedData& data, const std::string& source, const std::string& directory,
                                 const ShardProgress& progress);

// The same as it would be written, without a byte on the disk: for looking at.
ShardFolder describe(const FederatedData& data, const std::string& source);

// What data.json holds.
std::string manifest_text(const ShardFolder& folder);

// Whether `path` names a directory: one that was made so, or open_shards says why not. "digits" is the built-in data,
// whatever lies beside it.
bool is_shard_folder(const std::string& path);
// Errors name the file: not_found, malformed, unsupported_version.
Result<ShardFolder> open_shards(const std::string& path);

}  // namespace coterie
