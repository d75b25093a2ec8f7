// One side of the steps, value by value: which exist, of what type, and who uses them. For ServingSteps::fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fl_server/serving/serving_steps.h"

namespace coterie {

class SideFitter {
 public:
  // A value from outside; its name is not there yet.
  void give(const std::string& name, const ValueType& type);
  // Likewise, and nothing has to use it.
  void offer(const std::string& name, const ValueType& type);
  // A step behind those before it. Errors: invalid_argument, with the step's name.
  Status add(const std::string& name, const ServingStep& step, const std::string& from);
  // The value of this name leaves. invalid_argument: there is none.
  Result<ValueType> take(const std::string& name);
  // Everything that is there is used. invalid_argument: names what is not.
  Status check_used() const;
  StepSide side() { return std::move(side_); }

 private:
  Result<size_t> place_of(const std::string& name) const;

  StepSide side_;
  std::map<std::string, size_t> places_;
  std::vector<std::string> owners_;  // of each value: "input X" or "step X"
  std::vector<bool> used_;
};

}  // namespace coterie
