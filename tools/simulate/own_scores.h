// How good the models of a simulation are on what each device holds out of its own examples: what the server publishes,
// and what devices have made their own of it (device_sdk/agent/own_training.h).
//
// A device never trains on what it holds out, which is the same in all rounds (device_sdk/runtime/example_part.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/plan.h"

namespace coterie {

class DeviceStates;

// Means over devices, each of which counts alike.
struct OwnScore {
  double accuracy = 0;     // 0 where targets are values
  double worst_tenth = 0;  // likewise: the mean of the tenth of the devices that have the lowest, rounded up
  double loss = 0;
};

struct OwnScores {
  uint32_t devices = 0;   // that hold something out
  uint64_t examples = 0;  // that they hold out together
  OwnScore published;
  std::optional<OwnScore>
      personal;  // of a job that devices keep something of; who was never counted has what is published. In a job with
                 // clusters `published` is the first one's model, and this the one that a device trained last
};

// Device d has the data set file shard_files[d], and keeps states.of(d). `model`: as published. Errors: those of the
// files and of evaluation; cancelled; invalid_argument if no device holds out an example.
Result<OwnScores> own_scores(const Bytes& model, const TrainingSettings& training, const DeviceStates& states,
                             const std::vector<std::string>& shard_files, float share);

}  // namespace coterie
