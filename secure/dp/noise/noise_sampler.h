// NoiseSampler: integer noise of an exact distribution, for differential privacy in the number domain of the sums.
//
// Made once a session from what the plan says; then it only reads, and threads may share it. Coordinate i of a vector
// always takes the same bytes of its ByteSource, however the vector is cut. Random words and noise are wiped from the
// sampler's own buffers.
#pragma once

#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/result.h"
#include "secure/dp/noise/byte_source.h"
#include "secure/dp/noise/noise_table.h"

namespace coterie {

// Above this many draws of one table words have 128 bits: the error of words of 64 would be felt in delta.
inline constexpr uint64_t kDrawsOf64BitsMax = uint64_t{1} << 20;

class NoiseSampler {
 public:
  // For noise of `variance` (its parameter, see NoiseKind), drawn at most `draws` times in all that one delta covers:
  // coordinates x clients x rounds. Refuses a variance outside [kNoiseVarianceMin, kNoiseVarianceMax]: below, nearly
  // all noise is zero; above, the grid is finer than the noise can make use of, and the table would leave the caches.
  // There is no construction from smaller tables: of a discrete Gaussian its error would have to be charged as well,
  // and of a Skellam it would take more time than the direct scan, as the length of a table grows with sigma alone.
  static Result<NoiseSampler> make(NoiseKind kind, double variance, uint64_t draws);

  // As above, of words that the caller chooses: for measuring and for tests.
  static Result<NoiseSampler> make(NoiseKind kind, double variance, NoiseWord word);

  uint64_t bytes_per_draw() const { return table_.word == NoiseWord::bits64 ? 8 : 16; }

  // noise[i] is draw number first + i.
  void draw(const ByteSource& source, uint64_t first, std::span<int32_t> noise) const;

  // Adds draw number first + i to lanes[i], modulo the lane's width.
  void add_to(const ByteSource& source, uint64_t first, std::span<uint16_t> lanes) const;
  void add_to(const ByteSource& source, uint64_t first, std::span<uint32_t> lanes) const;
  void add_to(const ByteSource& source, uint64_t first, std::span<uint64_t> lanes) const;

  // By the instructions of one level, which this CPU must have; every level gives the same noise.
  void draw(SimdLevel level, const ByteSource& source, uint64_t first, std::span<int32_t> noise) const;

  // What must be added to the delta of an (epsilon, delta) guarantee that was computed for the exact distribution, when
  // it covers `draws` draws of this table: (1 + e^epsilon) * draws * total variation of one, rounded up. With t the
  // total variation of all draws, P(M' in S) <= P(M in S) + t <= e^epsilon P(M_neighbour in S) + delta + t
  // <= e^epsilon (P(M'_neighbour in S) + t) + delta + t.
  double delta_error(uint64_t draws, double epsilon) const;

  const NoiseTable& table() const { return table_; }

 private:
  explicit NoiseSampler(NoiseTable table) : table_(std::move(table)) {}

  NoiseTable table_;
};

}  // namespace coterie
