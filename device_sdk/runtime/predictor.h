// Predictor: the forward pass alone: what does the model say of these examples?
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/limits.h"
#include "device_sdk/runtime/model.h"
#include "device_sdk/runtime/optimisation.h"

namespace coterie {

struct ExternalParts;

// Not thread-safe. Allocates in create() alone.
class Predictor {
 public:
  // Computes `batch_size` examples at a time, with the model's own parameters, by so many threads (at least 1, the
  // caller's with them), which changes no bit. `external`: parts that are computed elsewhere; their steps are kept.
  // `optimisation`: which ops are computed as one.
  // Errors: invalid_argument (batch_size 0, an output that is not float32), too_large.
  static Result<Predictor> create(const Model& model, uint32_t batch_size,
                                  uint64_t arena_bytes_max = limits::kArenaBytesMax, uint32_t threads = 1,
                                  const ExternalParts* external = nullptr,
                                  Optimisation optimisation = Optimisation::rounding);
  // One that computes all of the model's outputs (model_outputs.h). Errors: likewise.
  static Result<Predictor> create_of_all(const Model& model, uint32_t batch_size,
                                         uint64_t arena_bytes_max = limits::kArenaBytesMax, uint32_t threads = 1);
  // One that answers these outputs (tensors of graph_outputs), each once, in this order; an int32 one as the same bytes
  // seen as float. The model's own is computed in any case. Errors: invalid_argument (batch_size 0, no output, one that
  // is none of the model's, or twice there), too_large.
  static Result<Predictor> create_of(const Model& model, std::span<const uint32_t> outputs, uint32_t batch_size,
                                     uint64_t arena_bytes_max = limits::kArenaBytesMax, uint32_t threads = 1,
                                     Optimisation optimisation = Optimisation::rounding);
  Predictor(Predictor&&) noexcept;
  Predictor& operator=(Predictor&&) noexcept;
  ~Predictor();

  uint32_t batch_size() const;
  uint64_t arena_bytes() const;  // what create() took from arena_bytes_max
  // inputs[i] has `count` examples of the model's input i, one behind the other, each in its shape; those of an int32
  // input are the same bytes seen as float. `output` gets as many of the output's shape. Errors: invalid_argument
  // (names the input or the output whose size is wrong; an index outside a table).
  Status run(std::span<const std::span<const float>> inputs, uint64_t count, std::span<float> output);
  // Likewise into a place for each output, in the model's order or in that of create_of().
  Status run(std::span<const std::span<const float>> inputs, uint64_t count, std::span<const std::span<float>> outputs);

 private:
  struct State;
  struct Settings;
  static Result<Predictor> make(const Model& model, uint32_t batch_size, Settings settings);
  explicit Predictor(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace coterie
