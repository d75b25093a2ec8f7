// What a generated program must compute, bit for bit, by the reference kernels (train_kernels/reference), which know
// nothing of its text. Only exp and log are the C's own.
#pragma once

#include <vector>

#include "device_sdk/runtime/model.h"
#include "tests/micro/program_rig.h"

namespace coterie::test {

// Words as the driver prints them. The model is a chain of dense, conv2d, relu, pooling and flatten. What is frozen
// stays as it is, and is not in the hash.
DriverWords reference_words(const Model& model, const RigCase& facts);

// The flat vector of the model's parameters behind those steps.
std::vector<float> reference_parameters(const Model& model, const RigCase& facts);

// e^x and log x as the C has them, for the test of their bounds.
float micro_exp(float x);
float micro_log(float x);

}  // namespace coterie::test
