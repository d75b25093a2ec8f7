// A whole delta on a whole model file, in memory.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "proto/messages/download_rules.h"

namespace coterie {

struct MovedModel {
  Bytes file;
  Digest result;  // what the delta says that its digest is: the caller compares
};

// The model file that `delta`, a file of the kind model_delta, leads to from `base`, a model file whose digest is
// `base_digest`: that is compared with what the delta says, and not computed. It has the base's header without its
// seal, and as many bytes. malformed: either is not what it must be; the delta is of another base or of another number
// of bits; it has bytes behind the model's last value.
Result<MovedModel> apply_delta(Bytes base, const Digest& base_digest, ByteView delta, uint32_t bits);

}  // namespace coterie
