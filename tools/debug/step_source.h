// StepSource: where a debugger's steps come from: a training that runs, or one that was recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/debug/step_record.h"

namespace coterie {

class Model;

// Not thread-safe. It stands behind a step, whose record is now(), or in front of the first.
class StepSource {
 public:
  virtual ~StepSource() = default;

  virtual const Model& model() const = 0;
  virtual const std::vector<bool>& is_trained() const = 0;  // as Trainer's trainable_tensors
  virtual uint64_t steps_an_epoch() const = 0;
  // "a training of 150 steps", "3 recorded steps, from 0 to 20": what it is, for people.
  virtual std::string description() const = 0;

  // Null: it stands in front of the first step. Valid until it moves.
  virtual const StepRecord* now() const = 0;
  virtual const StepRecord* before() const = 0;  // the one in front of it; null: there is none
  // What forward() goes to; none: it is the end.
  virtual std::optional<uint64_t> next() const = 0;
  // A step on. Errors: those of reading; conflict: it is the end. A step that fails is a step: its record says so.
  virtual Status forward() = 0;
  // `steps` back; in front of the first where there are not as many. `is_stopped` is asked in between. Errors: those
  // of reading; cancelled: it was stopped, and stands in front of the first.
  virtual Status back(uint64_t steps, const std::function<bool()>& is_stopped) = 0;
  // Each record that is at hand, in order. Where `visit` gives false it ends. Errors: those of reading.
  virtual Status visit_records(const std::function<bool(const StepRecord&)>& visit) = 0;
};

}  // namespace coterie
