// ServedVersion: one version of a model, ready to answer: compiled for several batch sizes (ADR 9), once for each seat
// (InferenceWorkers), so that nobody who computes waits for another. One that computes in int8 takes example by example
// and answers its own output alone.
//
// What is held for it goes with the last handle of it: requests under way keep the version that they began with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/batcher.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

class ComputeCost;
class FittedSteps;
class Int8Predictor;
struct Int8Program;
class Predictor;
struct ServableModel;
class ServingSteps;

struct SessionLimits {
  size_t workers = 1;
  std::vector<uint32_t> batch_sizes = {1};  // ascending, the first is 1
  // All sessions of one version have so much together: what the small batch sizes need is theirs, and what is left is
  // for the large ones. A size that no longer fits for all workers is left out, as are those above it.
  uint64_t memory_bytes_max = 1ull << 30;
};

// 1, 2, 4 ... up to `batch_max`, and that itself. Precondition: batch_max is at least 1.
std::vector<uint32_t> batch_sizes_up_to(uint32_t batch_max);

class ServedVersion {
 public:
  ~ServedVersion();
  // Opens (open_servable) and compiles: milliseconds for small models, seconds for large ones. Errors: those of both.
  static Result<std::shared_ptr<ServedVersion>> load(Bytes file, uint64_t number, const SessionLimits& limits);
  // Whether these steps join up with the model. invalid_argument: ServingSteps::fit.
  static Status check(const ServableModel& opened, const ServingSteps& steps);
  // too_large: batch size 1, or a network in int8, is over the memory.
  static Result<std::shared_ptr<ServedVersion>> compile(const ServableModel& opened, uint64_t number,
                                                        const SessionLimits& limits);

  uint64_t number() const { return number_; }
  const std::string& name() const { return name_; }  // the number's text
  const Digest& digest() const { return digest_; }
  const std::string& digest_text() const { return digest_text_; }
  const ModelInterface& interface() const { return interface_; }
  // Before it answers: what its clients send and get is what these steps say, instead of the model's own inputs and
  // outputs. invalid_argument: ServingSteps::fit.
  Status put_on(const std::shared_ptr<const ServingSteps>& steps);
  const ClientInterface& client() const;
  // Null: there are none.
  const std::shared_ptr<const FittedSteps>& steps() const { return steps_; }
  // Whether clients of both send and get the same, by the same steps.
  bool answers_as(const ServedVersion& other) const;
  uint64_t bytes() const { return bytes_; }                      // of the file and of all sessions
  bool lacks_batch_sizes() const { return lacks_batch_sizes_; }  // some did not fit
  LaneId lane() const { return lane_; }                          // of no other version in this process
  LaneId steps_lane() const { return steps_lane_; }              // likewise, of what its steps prepare

  // What its rows have cost so far, in this process.
  ComputeCost& cost() { return *cost_; }

  // `rows` rows on the sessions of `seat`, which nobody else uses meanwhile: the largest batch sizes that they fill,
  // one behind the other. A place for each output; of int32 the same bits seen as float. Errors: those of
  // Predictor::run or Int8Predictor::run.
  Status run(size_t seat, std::span<const std::span<const float>> inputs, uint64_t rows,
             std::span<const std::span<float>> outputs);
  // Likewise of a version with one output.
  Status run(size_t seat, std::span<const std::span<const float>> inputs, uint64_t rows, std::span<float> output) {
    return run(seat, inputs, rows, std::span<const std::span<float>>(&output, 1));
  }

 private:
  ServedVersion();
  Status compile_float(const ServableModel& opened, const SessionLimits& limits);
  Status compile_int8(const ServableModel& opened, const SessionLimits& limits);

  uint64_t number_ = 0;
  std::string name_;
  Digest digest_;
  std::string digest_text_;
  ModelInterface interface_;
  ClientInterface own_client_;
  std::shared_ptr<const FittedSteps> steps_;
  LaneId lane_, steps_lane_;
  uint64_t bytes_ = 0;
  bool lacks_batch_sizes_ = false;
  std::unique_ptr<ComputeCost> cost_;
  std::vector<std::vector<Predictor>> sessions_;  // [seat][batch size, ascending]
  std::shared_ptr<const Int8Program> int8_;       // null: it computes in float32
  std::vector<Int8Predictor> int8_sessions_;      // [seat], instead
};

}  // namespace coterie
