// The jobs of the simulator: tiny tables of two to four parties and a manifest for each kind of training.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/vertical/manifest.h"

namespace coterie::simulation {

// Four of each kind: trees (two of them sample), logistic and linear regression, split networks (one of each network);
// and four of trees of three and four parties, likewise.
constexpr uint32_t kPairJobs = 16, kRingJobs = 4, kVerticalJobs = kPairJobs + kRingJobs;

struct VerticalJob {
  VerticalManifest manifest;
  std::string text;                 // of the manifest
  Digest digest;                    // of that
  std::vector<std::string> tables;  // CSV; the label party's first
};

// How many parties the job has.
uint32_t parties_of(uint32_t number);

// `number` is below kVerticalJobs, or pooled() of one; the same number gives the same job.
VerticalJob make_vertical_job(uint32_t number);

// The number of the same training with two parties: of those people whom all parties have, all feature parties' columns
// lie at one. Its scores must be those of the job itself, unless the job samples: samples follow the rows' order.
// `ring`: kPairJobs or above.
constexpr uint32_t pooled(uint32_t ring) { return ring + kRingJobs; }

inline constexpr std::array<const char*, 4> kVerticalParties = {"label-party", "feature-party", "feature-party-2",
                                                                "feature-party-3"};

}  // namespace coterie::simulation
