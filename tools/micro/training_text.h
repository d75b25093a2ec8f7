// What a program that trains has beside its passes (pass_text.h): a table of its layers, which forward and backward
// walk, the loss and the update.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coterie {

// A row of the table. Names are C: of functions, constants and places in the arena, or "NULL".
struct MicroTrainedLayer {
  std::string name;  // as the comment shows it
  std::string pass, shape;
  std::string weight, bias, weight_gradient, bias_gradient;
  std::string value, gradient;  // of its output
  uint64_t out = 0, filters = 1;
  bool has_relu = false;
};

struct MicroTraining {
  std::string prefix;
  std::vector<MicroTrainedLayer> layers;
  size_t first_trained = 0;   // the layer where backward ends
  uint64_t trained = 0;       // elements of all parameters that are trained; `start` has as many, in the arena's order
  bool counts_right = false;  // for coterie_tiny.h: client_text.h has what it calls
};

// The table and the functions of the header. In front of it stand the passes that the table names, kExp, kLog,
// kCrossEntropy, and kRelu and kReluInput where they are called.
std::string training_text(const MicroTraining& training);

// Whether forward calls `relu`, and backward `relu_input`.
bool any_relu(const MicroTraining& training);
bool any_relu_gradient(const MicroTraining& training);

}  // namespace coterie
