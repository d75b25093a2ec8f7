#include "tests/micro/host_run.h"

#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"

namespace coterie::test {

std::vector<std::string> host_compilers() {
  std::vector<std::string> found;
  for (const char* const name : {"gcc", "clang-16", "cc"}) {
    if (shell("command -v " + std::string(name)).code == 0) found.push_back(name);
  }
  if (found.size() > 2) found.pop_back();
  return found;
}

DriverWords run_here(const MicroProgram& program, const RigCase& facts, const std::string& compiler,
                     const std::string& options) {
  const TemporaryDirectory folder;
  EXPECT_EQ(write_case(folder.path(), program, facts), "");
  const std::string target = source_dir() + "/tests/micro/target/";
  const ShellOutcome outcome =
      shell("set -e; cd " + folder.path() + "; C='" + compiler + " " + options + " " + kMicroWarnings + " -I. -I" +
            source_dir() + "'; $C -c " + program.prefix + ".c -o program.o; $C -include case.h -c " + target +
            "driver.c -o driver.o; " + compiler + " " + options + " -I" + source_dir() + " " + target +
            "host.c program.o driver.o -o run; ./run");
  EXPECT_EQ(outcome.code, 0) << compiler << ": " << outcome.out;
  return parse_words(outcome.out);
}

}  // namespace coterie::test
