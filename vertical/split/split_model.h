// SplitModel: a party's part of a trained split network, and all that a prediction with it needs.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/split/split_columns.h"
#include "vertical/split/split_settings.h"

namespace coterie::vertical {

struct SplitModel {
  SplitSettings settings;
  SplitColumns columns;
  Bytes network;  // a model file
  friend bool operator==(const SplitModel&, const SplitModel&) = default;
};

// "CVS1", the settings, the columns, the network's length (4 bytes) and bytes; little-endian.
Bytes write_split_model(const SplitModel& model);
// `malformed`; the network itself is checked when it is loaded.
Result<SplitModel> read_split_model(ByteView bytes);

}  // namespace coterie::vertical
