// ServingSteps: what happens to a request before a model computes it, and to what the model says behind it, so that a
// client sends what it has (a JPEG, a row of a table) and gets what it wants (a class's name). Read from a file once,
// fitted to the interface of each version of a model, and then shared by all threads. Pure.
//
//   {"schema": "coterie.serving_steps.v1",
//    "inputs": [{"name": "photo", "datatype": "BYTES", "shape": []}],
//    "before": [{"name": "picture", "step": "decode_image", "from": "photo", "channels": 1},
//               {"name": "small", "step": "resize", "from": "picture", "height": 8, "width": 8},
//               {"name": "pixels", "step": "scale", "from": "small", "factor": 0.00392}],
//    "model": {"input": "pixels"},
//    "after": [{"name": "probabilities", "step": "softmax", "from": "dense2"},
//              {"name": "best", "step": "top_k", "from": "probabilities", "k": 3, "labels_from": "contract.json"}],
//    "outputs": {"label": "best.labels", "probability": "best.values"}}
//
// Without "inputs", "before" and "model" clients send the model's own inputs; without "after" and "outputs" they get
// its outputs. Steps take any of several outputs, and have to take its own. docs/SERVING.md has the table of steps.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "fl_server/serving/serving_step.h"

namespace coterie {

inline constexpr size_t kStepsFileBytesMax = 1 << 20;
inline constexpr size_t kStepsMax = 64;                // on each side
inline constexpr size_t kStepInputsMax = 1024;         // of clients
inline constexpr size_t kStepOutputsMax = 64;          // to clients
inline constexpr uint64_t kStepElementsMax = 1 << 26;  // of a value whose size is known at the begin

// Steps of one side, in order: what is given, then what each gives.
struct StepCall {
  std::string name;
  const ServingStep* step = nullptr;
  std::vector<size_t> from;  // places among the values
  size_t to = 0, parts = 0;
};
struct StepSide {
  size_t given = 0;              // the first values, from outside
  std::vector<ValueType> types;  // of all values
  std::vector<StepCall> calls;
  std::vector<size_t> taken;  // places of those that leave
};

class ServingSteps;

// Steps that join up with a model's interface.
class FittedSteps {
 public:
  const ClientInterface& client() const { return client_; }
  const std::shared_ptr<const ServingSteps>& steps() const { return steps_; }
  // Whether anything happens before the model.
  bool prepares() const { return prepares_; }
  // One row of a request in the client's interface, as the model's inputs. Errors name the step.
  Status prepare(std::span<const TensorValues> inputs, uint64_t row, std::span<const std::span<float>> to) const;
  // Rows of the model's outputs (OutputPlaces), as the client's outputs.
  Result<std::vector<TensorValues>> finish(std::span<const float> outputs, uint64_t rows) const;

 private:
  friend class ServingSteps;
  std::shared_ptr<const ServingSteps> steps_;
  ClientInterface client_;
  ModelInterface model_;
  bool prepares_ = false;
  StepSide before_, after_;
};

class ServingSteps : public std::enable_shared_from_this<ServingSteps> {
 public:
  // Errors name the step, or the place in the file: malformed (no JSON), invalid_argument, too_large (a named limit),
  // those of `files`.
  static Result<std::shared_ptr<const ServingSteps>> parse(std::string_view json, const StepFiles& files);

  // invalid_argument: types and shapes do not join up; names the step, what it expected and what is there.
  Result<std::shared_ptr<const FittedSteps>> fit(const ModelInterface& model) const;

 private:
  struct Written {
    std::string name, from;
    std::unique_ptr<ServingStep> step;
  };
  using Names = std::map<std::string, std::string>;

  Status read(JsonReader& reader, const StepFiles& files, Problems& problems);
  Status fit_before(FittedSteps& fitted) const;
  Status fit_after(FittedSteps& fitted) const;
  static Status read_steps(JsonReader& reader, const char* key, const StepFiles& files, const Problems& problems,
                           std::vector<Written>& steps);

  std::vector<TensorInterface> inputs_;
  std::vector<Written> before_, after_;
  Names model_, outputs_;  // the model's inputs, and the client's outputs: by which value
};

}  // namespace coterie
