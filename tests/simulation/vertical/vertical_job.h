// The jobs of the simulator: tiny tables of two parties and a manifest for each kind of training.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/vertical/manifest.h"

namespace coterie::simulation {

// Four of each kind: trees (two of them sample), logistic and linear regression, split networks (one of each network).
constexpr uint32_t kVerticalJobs = 16;

struct VerticalJob {
  VerticalManifest manifest;
  std::string text;                   // of the manifest
  Digest digest;                      // of that
  std::array<std::string, 2> tables;  // CSV; the label party's first
};

// `number` is below kVerticalJobs; the same number gives the same job.
VerticalJob make_vertical_job(uint32_t number);

inline constexpr std::array<const char*, 2> kVerticalParties = {"label-party", "feature-party"};

}  // namespace coterie::simulation
