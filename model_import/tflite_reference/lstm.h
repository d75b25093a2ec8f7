// UNIDIRECTIONAL_SEQUENCE_LSTM without peepholes, projection and norms, its states zeros at the beginning. Private to
// the reference.
#pragma once

#include "model_import/tflite_reference/kernel_call.h"

namespace coterie::model_import {

Result<std::vector<double>> lstm(const KernelCall& call);

}  // namespace coterie::model_import
