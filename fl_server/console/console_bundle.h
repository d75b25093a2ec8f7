// The console's files as console/build.mjs made them, in this program. Defined by what it writes into the build tree,
// or by absent_bundle.cc where the console was not built.
#pragma once

#include "base/bytes.h"

namespace coterie {

struct ConsoleBundle {
  ByteView page;           // HTML
  ByteView script, style;  // gzip; empty in a build without the console
};

ConsoleBundle console_bundle();

}  // namespace coterie
