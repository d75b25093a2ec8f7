// Golden files: what the code must produce, kept under tests/golden and reviewed as code. With COTERIE_UPDATE_GOLDEN=1
// in the environment the file is rewritten instead of compared.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace coterie::test {

// Compares with (or rewrites) tests/golden/<name>; a difference is a test failure that says how to accept it.
void expect_golden_text(const std::string& name, std::string_view text);

// As hexadecimal, 32 bytes a line.
void expect_golden_bytes(const std::string& name, ByteView bytes);

// The bytes of a file that expect_golden_bytes wrote.
Result<Bytes> read_golden_bytes(const std::string& name);

}  // namespace coterie::test
