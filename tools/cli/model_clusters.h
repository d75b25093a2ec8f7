// coterie model clusters: files that hold the models of several clusters (device_sdk/runtime/cluster_models.h), made of
// single ones and taken apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device_sdk/runtime/cluster_models.h"
#include "tools/cli/exit_code.h"

namespace coterie {

struct ModelClustersOptions {
  std::vector<std::string> from;  // model files: one, of which others are made, or all of them
  uint32_t count = 0;             // of one: how many the file gets
  float spread = kClusterSpread;
  uint64_t seed = 1;
  uint32_t take = 0;  // instead, of a file that holds several: this one, from 1; 0: none is taken
  std::string to;
};

ExitCode write_clusters(const ModelClustersOptions& options);

}  // namespace coterie
