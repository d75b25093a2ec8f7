// UnnamedBlob: a blob that no row names, as it was seen.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "base/time.h"

namespace coterie {

struct UnnamedBlob {
  Digest digest;
  // When the forgotten version was made that named it, or the segment sealed; nothing: nobody knows who put it.
  std::optional<WallTime> made = {};
};

}  // namespace coterie
