// A watch as somebody asks for it: by the word `recommended`, or by the path of a watch file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "device_sdk/watch/watch.h"

namespace coterie {

struct TrainOptions;

inline constexpr std::string_view kRecommendedWatch = "recommended";

// What is watched, and how much that may cost.
struct WatchedTraining {
  const Model& model;           // that is trained, with its companions if it has some; outlives the watch
  const TrainOptions& options;  // as the trainer has them
  uint64_t examples = 0;        // that are trained on
  bool has_lora = false;
  uint64_t bytes_max = UINT64_MAX;  // of Watch::bytes_max
};

// The watch of a training that has come to `from`. Errors: those of read_watch_file; not_found also says what is taken
// beside files; invalid_argument names a check of the file that is for nothing of this model or of these data, as
// `recommended`, which is for all kinds of models, may have; too_large says how much the watch may come to hold.
Result<std::unique_ptr<Watch>> open_watch(const std::string& asked, const WatchedTraining& training,
                                          const TrainingSummary& from);

}  // namespace coterie
