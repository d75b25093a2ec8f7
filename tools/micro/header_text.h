// The header of a generated program: its contract.
#pragma once

#include <cstdint>
#include <string>

#include "proto/messages/model.h"

namespace coterie {

struct MicroHeader {
  std::string prefix;
  std::string model;  // its name, as a comment may show it
  Shape input;
  uint64_t inputs = 0, outputs = 0;  // elements of one example
  uint64_t trained = 0;              // parameters that are trained
  uint64_t arena_bytes = 0;
  bool trains = false;
  bool is_int8 = false;     // it computes in int8
  bool has_client = false;  // it takes part in rounds
};

std::string micro_header(const MicroHeader& facts);

}  // namespace coterie
