// A value as a file has it: a tensor of numbers, texts, or what holds such values.
#pragma once

#include <string>
#include <vector>

#include "model_import/graph/graph.h"

namespace coterie::model_import {

struct HostValue {
  Form form = Form::tensor;
  HostTensor tensor;               // of Form::tensor; its shape, of Form::text
  std::vector<std::string> texts;  // of Form::text, in row-major order
  std::vector<HostValue> items;    // of Form::sequence; of Form::optional, one or none
};

}  // namespace coterie::model_import
