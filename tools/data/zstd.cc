#include "tools/data/zstd.h"

#include <zstd.h>

#include <algorithm>

namespace coterie {
namespace {

constexpr size_t kStepBytes = 4096;  // packed: an error says where it is to within so many

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

class ZstdUnpacker final : public Unpacker {
 public:
  explicit ZstdUnpacker(uint64_t bytes_max) : Unpacker("zstd", bytes_max), context_(ZSTD_createDCtx()) {}

  bool start() {
    return context_ != nullptr &&
           ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax)) == 0;
  }

 private:
  Step step(ByteView packed, std::span<uint8_t> room) override {
    ZSTD_inBuffer in{.src = packed.data(), .size = std::min(packed.size(), kStepBytes), .pos = 0};
    ZSTD_outBuffer out{.dst = room.data(), .size = room.size(), .pos = 0};
    const size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
    return {.read = in.pos,
            .written = out.pos,
            .is_at_end = left == 0,
            .damage = ZSTD_isError(left) != 0 ? ZSTD_getErrorName(left) : nullptr};
  }

  std::unique_ptr<ZSTD_DCtx, FreeContext> context_;
};

}  // namespace

bool is_zstd(ByteView file_begins) {
  if (file_begins.size() < kPackingBytes) return false;
  const uint8_t a = file_begins[0], b = file_begins[1], c = file_begins[2], d = file_begins[3];
  const bool is_frame = a == 0x28 && b == 0xb5 && c == 0x2f && d == 0xfd;
  return is_frame || ((a & 0xf0) == 0x50 && b == 0x2a && c == 0x4d && d == 0x18);
}

Result<std::unique_ptr<Unpacker>> make_zstd_unpacker(uint64_t bytes_max) {
  auto unpacker = std::make_unique<ZstdUnpacker>(bytes_max);
  if (!unpacker->start()) return Error(ErrorCode::internal, "libzstd does not start");
  return std::unique_ptr<Unpacker>(std::move(unpacker));
}

}  // namespace coterie
