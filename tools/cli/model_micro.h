// coterie model export --c: a model file as C for microcontrollers.
#pragma once

#include <cstdint>
#include <string>

#include "tools/cli/exit_code.h"

namespace coterie {

struct ExportCOptions {
  std::string from, folder;
  bool trains = false;
  bool is_int8 = false;     // the file computes in int8, and so does the C
  bool has_client = false;  // the C takes part in rounds; it trains, then
  uint64_t arena_bytes_max = 1ull << 30;
};
// Writes NAME.h and NAME.c, and with the client coterie_tiny.h and .c, into the folder, which it makes, and prints what
// they take. Fails, and writes nothing, if
// the model has an op that cannot be written or needs a larger arena.
ExitCode export_c(const ExportCOptions& options);

}  // namespace coterie
