#include "tools/data/packed_file.h"

#include <algorithm>

#include "base/os/file.h"
#include "tools/data/unpack.h"

namespace coterie {
namespace {

constexpr uint64_t kPieceBytes = 256 * 1024;

Status add_pieces(const os::File& file, uint64_t size, Unpacker& unpacker, StageLog* stages) {
  Bytes piece;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(std::min(kPieceBytes, size - at));
    COT_TRY(timed(stages, DataStage::read, piece.size(), [&] { return file.read_exact_at(at, piece); }));
    const Status added = timed(stages, DataStage::unpack, piece.size(), [&] { return unpacker.add(piece); });
    if (!added) return added.error().with_context(file.path());
  }
  return {};
}

}  // namespace

Result<Bytes> read_unpacked(const std::string& path, uint64_t bytes_max, StageLog* stages) {
  COT_ASSIGN(const os::File file, os::File::open_read(path));
  COT_ASSIGN(const uint64_t size, file.size());
  if (size > bytes_max) {
    return Error(ErrorCode::too_large,
                 path + " has " + std::to_string(size) + " bytes, at most " + std::to_string(bytes_max) + " are read");
  }
  Bytes begin(std::min<uint64_t>(size, kPackingBytes));
  COT_TRY(file.read_exact_at(0, begin));
  const Packing packing = packing_of(begin);
  if (packing == Packing::none) {
    return timed(stages, DataStage::read, size, [&] { return os::read_file(path, bytes_max); });
  }
  COT_ASSIGN(const std::unique_ptr<Unpacker> unpacker, Unpacker::make(packing, bytes_max));
  COT_TRY(add_pieces(file, size, *unpacker, stages));
  Result<Bytes> unpacked = unpacker->finish();
  if (!unpacked) return unpacked.error().with_context(path);
  return unpacked;
}

}  // namespace coterie
