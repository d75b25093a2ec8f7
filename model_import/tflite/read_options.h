// The options of an operator. Private to the reader: it names the format's tables.
#pragma once

#include "base/result.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie::tflite_wire {
struct Operator;
}

namespace coterie::model_import {

// Absent options have the format's defaults. Errors: malformed (a number out of range, options of another operator),
// invalid_argument (a form that is not read).
Result<TfliteOptions> read_options(TfliteOp op, const tflite_wire::Operator& wire);

}  // namespace coterie::model_import
