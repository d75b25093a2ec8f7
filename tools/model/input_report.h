// Which stage of a training's input holds it up, from the times of all of them. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/data/stage_log.h"

namespace coterie {

// How well the input keeps up with computing.
enum class DataSupply : uint8_t {
  sufficient,  // a step waits for less than kSlowShare of its time: computing is the bottleneck
  slow,        // for less than kStarvingShare
  starving,    // for longer: data are the bottleneck
};
constexpr std::string_view to_string(DataSupply supply) {
  constexpr std::string_view kNames[] = {"sufficient", "slow", "starving"};
  return kNames[static_cast<size_t>(supply)];
}
inline constexpr double kSlowShare = 0.1, kStarvingShare = 0.5;

struct InputReport {
  struct Stage {
    DataStage stage;
    StageTotal total;
    double share = 0;                // of the times of its part: of loading, or of the steps
    double examples_per_second = 0;  // that passed through it; 0: it took no time
  };

  std::vector<Stage> loading, steps;  // those that were called
  double loading_seconds = 0;
  double wait_seconds = 0, computing_seconds = 0;  // of a step, means
  double wait_share = 0;                           // of both together
  double loading_epochs = 0;                       // so many times as long as an epoch does loading take
  DataSupply supply = DataSupply::sufficient;
  DataStage slowest_of_batch = DataStage::batch, slowest_of_loading = DataStage::read;

  // Loading is told of where it takes more than kSlowShare of what it and one epoch take together.
  bool loads_long() const { return loading_epochs > kSlowShare / (1 - kSlowShare); }
};

// `loading` heard of `loaded` examples, `steps` of `step_count` steps (at least 1) of `batch_size` examples.
InputReport report_input(const StageLog& loading, uint64_t loaded, const StageLog& steps, uint64_t step_count,
                         uint32_t batch_size, uint64_t steps_an_epoch);

}  // namespace coterie
