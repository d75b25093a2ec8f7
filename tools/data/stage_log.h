// StageLog: how long the stages take that bring examples from a file into a training's steps. Pure: it is handed the
// clock. Not thread-safe.
//
// Calls of stages nest, as one stage asks the one before for its examples: a call's own time is what it took without
// the calls inside of it. So the times of all stages add up to the time that was measured, and nothing counts twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace coterie {

// In the order in which examples pass through them: the first five once, before the first step, the others in each.
enum class DataStage : uint8_t {
  read,       // bytes of files
  unpack,     // gzip, zstd
  parse,      // bytes as the fields of a table, numbers of an array, pixels of an image
  encode,     // those as examples, by the input contract (input_contract.h): scaled, resized, as one of so many
  store,      // examples as a data set file in memory, and its seal
  copy,       // an example into its place in the batch, as floats
  transform,  // an example augmented (device_sdk/runtime/augment.h)
  batch,      // what else a batch takes: which examples are next, whether their labels are possible
  step,       // forward, backward, update
};
inline constexpr size_t kDataStages = 9;
constexpr std::string_view to_string(DataStage stage) {
  constexpr std::string_view kNames[kDataStages] = {"read", "unpack",    "parse", "encode", "store",
                                                    "copy", "transform", "batch", "step"};
  return kNames[static_cast<size_t>(stage)];
}

struct StageTotal {
  uint64_t calls = 0;
  uint64_t bytes = 0;  // that came into it; 0 where it has no such number
  double seconds = 0;  // its own
};

// One call, in seconds of the clock.
struct StageSlice {
  DataStage stage;
  double begin, end;
};

class StageLog {
 public:
  static constexpr size_t kSlicesMax = 1 << 19;  // that are kept; more are counted

  using Clock = std::function<double()>;  // monotonic, in seconds
  explicit StageLog(Clock now) : now_(std::move(now)) {}

  double now() const { return now_(); }
  const StageTotal& total(DataStage stage) const { return totals_[static_cast<size_t>(stage)]; }
  double seconds() const;  // of all stages
  // In the order in which calls ended: those inside of a call stand in front of it.
  const std::vector<StageSlice>& slices() const { return slices_; }
  uint64_t slices_left_out() const { return slices_left_out_; }
  // As if nothing had been told. Precondition: no call is under way.
  void clear();

 private:
  friend class StageCall;

  Clock now_;
  std::array<StageTotal, kDataStages> totals_ = {};
  std::vector<StageSlice> slices_;
  uint64_t slices_left_out_ = 0;
  double inner_seconds_ = 0;  // of calls that ended inside of the innermost one under way
};

// A call of a stage, from its construction to its end. Without a log (null) no clock is read.
class StageCall {
 public:
  StageCall(StageLog* log, DataStage stage);
  ~StageCall();
  StageCall(const StageCall&) = delete;
  StageCall& operator=(const StageCall&) = delete;

  void add_bytes(uint64_t bytes) { bytes_ += bytes; }

 private:
  StageLog* const log_;
  const DataStage stage_;
  uint64_t bytes_ = 0;
  double begin_ = 0;
  double outer_inner_seconds_ = 0;  // what the call around this one has had inside of it so far
};

// What `work` returns, as a call of the stage.
template <typename Work>
auto timed(StageLog* log, DataStage stage, uint64_t bytes, const Work& work) {
  StageCall call(log, stage);
  call.add_bytes(bytes);
  return work();
}

}  // namespace coterie
