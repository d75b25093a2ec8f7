#include "model_import/weights/weight_content.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace coterie::model_import {
namespace {

// What zlib is fed at a time: its counters have 32 bits.
constexpr size_t kStrideBytes = 1u << 30;

// Inflates into `to` until it is full or the stream ends. `whole`: the stream must end exactly there.
Status inflate_into(ByteView from, std::span<uint8_t> to, bool whole) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Error(ErrorCode::internal, "zlib does not start");
  int state = Z_OK;
  // A byte more than what is expected shows a stream that goes on.
  uint8_t spare = 0;
  bool overruns = false;
  while (state == Z_OK) {
    if (stream.avail_in == 0 && !from.empty()) {
      const size_t size = std::min(from.size(), kStrideBytes);
      stream.next_in = const_cast<Bytef*>(from.data());
      stream.avail_in = static_cast<uInt>(size);
      from = from.subspan(size);
    }
    if (stream.avail_out == 0) {
      if (to.empty()) {
        if (!whole || overruns) break;
        stream.next_out = &spare;
        stream.avail_out = 1;
        overruns = true;
      } else {
        const size_t size = std::min(to.size(), kStrideBytes);
        stream.next_out = to.data();
        stream.avail_out = static_cast<uInt>(size);
        to = to.subspan(size);
      }
    }
    state = inflate(&stream, Z_NO_FLUSH);
    if (state == Z_BUF_ERROR && (!from.empty() || (stream.avail_out == 0 && !overruns))) state = Z_OK;
  }
  const bool is_full = to.empty() && (overruns ? stream.avail_out == 1 : stream.avail_out == 0);
  inflateEnd(&stream);
  if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
    return Error(ErrorCode::malformed, "is compressed, and does not inflate");
  }
  if (whole && (state != Z_STREAM_END || !is_full)) {
    return Error(ErrorCode::malformed, "is compressed, and does not inflate to the size that it says");
  }
  if (!whole && !is_full) return Error(ErrorCode::malformed, "is compressed, and ends early");
  return {};
}

Bytes beginning_of(const std::vector<ByteView>& parts, uint64_t bytes_max) {
  Bytes bytes;
  for (const ByteView part : parts) {
    const uint64_t taken = std::min<uint64_t>(part.size(), bytes_max - bytes.size());
    bytes.insert(bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  return bytes;
}

}  // namespace

uint32_t crc32_of(ByteView bytes) {
  uLong crc = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kStrideBytes);
    crc = ::crc32(crc, bytes.data(), static_cast<uInt>(size));
    bytes = bytes.subspan(size);
  }
  return static_cast<uint32_t>(crc);
}

Result<Bytes> read_content(const WeightContent& content) {
  Bytes bytes;
  if (content.is_deflated) {
    bytes.resize(content.plain_bytes);
    COT_TRY(inflate_into(content.parts[0], bytes, true));
  } else {
    bytes = beginning_of(content.parts, content.plain_bytes);
  }
  if (content.crc32 && crc32_of(bytes) != *content.crc32) {
    return Error(ErrorCode::data_loss, "fails its checksum: the file was damaged, or written without checksums");
  }
  return bytes;
}

Result<Bytes> read_beginning(const WeightContent& content, uint64_t bytes_max) {
  const uint64_t size = std::min(bytes_max, content.plain_bytes);
  if (!content.is_deflated) return beginning_of(content.parts, size);
  Bytes bytes(size);
  COT_TRY(inflate_into(content.parts[0], bytes, false));
  return bytes;
}

}  // namespace coterie::model_import
