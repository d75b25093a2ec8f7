// Generated programs compiled and run on this machine.
#pragma once

#include <string>
#include <vector>

#include "tests/micro/program_rig.h"

namespace coterie::test {

// The C compilers that are here; CMake's own is one of them or like one.
std::vector<std::string> host_compilers();

// What the program prints; a failure of the test if it does not compile without a warning, or does not run.
DriverWords run_here(const MicroProgram& program, const RigCase& facts, const std::string& compiler,
                     const std::string& options = "-O2");

}  // namespace coterie::test
