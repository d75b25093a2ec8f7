// Where the sources lie and what was built, for tests that read the one or start the other. The paths are in one
// generated source and on no command line: a compiler cache then serves every checkout alike.
#pragma once

#include <string>

namespace coterie::test {

std::string source_dir();   // the repository's root
std::string bin_dir();      // of the build: its programs
std::string samples_dir();  // of the build: what coterie-write-samples writes

}  // namespace coterie::test
