// A step before or behind a served model: a pure function of one example's values, whose types are known before any
// request comes. It has no state that a run changes: all threads share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fl_server/serving/model_interface.h"

namespace coterie {

class JsonReader;

// What a value of an example is; a kAnySize is known with the request alone.
struct ValueType {
  ProtocolType type = ProtocolType::float32;
  Shape shape;
  bool operator==(const ValueType&) const = default;
};
// "UINT8 [-1,-1,3]"
std::string shown_type(const ValueType& type);
bool has_any_size(const Shape& shape);
// "is FP32 [3], expected WHAT"
Error wrong_type(const ValueType& seen, const std::string& expected);

// The values of one example, somewhere in memory; those of its type.
struct ValueView {
  ProtocolType type = ProtocolType::float32;
  const Shape* shape = nullptr;
  std::span<const float> words;  // of int32 the same bits seen as float
  std::span<const double> doubles;
  ByteView pixels;
  std::span<const std::string> texts;
};

// What a step gives: a value by the step's own name, or several by "NAME.PART".
struct StepPart {
  std::string part;  // empty: the only one
  ValueType type;
};

class ServingStep {
 public:
  virtual ~ServingStep() = default;
  // Names of the values that it takes, where it says so itself; empty: its "from".
  virtual std::vector<std::string> sources() const { return {}; }
  // What it gives for values of these types. invalid_argument: what was expected, and what is there.
  virtual Result<std::vector<StepPart>> fit(std::span<const ValueType> from) const = 0;
  // One example. Precondition: fit() took these types. `to` has a value for each part, all empty. Errors are the
  // client's: malformed, invalid_argument, too_large.
  virtual Status run(std::span<const ValueView> from, std::span<TensorValues> to) const = 0;
};

// A file that a step names: its bytes, by the path that is written there.
using StepFiles = std::function<Result<std::string>(const std::string& path)>;

using StepResult = Result<std::unique_ptr<ServingStep>>;

// The step of this kind with its settings; null: there is no such kind, and the reader has the problem. What is wrong
// with settings is the reader's problem, too. Errors: those of files, with their path.
StepResult make_step(const std::string& kind, JsonReader& settings, const StepFiles& files);

// ---- The kinds, by their subject; null: of another subject
StepResult make_picture_step(const std::string& kind, JsonReader& settings);
StepResult make_number_step(const std::string& kind, JsonReader& settings);
StepResult make_table_step(const std::string& kind, JsonReader& settings, const StepFiles& files);
StepResult make_class_step(const std::string& kind, JsonReader& settings, const StepFiles& files);

// A shape in JSON: at most 16 sizes of at least 1 (or kAnySize, where it may be).
Shape read_shape(JsonReader& reader, const char* key, bool may_be_any);

}  // namespace coterie
