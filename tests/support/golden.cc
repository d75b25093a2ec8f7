#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/paths.h"

namespace coterie::test {
namespace {

std::string path_of(const std::string& name) { return source_dir() + "/tests/golden/" + name; }

std::string read_text(const std::string& name) {
  std::ifstream stream(path_of(name), std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool update_wanted() {
  const char* flag = std::getenv("COTERIE_UPDATE_GOLDEN");
  return flag != nullptr && std::string_view(flag) == "1";
}

}  // namespace

void expect_golden_text(const std::string& name, std::string_view text) {
  if (update_wanted()) {
    std::filesystem::create_directories(std::filesystem::path(path_of(name)).parent_path());
    std::ofstream(path_of(name), std::ios::binary) << text;
  }
  EXPECT_EQ(read_text(name), text) << "tests/golden/" << name
                                   << " differs; if the change is meant, run again with COTERIE_UPDATE_GOLDEN=1 and "
                                      "review the diff";
}

void expect_golden_bytes(const std::string& name, ByteView bytes) {
  std::string text;
  for (size_t begin = 0; begin < bytes.size(); begin += 32) {
    text += to_hex(bytes.subspan(begin, std::min<size_t>(32, bytes.size() - begin))) + "\n";
  }
  expect_golden_text(name, text);
}

Result<Bytes> read_golden_bytes(const std::string& name) {
  std::string text = read_text(name);
  if (text.empty()) return Error(ErrorCode::not_found, "tests/golden/" + name + " is absent or empty");
  std::erase(text, '\n');
  return from_hex(text);
}

}  // namespace coterie::test
