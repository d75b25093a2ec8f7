#include "model_import/weights/read_weights.h"

#include <algorithm>

#include "model_import/weights/little_endian.h"
#include "model_import/weights/zip_archive.h"

namespace coterie::model_import {
namespace {

// A pickle that is no archive: PyTorch before 1.6 wrote one, then the elements.
bool is_bare_pickle(ByteView file) { return file.size() > 2 && file[0] == 0x80 && file[1] >= 2 && file[1] <= 5; }

bool is_safetensors(ByteView file) { return file.size() > 9 && file[8] == '{' && u64_at(file, 0) <= file.size() - 8; }

}  // namespace

Result<WeightTable> read_weights(ByteView file, const ReadOptions& options) {
  if (file.size() > kWeightFileBytesMax) return Error(ErrorCode::too_large, "is larger than 64 GiB");
  if (is_zip(file)) {
    COT_ASSIGN(const std::vector<ZipMember> members, read_zip(file));
    const bool is_npz = std::ranges::any_of(members, [](const ZipMember& m) { return m.name.ends_with(".npy"); });
    return is_npz ? read_npz(file) : read_pytorch(file, options);
  }
  if (is_bare_pickle(file)) {
    return Error(ErrorCode::invalid_argument,
                 "is a pickle without an archive, as PyTorch before 1.6 wrote them: load it there and save it again "
                 "(torch.save of 1.6 or later)");
  }
  if (file.size() >= 8 && as_text(file.first(8)) == "\x89HDF\r\n\x1a\n") {
    return Error(ErrorCode::invalid_argument, "is HDF5, which is not read: save the arrays by numpy.savez");
  }
  if (is_safetensors(file)) return read_safetensors(file);
  // A checkpoint begins with its first value: field 1, of bytes.
  if (!file.empty() && file[0] == 0x0a) return read_mindspore(file);
  return Error(ErrorCode::malformed,
               "is no file of weights that is known: safetensors, .npz, a PyTorch state dict or a MindSpore .ckpt");
}

}  // namespace coterie::model_import
