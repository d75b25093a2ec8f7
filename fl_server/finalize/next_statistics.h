// NextStatistics: a round's running statistics (proto/messages/running_statistics.h), worked out before the model's
// values are streamed: a variance may lie before the mean that it needs.
#pragma once

#include <span>
#include <vector>

#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/mean_source.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

class NextStatistics {
 public:
  // `statistics` of `model`, whose values have not been read yet, moved by `mean`, where they lie at `places`, as
  // `encoding` says: with float32_pooled to those of all examples together, else by the mean of the differences. What
  // is read here is read again with the rest, and has its digest checked then. Precondition: the mean is not of noisy
  // updates.
  static Result<NextStatistics> of(std::span<const RunningStatistics> statistics,
                                   std::span<const RunningStatistics> places, UpdateEncoding encoding,
                                   const FrameStream& model, const MeanSource& mean);

  // Replaces those of the statistics that lie among `values`, which are the model's from `first` on.
  void put(uint64_t first, std::span<float> values) const;

 private:
  struct Piece {
    uint64_t first;
    std::vector<float> values;
  };
  std::vector<Piece> pieces_;
};

}  // namespace coterie
