// The counter-mode loops of aes256.h for one width of vectors: included once by each aes256_*.cc, within namespace
// coterie's unnamed one, behind
//
//   COT_MASK_TARGET  the attribute every function here gets
//   Vector           a register of kVectorBlocks blocks, and load, store, broadcast, exclusive_or, aes_round,
//                    aes_last_round, add32 and combine_lanes<LaneOp> on it
//
// Two of fourteen rounds are shared. A counter below 2^32 has four bytes that change, 12 to 15. They are one column of
// the state, so ShiftRows takes each to a column of its own: every byte of the state behind round 1 depends on one of
// the four at most. Round 2 mixes bytes by exclusive or alone, so the state behind it is a sum: f15(byte 15) ^
// f14(byte 14) ^ f13(byte 13) ^ f12(byte 12). Let a *page* be the 256 blocks whose counters differ in byte 15 alone.
// Behind round 2, block c of one page differs from block c of another by the same 16 bytes for all c: one exclusive or
// takes the place of two rounds in all pages but one. (Known as counter-mode caching: Bernstein and Schwabe, "New AES
// software speed records", INDOCRYPT 2008; Park and Lee, "FACE", CHES 2018. There from tables; here eight pages run in
// step and what they share stays in a register.) Counters are public: no address depends on a secret.

constexpr size_t kInStep = 8;  // vectors in flight: latency times throughput of the AES units, and no more registers
constexpr size_t kPageBlocks = 256;
constexpr size_t kPageBytes = kPageBlocks * kAesBlockBytes;
constexpr size_t kVectorBytes = sizeof(Vector);
constexpr size_t kVectorBlocks = kVectorBytes / kAesBlockBytes;

struct Scratch {
  Vector key[kAes256Rounds + 1];  // each round key in every block of a vector
  Vector delta[kInStep];          // page i's state behind round 2 is the first page's ^ delta[i]
  Vector rest[kInStep];           // the blocks that fill no kInStep vectors
};

COT_MASK_TARGET inline void set_counter_word(Vector& vector, size_t block, uint32_t word) {
  std::memcpy(reinterpret_cast<uint8_t*>(&vector) + block * kAesBlockBytes + 12, &word, sizeof word);
}

COT_MASK_TARGET inline Vector counters_from(uint32_t block) {
  Vector counters{};
  for (size_t i = 0; i < kVectorBlocks; ++i) {
    set_counter_word(counters, i, __builtin_bswap32(block + static_cast<uint32_t>(i)));
  }
  return counters;
}

// What takes counters_from(n) to counters_from(n + kVectorBlocks) by add32, as long as both are of one page: the lowest
// byte of a counter is the highest of its last word.
COT_MASK_TARGET inline Vector counter_step() {
  Vector step{};
  for (size_t i = 0; i < kVectorBlocks; ++i) set_counter_word(step, i, uint32_t{kVectorBlocks} << 24);
  return step;
}

COT_MASK_TARGET inline Vector two_rounds(const Scratch& scratch, Vector counters) {
  return aes_round(aes_round(exclusive_or(counters, scratch.key[0]), scratch.key[1]), scratch.key[2]);
}

// Rounds 3 to 14 of kInStep vectors, and `kOp` onto the vectors at out, out + stride, ...
template <LaneOp kOp>
COT_MASK_TARGET [[gnu::always_inline]] inline void finish(const Scratch& scratch, Vector (&state)[kInStep],
                                                          uint8_t* out, size_t stride) {
  for (size_t round = 3; round < kAes256Rounds; ++round) {
    for (Vector& one : state) one = aes_round(one, scratch.key[round]);
  }
  for (Vector& one : state) one = aes_last_round(one, scratch.key[kAes256Rounds]);
  if constexpr (kOp != LaneOp::store) {
    for (size_t i = 0; i < kInStep; ++i) state[i] = combine_lanes<kOp>(load(out + i * stride), state[i]);
  }
  for (size_t i = 0; i < kInStep; ++i) store(out + i * stride, state[i]);
}

// kInStep whole pages from block `first`, which begins one.
template <LaneOp kOp>
COT_MASK_TARGET void run_pages(Scratch& scratch, uint32_t first, uint8_t* out) {
  const Vector base = two_rounds(scratch, counters_from(first));
  for (size_t i = 0; i < kInStep; ++i) {
    const Vector page = two_rounds(scratch, counters_from(first + static_cast<uint32_t>(i * kPageBlocks)));
    scratch.delta[i] = exclusive_or(base, page);
  }
  const Vector step = counter_step();
  Vector counters = counters_from(first);
  for (size_t at = 0; at < kPageBytes; at += kVectorBytes, counters = add32(counters, step)) {
    const Vector shared = two_rounds(scratch, counters);
    Vector state[kInStep];
    for (size_t i = 0; i < kInStep; ++i) state[i] = exclusive_or(shared, scratch.delta[i]);
    finish<kOp>(scratch, state, out + at, kPageBytes);
  }
}

// `count` blocks of one page from block `first`, which may be any of it.
template <LaneOp kOp>
COT_MASK_TARGET void run_within_page(Scratch& scratch, uint32_t first, size_t count, uint8_t* out) {
  const Vector step = counter_step();
  Vector counters = counters_from(first);
  for (; count > 0;) {
    Vector state[kInStep];
    for (Vector& one : state) one = two_rounds(scratch, counters), counters = add32(counters, step);
    const size_t blocks = count < kInStep * kVectorBlocks ? count : kInStep * kVectorBlocks;
    if (blocks == kInStep * kVectorBlocks) {
      finish<kOp>(scratch, state, out, kVectorBytes);
    } else {
      auto* rest = reinterpret_cast<uint8_t*>(scratch.rest);
      std::memcpy(rest, out, blocks * kAesBlockBytes);
      finish<kOp>(scratch, state, rest, kVectorBytes);
      std::memcpy(out, rest, blocks * kAesBlockBytes);
    }
    count -= blocks;
    out += blocks * kAesBlockBytes;
  }
}

template <LaneOp kOp>
COT_MASK_TARGET void run(Scratch& scratch, uint32_t first, size_t count, uint8_t* out) {
  while (count > 0) {
    size_t blocks = kInStep * kPageBlocks;
    if (first % kPageBlocks == 0 && count >= blocks) {
      run_pages<kOp>(scratch, first, out);
    } else {
      blocks = kPageBlocks - first % kPageBlocks;
      if (blocks > count) blocks = count;
      run_within_page<kOp>(scratch, first, blocks, out);
    }
    first += static_cast<uint32_t>(blocks);
    count -= blocks;
    out += blocks * kAesBlockBytes;
  }
}

COT_MASK_TARGET void run_aes256(std::span<const uint8_t, kAes256RoundKeysBytes> round_keys, LaneOp op, uint32_t first,
                                std::span<uint8_t> out) {
  COT_ASSERT(out.size() % kAesBlockBytes == 0);
  Scratch scratch;
  for (size_t i = 0; i <= kAes256Rounds; ++i) scratch.key[i] = broadcast(round_keys.data() + i * kAesBlockBytes);
  const size_t count = out.size() / kAesBlockBytes;
  switch (op) {
    case LaneOp::store: run<LaneOp::store>(scratch, first, count, out.data()); break;
    case LaneOp::add16: run<LaneOp::add16>(scratch, first, count, out.data()); break;
    case LaneOp::add32: run<LaneOp::add32>(scratch, first, count, out.data()); break;
    case LaneOp::add64: run<LaneOp::add64>(scratch, first, count, out.data()); break;
    case LaneOp::subtract16: run<LaneOp::subtract16>(scratch, first, count, out.data()); break;
    case LaneOp::subtract32: run<LaneOp::subtract32>(scratch, first, count, out.data()); break;
    case LaneOp::subtract64: run<LaneOp::subtract64>(scratch, first, count, out.data()); break;
  }
  wipe({reinterpret_cast<uint8_t*>(&scratch), sizeof scratch});
}
