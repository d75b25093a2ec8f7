#include "tools/data/packed_file.h"

#include <algorithm>

#include "base/os/file.h"
#include "secure/crypto/digest.h"
#include "tools/data/unpack.h"

namespace coterie {
namespace {

constexpr uint64_t kPieceBytes = 256 * 1024;

Status add_pieces(const os::File& file, uint64_t size, Unpacker& unpacker, const LoadWatchers& watchers) {
  StageLog* const stages = watchers.stages;
  Bytes piece;
  ContentDigester digester;
  for (uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(std::min(kPieceBytes, size - at));
    COT_TRY(timed(stages, DataStage::read, piece.size(), [&] { return file.read_exact_at(at, piece); }));
    if (watchers.sources != nullptr) digester.update(piece);
    const Status added = timed(stages, DataStage::unpack, piece.size(), [&] { return unpacker.add(piece); });
    if (!added) return added.error().with_context(file.path());
  }
  if (watchers.sources != nullptr) watchers.sources->add(file.path(), digester.finish());
  return {};
}

Result<Bytes> read_plain(const std::string& path, uint64_t bytes_max, const LoadWatchers& watchers) {
  StageCall call(watchers.stages, DataStage::read);
  COT_ASSIGN(Bytes bytes, os::read_file(path, bytes_max));
  call.add_bytes(bytes.size());
  // What is recorded is what the digest says: no packed file that is taken for a plain one.
  if (packing_of(ByteView(bytes).first(std::min(bytes.size(), kPackingBytes))) != Packing::none) {
    return Error(ErrorCode::unavailable, path + " was replaced by a packed file while it was read; try again");
  }
  if (watchers.sources != nullptr) watchers.sources->add(path, content_digest(bytes));
  return bytes;
}

}  // namespace

Result<Bytes> read_unpacked(const std::string& path, uint64_t bytes_max, const LoadWatchers& watchers) {
  COT_ASSIGN(const os::File file, os::File::open_read(path));
  COT_ASSIGN(const uint64_t size, file.size());
  if (size > bytes_max) {
    return Error(ErrorCode::too_large,
                 path + " has " + std::to_string(size) + " bytes, at most " + std::to_string(bytes_max) + " are read");
  }
  Bytes begin(std::min<uint64_t>(size, kPackingBytes));
  COT_TRY(file.read_exact_at(0, begin));
  const Packing packing = packing_of(begin);
  if (packing == Packing::none) return read_plain(path, bytes_max, watchers);
  COT_ASSIGN(const std::unique_ptr<Unpacker> unpacker, Unpacker::make(packing, bytes_max));
  COT_TRY(add_pieces(file, size, *unpacker, watchers));
  Result<Bytes> unpacked = unpacker->finish();
  if (!unpacked) return unpacked.error().with_context(path);
  return unpacked;
}

}  // namespace coterie
