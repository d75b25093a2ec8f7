// MaskKernel: one way to make a suite's streams and to add them to lanes. All ways of a suite give the same bytes;
// which are there, and which is fastest, depends on the CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/stream_cipher.h"
#include "secure/mask/lane_op.h"

namespace coterie {

inline constexpr size_t kMaskBlockBytes = 16;  // the unit in which kernels count, whatever the cipher's own block

// The stream of one seed, its round keys expanded; wiped when it goes. Thread-safe.
class MaskStream {
 public:
  virtual ~MaskStream() = default;

  // Bytes [first_block * 16, first_block * 16 + out.size()) of the stream, `op` onto `out`: whole blocks, at any
  // address, none behind the stream's end (kKeyStreamBytesMax).
  virtual void run(LaneOp op, uint32_t first_block, std::span<uint8_t> out) const = 0;
};

struct MaskKernel {
  std::string_view name;  // for logs and tables: "aes256-vaes512"
  Result<std::unique_ptr<MaskStream>> (*open)(const Secret<32>& seed);
};

// The kernels of `suite` that run here, the fastest first; the last is libcrypto's, the oracle of the others. Empty for
// a suite nobody knows.
std::span<const MaskKernel> mask_kernels(CipherSuite suite);

}  // namespace coterie
