// fuzz_corpus TARGET FOLDER|FILE...: a main for fuzz targets without libFuzzer. It runs the target on every file of the
// folders (or files) it is given. Each name is printed before its turn: after a crash the last one is the culprit. No
// input at all is a failure.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "tests/fuzz/corpus_targets.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: fuzz_corpus TARGET FOLDER|FILE...\n");
    return 2;
  }
  coterie::test::FuzzTarget* const target = coterie::test::fuzz_target(argv[1]);
  if (target == nullptr) {
    std::fprintf(stderr, "fuzz_corpus: no target has the name %s\n", argv[1]);
    return 2;
  }
  std::set<std::filesystem::path> files;
  for (int i = 2; i < argc; ++i) {
    if (std::filesystem::is_regular_file(argv[i])) files.insert(argv[i]);
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  for (const std::filesystem::path& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(stream), {});
    target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
