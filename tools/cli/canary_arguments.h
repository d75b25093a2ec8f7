// coterie model promote, canaries, observe and end-canary: their grammar.
#pragma once

#include "tools/cli/arguments.h"

namespace coterie {

void add_canaries(CLI::App& model, Invocation& invocation);

}  // namespace coterie
