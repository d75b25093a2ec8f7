#include "secure/crypto/sha256_lanes.h"

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "secure/crypto/sha256_constants.h"

#if COT_HAS_SHA256_LANES
#include <cpuid.h>
#endif

namespace coterie {

#if COT_HAS_SHA256_LANES
namespace {

using sha256_constants::kInitial;
using sha256_constants::kRound;

// Vector types by the compiler's extension: + ^ & << on every lane; the target attribute of the caller decides which
// instructions they become.
template <int kLanes>
struct LaneVector {
  typedef uint32_t Type __attribute__((vector_size(kLanes * 4)));
};

#define COT_ROTR(x, n) (((x) >> (n)) | ((x) << (32 - (n))))

template <int kLanes>
struct State {
  typename LaneVector<kLanes>::Type h[8];
};

// FIPS 180-4 section 6.2.2 on kLanes blocks; words[t] holds message word t of every lane.
template <int kLanes>
[[gnu::always_inline]] inline void compress(State<kLanes>& state, typename LaneVector<kLanes>::Type (&words)[16]) {
  using Vector = typename LaneVector<kLanes>::Type;
  Vector a = state.h[0], b = state.h[1], c = state.h[2], d = state.h[3];
  Vector e = state.h[4], f = state.h[5], g = state.h[6], h = state.h[7];
#pragma GCC unroll 64
  for (int t = 0; t < 64; ++t) {
    if (t >= 16) {
      const Vector w15 = words[(t - 15) & 15], w2 = words[(t - 2) & 15];
      const Vector s0 = COT_ROTR(w15, 7) ^ COT_ROTR(w15, 18) ^ (w15 >> 3);
      const Vector s1 = COT_ROTR(w2, 17) ^ COT_ROTR(w2, 19) ^ (w2 >> 10);
      words[t & 15] += s0 + words[(t - 7) & 15] + s1;
    }
    const Vector big1 = COT_ROTR(e, 6) ^ COT_ROTR(e, 11) ^ COT_ROTR(e, 25);
    const Vector choose = (e & f) ^ (~e & g);
    const Vector t1 = h + big1 + choose + kRound[t] + words[t & 15];
    const Vector big0 = COT_ROTR(a, 2) ^ COT_ROTR(a, 13) ^ COT_ROTR(a, 22);
    const Vector majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + big0 + majority;
  }
  state.h[0] += a;
  state.h[1] += b;
  state.h[2] += c;
  state.h[3] += d;
  state.h[4] += e;
  state.h[5] += f;
  state.h[6] += g;
  state.h[7] += h;
}

// Exchanges, between two rows of a square of words, the halves of each group of 2 * kStep words that the transpose puts
// on the other side.
template <int kStep, typename Vector, int... kIndex>
[[gnu::always_inline]] inline void exchange(Vector& low, Vector& high, std::integer_sequence<int, kIndex...>) {
  constexpr int kLanes = sizeof...(kIndex);
  const Vector a = low, b = high;
  low = __builtin_shufflevector(a, b, ((kIndex & kStep) == 0 ? kIndex : kLanes + kIndex - kStep)...);
  high = __builtin_shufflevector(a, b, ((kIndex & kStep) == 0 ? kIndex + kStep : kLanes + kIndex)...);
}

// Rows to columns, in log2(kLanes) stages of exchanges.
template <int kLanes, int kStep, typename Vector>
[[gnu::always_inline]] inline void transpose(Vector* rows) {
  if constexpr (kStep > 0) {
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kStep) == 0) exchange<kStep>(rows[i], rows[i + kStep], std::make_integer_sequence<int, kLanes>());
    }
    transpose<kLanes, kStep / 2>(rows);
  }
}

// words[t] = big-endian word t of the 64 bytes at `offset` of every lane's message.
template <int kLanes>
[[gnu::always_inline]] inline void load_words(const uint8_t* messages, size_t stride, size_t offset,
                                              typename LaneVector<kLanes>::Type (&words)[16]) {
  using Vector = typename LaneVector<kLanes>::Type;
  for (int half = 0; half < 16; half += kLanes) {
    Vector rows[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      std::memcpy(&rows[lane], messages + static_cast<size_t>(lane) * stride + offset + 4 * half, sizeof(Vector));
    }
    transpose<kLanes, kLanes / 2>(rows);
    for (int t = 0; t < kLanes; ++t) {
      const Vector w = rows[t];
      words[half + t] = (w >> 24) | (w >> 8 & 0xff00) | (w << 8 & 0xff0000) | (w << 24);
    }
  }
}

template <int kLanes>
[[gnu::always_inline]] inline void hash_lanes(uint8_t prefix, const uint8_t* messages, size_t message_bytes,
                                              Digest* out) {
  using Vector = typename LaneVector<kLanes>::Type;
  State<kLanes> state;
  for (int i = 0; i < 8; ++i) state.h[i] = Vector{} + kInitial[i];
  Vector words[16];

  // First block: the prefix and 63 message bytes; last block: the last message byte, 0x80, zeros, the length in bits.
  alignas(64) uint8_t edge[kLanes * 64];
  for (int lane = 0; lane < kLanes; ++lane) {
    edge[lane * 64] = prefix;
    std::memcpy(edge + lane * 64 + 1, messages + static_cast<size_t>(lane) * message_bytes, 63);
  }
  load_words<kLanes>(edge, 64, 0, words);
  compress<kLanes>(state, words);
  for (size_t offset = 63; offset + 64 <= message_bytes; offset += 64) {
    load_words<kLanes>(messages, message_bytes, offset, words);
    compress<kLanes>(state, words);
  }
  std::memset(edge, 0, sizeof edge);
  const uint64_t bits = (static_cast<uint64_t>(message_bytes) + 1) * 8;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint8_t* block = edge + lane * 64;
    block[0] = messages[static_cast<size_t>(lane + 1) * message_bytes - 1];
    block[1] = 0x80;
    for (int i = 0; i < 8; ++i) block[63 - i] = static_cast<uint8_t>(bits >> (8 * i));
  }
  load_words<kLanes>(edge, 64, 0, words);
  compress<kLanes>(state, words);

  for (int i = 0; i < 8; ++i) {
    alignas(64) uint32_t values[kLanes];
    std::memcpy(values, &state.h[i], sizeof values);
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t word = __builtin_bswap32(values[lane]);
      std::memcpy(out[lane].bytes.data() + 4 * i, &word, sizeof word);
    }
  }
}

COT_TARGET_AVX2 void hash_lanes_avx2(uint8_t prefix, const uint8_t* messages, size_t message_bytes, Digest* out) {
  hash_lanes<8>(prefix, messages, message_bytes, out);
}
COT_TARGET_AVX512 void hash_lanes_avx512(uint8_t prefix, const uint8_t* messages, size_t message_bytes, Digest* out) {
  hash_lanes<16>(prefix, messages, message_bytes, out);
}

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
}

}  // namespace

size_t sha256_lane_count() {
  static const size_t count = []() -> size_t {
    switch (cpu_simd_level()) {
      case SimdLevel::avx512: return 16;  // faster than one stream of SHA instructions, too
      case SimdLevel::avx2: return has_sha_instructions() ? 1 : 8;
      case SimdLevel::baseline: break;
    }
    return 1;
  }();
  return count;
}

void sha256_lanes(size_t lanes, uint8_t prefix, const uint8_t* messages, size_t message_bytes, Digest* out) {
  COT_ASSERT(message_bytes % 64 == 0 && message_bytes >= 64);
  if (lanes == 16) {
    COT_ASSERT(cpu_simd_level() >= SimdLevel::avx512);
    return hash_lanes_avx512(prefix, messages, message_bytes, out);
  }
  COT_ASSERT(lanes == 8 && cpu_simd_level() >= SimdLevel::avx2);
  hash_lanes_avx2(prefix, messages, message_bytes, out);
}

#else

size_t sha256_lane_count() { return 1; }
void sha256_lanes(size_t, uint8_t, const uint8_t*, size_t, Digest*) { COT_ASSERT(false); }

#endif

}  // namespace coterie
