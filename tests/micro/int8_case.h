// Models of the tests as int8 networks, and what their C must compute.
#pragma once

#include "device_sdk/runtime/int8/int8_program.h"
#include "device_sdk/runtime/model.h"
#include "tests/micro/program_rig.h"

namespace coterie::test {

// Weights by their largest magnitude, grids by what the examples come to.
Int8Program int8_program_of(const Model& model, const RigCase& facts);
// Words as the driver prints them, by Int8Predictor.
DriverWords int8_words(const Int8Program& program, const RigCase& facts);

}  // namespace coterie::test
