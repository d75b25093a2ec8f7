// The folder of a sweep:
//
//   sweep.json                       what was asked for: variants and seeds
//   01/seed-1/ 01/seed-2/ 02/...     a run of each, as `coterie simulate` leaves it
//   comparison.csv comparison.json comparison.svg
//
// A run is done when its summary.json is there, so that a sweep that was ended goes on where it was.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/compare/comparison.h"

namespace coterie {

struct SweepPlan {
  std::vector<std::string> variants;  // names
  std::vector<uint64_t> seeds;
  std::string request_digest;  // of all that decides the runs: another request does not go on with them
  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;
};

std::string sweep_json(const SweepPlan& plan);
// Malformed: not what sweep_json() writes.
Result<SweepPlan> parse_sweep(std::string_view text);

bool is_sweep_folder(const std::string& folder);
// "<folder>/02/seed-7"; variants are counted from 0.
std::string sweep_run_folder(const std::string& folder, size_t variant, uint64_t seed);
Result<SweepPlan> read_sweep(const std::string& folder);
// The variants that have a run, each with those that are done.
Result<std::vector<Variant>> read_sweep_runs(const std::string& folder);

}  // namespace coterie
