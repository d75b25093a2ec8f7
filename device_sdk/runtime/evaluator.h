// Evaluator: the forward pass over a data set: how good are these parameters?
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

struct HeadResult;  // loss_heads.h

struct Evaluation {
  uint64_t examples = 0;
  // The loss of the data set as one batch: the mean over the rows of all outputs, with class weights the weighted one
  // that training lowers, with heads the weighted sum of theirs. May be infinite or NaN: that is what such parameters
  // are worth.
  double loss_mean = 0;
  // In [0, 1], of the rows that are not ignored; 0 for a regression; with heads of the first one's output, and so is
  // `ignored`.
  double accuracy = 0;
  uint64_t ignored = 0;  // rows whose label is ignored
};

// Sees each batch: the model's own outputs of its examples, one behind the other, and their targets (of labels the
// bytes of int32, kIgnoredLabel where one is ignored).
using OutputSink = std::function<void(std::span<const float> outputs, std::span<const float> targets)>;

// Not thread-safe. Allocates in create(), and in run() and begin() for a data set that leaves another rest behind its
// last whole batch than the one before.
class Evaluator {
 public:
  // The results are the same bits for any number of threads (at least 1, the caller's with them). Errors:
  // invalid_argument (batch_size 0, a loss that does not fit the model), too_large.
  static Result<Evaluator> create(const Model& model, const LossSettings& loss, uint32_t batch_size,
                                  uint64_t arena_bytes_max = limits::kArenaBytesMax, uint32_t threads = 1);
  static Result<Evaluator> create(const Model& model, Loss loss, uint32_t batch_size,
                                  uint64_t arena_bytes_max = limits::kArenaBytesMax, uint32_t threads = 1) {
    return create(model, LossSettings{.kind = loss}, batch_size, arena_bytes_max, threads);
  }
  // The arena that an evaluator of `count` examples has when it has run. Errors: as create.
  static Result<uint64_t> plan(const Model& model, const LossSettings& loss, uint32_t batch_size, uint64_t count,
                               uint32_t threads = 1);
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();

  // `parameters` is a flat vector of the model's value_count(). Errors: invalid_argument (no examples, another number
  // of parameters, a label out of range) and the source's own.
  Result<Evaluation> run(std::span<const float> parameters, ExampleSource& examples, const OutputSink& sink = nullptr);

  // run() in parts, for who must not be away for long: begin(), next() until finished(), evaluation(). The parameters
  // are copied. After an error of next() nothing is right until begin().
  Status begin(std::span<const float> parameters, uint64_t count);
  // Precondition: not finished; `examples` has the count of begin().
  Status next(ExampleSource& examples, const OutputSink& sink = nullptr);
  bool finished() const;
  Evaluation evaluation() const;
  // Each head's part of it, in their order; empty without heads.
  std::vector<HeadResult> heads() const;
  uint64_t arena_bytes() const;

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  Status prepare_rest(uint32_t batch_size);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
