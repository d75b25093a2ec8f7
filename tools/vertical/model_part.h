// ModelPart: the file model.part, a party's part of a trained model: of which training and whose it is, which columns
// it asks for, and what the machine that predicts reads. Neither part says anything of a person alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/manifest.h"

namespace coterie {

inline constexpr const char* kModelPartFile = "model.part";  // in a party's folder of results
constexpr uint64_t kModelPartBytesMax = uint64_t{1} << 30;   // of a file

struct ModelPart {
  Digest training;  // SHA-256 of the manifest that it was trained by: both parts have the same
  VerticalModel model = VerticalModel::trees;
  bool is_label_party = false;
  std::vector<std::string> columns;  // names, in the machine's order
  Bytes machine;                     // vertical/trees/tree_model.h or vertical/regression/regression_model.h
  friend bool operator==(const ModelPart&, const ModelPart&) = default;
};

// "CVP1", the model, 1 for the label party's, 2 zero bytes, the training, the number of columns (4 bytes, as each
// length), each name with its length, the machine's length and bytes, SHA-256 of all before; little-endian.
Bytes write_model_part(const ModelPart& part);
// data_loss if a byte is not as it was written; malformed for what was never a part.
Result<ModelPart> read_model_part(ByteView bytes);

}  // namespace coterie
