// The option of an optimisation level, the same for every command that has one.
#pragma once

#include <string>

#include "device_sdk/runtime/optimisation.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace coterie {

struct Invocation;

// --optimise LEVEL; the default is what `level` has, which outlives the command.
CLI::Option* add_optimisation(CLI::App* command, Optimisation& level, const std::string& what);

void add_optimise(CLI::App& model, Invocation& invocation);  // of the group model

}  // namespace coterie
