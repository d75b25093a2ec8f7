// A generated program with a driver and examples, compiled and run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/micro/program_text.h"

namespace coterie::test {

struct RigCase {
  std::vector<std::vector<float>> inputs;  // whole examples
  std::vector<int32_t> labels;
  size_t steps = 0, batch = 4;  // of training, the examples one after the other, again and again
  float learning_rate = 0.125f;
};

// So many of the built-in digits, 8 x 8; large: each pixel as 3 x 3 and a border of 2, 28 x 28.
RigCase digit_case(size_t examples, bool is_large = false);

// NAME.h, NAME.c, case.h in `folder`; with an empty text it went well.
std::string write_case(const std::string& folder, const MicroProgram& program, const RigCase& facts);

// What a command of the shell printed, errors too.
struct ShellOutcome {
  int code = -1;
  std::string out;
};
ShellOutcome shell(const std::string& command);

// The words of a driver's output, line by line.
struct DriverWords {
  std::vector<uint32_t> output, loss, trained;
  uint32_t parameters = 0, predict_instructions = 0, accumulate_instructions = 0;
  friend bool operator==(const DriverWords& a, const DriverWords& b) {  // what is computed, not how fast
    return a.output == b.output && a.loss == b.loss && a.trained == b.trained && a.parameters == b.parameters;
  }
};
DriverWords parse_words(const std::string& text);

inline constexpr const char* kMicroWarnings =
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -ffreestanding -ffp-contract=off";

}  // namespace coterie::test
