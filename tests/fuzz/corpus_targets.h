// The targets of a build without libFuzzer by name. CMake writes the table (tests/support/CoterieFuzz.cmake).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coterie::test {

using FuzzTarget = int(const uint8_t* data, size_t size);

// Null where no target has the name.
FuzzTarget* fuzz_target(std::string_view name);

}  // namespace coterie::test
