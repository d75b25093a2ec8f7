// MaskSum: the streams of some seeds, each with a sign, added to a vector of lanes modulo 2^16, 2^32 or 2^64.
//
//   lanes[i] += sum over seeds of sign * lane(first_lane + i),
//
// where lane n of a stream is its bytes [n * sizeof(Lane), (n + 1) * sizeof(Lane)), little-endian, and a stream is that
// of KeyStream (secure/crypto/stream_cipher.h). These are the masks of Bonawitz et al., "Practical Secure Aggregation
// for Privacy-Preserving Machine Learning", CCS 2017: a device applies k + 1 of them to its update, the server the
// opposite ones to the sum.
//
// The suite and the width of lanes are fixed for a session: streams of other suites, and the same stream in lanes of
// another width, do not cancel. A ring of fewer bits than the lane has is the same sum, with the upper bits cleared
// once at the end, which is the caller's to do: addition carries upwards only.
//
// Any range of lanes may be asked for, so threads and servers work on ranges of their own, and nothing is left to be
// added up behind them. Work is tile-major: a tile of lanes stays in the first cache while all seeds pass over it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "secure/mask/mask_kernel.h"

namespace coterie {

inline constexpr size_t kMaskTileBytes = 32768;

enum class MaskSign : int8_t { minus = -1, plus = 1 };

class MaskSum {
 public:
  // By the fastest kernel of this CPU. invalid_argument if there is no such suite.
  static Result<MaskSum> make(CipherSuite suite);
  explicit MaskSum(const MaskKernel& kernel) : kernel_(&kernel) {}  // which must outlive it; mask_kernels' do

  // Adds a mask; its expanded key is kept (some 300 bytes) until the sum goes, and is wiped then. An error if
  // libcrypto refuses the cipher.
  Status add(const Secret<32>& seed, MaskSign sign);
  // Adds all masks of another sum, which is of the same suite: threads may each have made one.
  void take(MaskSum other);

  // The formula above, for the `lanes.size()` lanes from `first_lane` on; (first_lane + lanes.size()) * sizeof(Lane) is
  // at most kKeyStreamBytesMax. 64-byte aligned lanes are some percent faster. Const and thread-safe: threads may share
  // a sum, on ranges that do not overlap.
  void apply(uint64_t first_lane, std::span<uint16_t> lanes) const;
  void apply(uint64_t first_lane, std::span<uint32_t> lanes) const;
  void apply(uint64_t first_lane, std::span<uint64_t> lanes) const;

  size_t size() const { return masks_.size(); }
  std::string_view kernel_name() const { return kernel_->name; }

 private:
  struct Mask {
    std::unique_ptr<MaskStream> stream;
    MaskSign sign;
  };

  void apply_bytes(LaneOp plus, LaneOp minus, uint64_t offset, std::span<uint8_t> lanes) const;

  const MaskKernel* kernel_;
  std::vector<Mask> masks_;
};

struct LaneRange {
  size_t first = 0, count = 0;
};

// Part `part` of `parts` of a vector's lanes, for one thread: parts follow each other, cover all, and meet where tiles
// do, so that no two threads write to one tile. Some are empty if there are fewer tiles than parts.
LaneRange part_of_lanes(size_t lane_count, size_t lane_bytes, size_t part, size_t parts);

}  // namespace coterie
