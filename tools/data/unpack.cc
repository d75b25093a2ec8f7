#include "tools/data/unpack.h"

#include <algorithm>
#include <string>

#include "tools/data/gzip.h"
#include "tools/data/zstd.h"

namespace coterie {
namespace {

constexpr size_t kRoomBytes = 256 * 1024;  // of a step

}  // namespace

Packing packing_of(ByteView file_begins) {
  if (is_gzip(file_begins)) return Packing::gzip;
  return is_zstd(file_begins) ? Packing::zstd : Packing::none;
}

Result<std::unique_ptr<Unpacker>> Unpacker::make(Packing packing, uint64_t bytes_max) {
  return packing == Packing::gzip ? make_gzip_unpacker(bytes_max) : make_zstd_unpacker(bytes_max);
}

Error Unpacker::damaged(const std::string& what) const {
  return Error(ErrorCode::malformed, std::string("is a ") + format_ + " file that " + what);
}

Status Unpacker::add(ByteView piece) {
  room_.resize(kRoomBytes);
  for (bool is_more = false; !piece.empty() || is_more;) {
    const auto room = std::span(room_).first(std::min<uint64_t>(kRoomBytes, bytes_max_ + 1 - unpacked_.size()));
    const Step done = step(piece, room);
    read_ += done.read;
    if (done.damage != nullptr) return damaged("is damaged behind byte " + std::to_string(read_) + ": " + done.damage);
    // Doubled as a vector does, but not beyond what may be held.
    if (const uint64_t wanted = unpacked_.size() + done.written; wanted > unpacked_.capacity()) {
      unpacked_.reserve(std::min(bytes_max_ + 1, std::max<uint64_t>(wanted, 2 * unpacked_.capacity())));
    }
    unpacked_.insert(unpacked_.end(), room.begin(), room.begin() + static_cast<ptrdiff_t>(done.written));
    if (unpacked_.size() > bytes_max_) {
      return Error(ErrorCode::too_large, "unpacks to more than " + std::to_string(bytes_max_) + " bytes");
    }
    piece = piece.subspan(done.read);
    is_at_end_ = done.is_at_end;
    is_more = !is_at_end_ && done.written == room.size();
  }
  return {};
}

Result<Bytes> Unpacker::finish() {
  if (!is_at_end_) return damaged("ends too early, behind byte " + std::to_string(read_));
  return std::move(unpacked_);
}

Result<Bytes> unpack(ByteView file, uint64_t bytes_max) {
  const Packing packing = packing_of(file);
  if (packing == Packing::none) return Bytes(file.begin(), file.end());
  COT_ASSIGN(const std::unique_ptr<Unpacker> unpacker, Unpacker::make(packing, bytes_max));
  COT_TRY(unpacker->add(file));
  return unpacker->finish();
}

}  // namespace coterie
