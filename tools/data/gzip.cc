#include "tools/data/gzip.h"

#include <zlib.h>

#include <algorithm>

namespace coterie {
namespace {

constexpr size_t kInputBytesMax = 1 << 30;  // of one call: zlib counts in 32 bits
constexpr int kGzipWindow = 15 + 16;        // the largest window, and a gzip header rather than zlib's

class GzipUnpacker final : public Unpacker {
 public:
  explicit GzipUnpacker(uint64_t bytes_max)
      : Unpacker("gzip", bytes_max), ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  ~GzipUnpacker() override { inflateEnd(&stream_); }

  bool ready() const { return ready_; }

 private:
  Step step(ByteView packed, std::span<uint8_t> room) override {
    packed = packed.first(std::min(packed.size(), kInputBytesMax));
    if (begins_anew_ && inflateReset(&stream_) != Z_OK) return {.damage = "zlib does not go on"};
    stream_.next_in = const_cast<Bytef*>(packed.data());  // zlib's interface is not const, it does not write
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = room.data();
    stream_.avail_out = static_cast<uInt>(room.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    begins_anew_ = code == Z_STREAM_END;
    Step done{.read = packed.size() - stream_.avail_in,
              .written = room.size() - stream_.avail_out,
              .is_at_end = begins_anew_};
    // Z_BUF_ERROR: there was nothing to read, or no room.
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      done.damage = stream_.msg == nullptr ? "unknown reason" : stream_.msg;
    }
    return done;
  }

  z_stream stream_{};
  bool ready_;
  bool begins_anew_ = false;
};

}  // namespace

bool is_gzip(ByteView file_begins) {
  return file_begins.size() >= 2 && file_begins[0] == 0x1f && file_begins[1] == 0x8b;
}

Result<std::unique_ptr<Unpacker>> make_gzip_unpacker(uint64_t bytes_max) {
  auto unpacker = std::make_unique<GzipUnpacker>(bytes_max);
  if (!unpacker->ready()) return Error(ErrorCode::internal, "zlib does not start");
  return std::unique_ptr<Unpacker>(std::move(unpacker));
}

}  // namespace coterie
