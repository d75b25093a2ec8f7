// What commands read from this machine: models, and examples by name or from a file.
#pragma once

#include <optional>
#include <string>

#include "device_sdk/runtime/dataset_source.h"
#include "device_sdk/runtime/model.h"
#include "model_io/input_contract.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/data/stage_log.h"

namespace coterie {

// Errors name the file.
Result<Model> open_model(const std::string& file);
// What is in it was read already.
Result<Model> open_model(Bytes bytes, const std::string& file);

struct LocalData {
  DatasetSource examples;
  std::optional<DatasetSource> held_out;     // where the data set brings its own
  std::optional<InputContract> contract;     // by which it was read, where it has a name
  std::optional<int32_t> ignore_label = {};  // what open_data was given, as the examples have it

  // What a model is judged by: the held-out part if there is one.
  DatasetSource& judges() { return held_out ? *held_out : examples; }
};

// A data set file, or a name that load_data knows. Errors name it. `stages`, if it is not null, hears of what comes
// before the first example can be read; of a data set file that is DataStage::read alone: it is read for its seal.
// Inputs are of the model's types (tools/data/input_types.h), and classes that are called by numbers have the model's
// (tools/data/own_numbers.h). `ignore_label`: a value of the target that is no class (tools/data/ignored_class.h).
Result<LocalData> open_data(const std::string& name, const Model& model, StageLog* stages = nullptr,
                            std::optional<int32_t> ignore_label = std::nullopt);

// In a data set file that was opened.
uint64_t stored_bytes_of_example(const DatasetHeader& header);

// Examples that end with interrupted_error() once somebody asks for the end.
class InterruptibleSource final : public ExampleSource {
 public:
  explicit InterruptibleSource(ExampleSource& source) : source_(source) {}
  uint64_t size() const override { return source_.size(); }
  std::optional<Digest> digest() const override { return source_.digest(); }
  const Shape* first_input_shape() const override { return source_.first_input_shape(); }
  Status read(uint64_t index, const Example& to) override {
    if (Interrupt::requested()) return interrupted_error();
    return source_.read(index, to);
  }

 private:
  ExampleSource& source_;
};

// For what computes long without reading examples: interrupted_error() once somebody asks for the end.
inline Status go_on_unless_interrupted() {
  if (Interrupt::requested()) return interrupted_error();
  return {};
}

// Prints the error of a command that works on local files. An input that is missing or broken is the user's, whatever
// its code; an interruption is told by its own exit code.
ExitCode fail_on_input(std::string_view command, const Error& error);
ExitCode fail_on_output(std::string_view command, const Error& error);

}  // namespace coterie
