// ScalarSink: takes what event files get, for somebody else who shows runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/time.h"
#include "tools/tensorboard/event_encoder.h"

namespace coterie {

class ScalarSink {
 public:
  virtual ~ScalarSink() = default;
  // Does not block, and cannot fail: what becomes of them must not hold up a training.
  virtual void take(WallTime time, uint64_t step, std::span<const Scalar> scalars) = 0;
  // A file that the run has left, which stays until this is gone. Does not block, and cannot fail.
  virtual void take_file(std::string path) = 0;
  // The run has come to its end as it should. A sink that goes without this was broken off.
  virtual void finished() = 0;
};

}  // namespace coterie
