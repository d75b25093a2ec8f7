#include "tools/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <string>

namespace coterie {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;
constexpr size_t kInputBytesMax = 1 << 30;  // of one call: zlib counts in 32 bits
constexpr int kGzipWindow = 15 + 16;        // the largest window, and a gzip header rather than zlib's

class Inflater {
 public:
  Inflater() : ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

bool is_gzip(ByteView bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

Result<Bytes> gunzip(ByteView packed, uint64_t bytes_max) {
  if (!is_gzip(packed)) return Error(ErrorCode::malformed, "is not a gzip file");
  if (packed.size() > kInputBytesMax) return Error(ErrorCode::too_large, "is a gzip file of more than 1 GiB");
  Inflater inflater;
  if (!inflater.ready()) return Error(ErrorCode::internal, "zlib does not start");
  z_stream& stream = inflater.stream();
  stream.next_in = const_cast<Bytef*>(packed.data());  // zlib's interface is not const, it does not write
  stream.avail_in = static_cast<uInt>(packed.size());
  Bytes unpacked;
  for (;;) {
    const size_t filled = unpacked.size();
    unpacked.resize(filled + std::min<uint64_t>(kPieceBytes, bytes_max + 1 - filled));
    stream.next_out = unpacked.data() + filled;
    stream.avail_out = static_cast<uInt>(unpacked.size() - filled);
    const int code = inflate(&stream, Z_NO_FLUSH);
    unpacked.resize(unpacked.size() - stream.avail_out);
    if (unpacked.size() > bytes_max) {
      return Error(ErrorCode::too_large, "unpacks to more than " + std::to_string(bytes_max) + " bytes");
    }
    if (code == Z_STREAM_END) {
      if (stream.avail_in == 0) return unpacked;
      if (inflateReset(&stream) != Z_OK) return Error(ErrorCode::internal, "zlib does not go on");
    } else if (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) {
      return Error(ErrorCode::malformed, "is a gzip file that ends too early");
    } else if (code != Z_OK) {
      return Error(ErrorCode::malformed,
                   std::string("is a damaged gzip file: ") + (stream.msg == nullptr ? "unknown reason" : stream.msg));
    }
  }
}

Result<Bytes> gunzip_if_packed(Bytes bytes, uint64_t bytes_max) {
  if (!is_gzip(bytes)) return bytes;
  return gunzip(bytes, bytes_max);
}

}  // namespace coterie
