#include "secure/mask/mask_kernel.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "secure/mask/aes256.h"

#if COT_HAS_X86_TARGETS
#include <cpuid.h>
#endif

namespace coterie {
namespace {

// By libcrypto: the stream into a buffer, then onto the lanes.
class KeyStreamMask final : public MaskStream {
 public:
  explicit KeyStreamMask(KeyStream stream) : stream_(std::move(stream)) {}

  void run(LaneOp op, uint32_t first_block, std::span<uint8_t> out) const override {
    uint64_t offset = uint64_t{first_block} * kMaskBlockBytes;
    if (op == LaneOp::store) return stream_.write(offset, out);
    std::array<uint8_t, kBufferBytes> buffer;
    for (; !out.empty(); out = out.subspan(std::min(out.size(), buffer.size()))) {
      const std::span<uint8_t> piece = std::span<uint8_t>(buffer).first(std::min(out.size(), buffer.size()));
      stream_.write(offset, piece);
      combine(op, piece, out.first(piece.size()));
      offset += piece.size();
    }
    wipe(buffer);
  }

 private:
  // Each call of KeyStream costs key schedules, so not too small; in the first cache beside lanes, so not too large.
  static constexpr size_t kBufferBytes = 16384;

  KeyStream stream_;
};

template <CipherSuite kSuite>
Result<std::unique_ptr<MaskStream>> open_key_stream(const Secret<32>& seed) {
  COT_ASSIGN(KeyStream stream, KeyStream::make(kSuite, seed));
  return std::unique_ptr<MaskStream>(std::make_unique<KeyStreamMask>(std::move(stream)));
}

#if COT_HAS_X86_TARGETS

template <Aes256Run* kRun>
class Aes256Mask final : public MaskStream {
 public:
  explicit Aes256Mask(const Secret<32>& seed) { expand_aes256_key(seed.reveal(), round_keys_.mutable_bytes()); }

  void run(LaneOp op, uint32_t first_block, std::span<uint8_t> out) const override {
    kRun(round_keys_.reveal(), op, first_block, out);
  }

 private:
  Secret<kAes256RoundKeysBytes> round_keys_;
};

template <Aes256Run* kRun>
Result<std::unique_ptr<MaskStream>> open_aes256(const Secret<32>& seed) {
  return std::unique_ptr<MaskStream>(std::make_unique<Aes256Mask<kRun>>(seed));
}

// Intel SDM volume 2, CPUID: leaf 1 ECX bit 25 and leaf 7 ECX bit 9. That the system keeps the wide registers is what
// cpu_simd_level has asked.
bool has_aesni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 25 & 1) != 0 && (c >> 9 & 1) != 0;  // bit 9: SSSE3
}
bool has_vaes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_aesni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 9 & 1) != 0;
}

#endif

std::vector<MaskKernel> aes256_kernels() {
  // The fastest first; the last one runs everywhere and is what the others are tested against (mask_self_test).
  std::vector<MaskKernel> kernels;
#if COT_HAS_X86_TARGETS
  if (has_vaes() && cpu_simd_level() >= SimdLevel::avx512) {
    kernels.push_back({"aes256-vaes512", open_aes256<run_aes256_vaes512>});
  }
  if (has_vaes() && cpu_simd_level() >= SimdLevel::avx2) {
    kernels.push_back({"aes256-vaes256", open_aes256<run_aes256_vaes256>});
  }
  if (has_aesni()) kernels.push_back({"aes256-aesni", open_aes256<run_aes256_aesni>});
#endif
  kernels.push_back({"aes256-libcrypto", open_key_stream<CipherSuite::aes256_ctr>});
  return kernels;
}

}  // namespace

std::span<const MaskKernel> mask_kernels(CipherSuite suite) {
  static const std::vector<MaskKernel> aes256 = aes256_kernels();
  static const std::vector<MaskKernel> chacha20 = {{"chacha20-libcrypto", open_key_stream<CipherSuite::chacha20>}};
  switch (suite) {
    case CipherSuite::aes256_ctr: return aes256;
    case CipherSuite::chacha20: return chacha20;
  }
  return {};
}

}  // namespace coterie
