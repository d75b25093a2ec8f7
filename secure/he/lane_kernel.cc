#include "secure/he/lane_kernel.h"

#include <array>
#include <string>
#include <vector>

#include "secure/crypto/cpu_ifma.h"
#include "secure/he/ifma_kernel.h"
#include "secure/he/lane_ring.h"
#include "secure/he/seed_stream.h"

namespace coterie::he {
namespace {

// The moduli that keys compute with, whose squares or themselves, and tests' small ones.
constexpr size_t kTestBits[] = {256, 512, 1024, 1536, 2048, 3072};
constexpr size_t kTestEntries = 5;

Error wrong(const LaneKernel& kernel, const std::string& what) {
  return Error(ErrorCode::internal, "the kernel " + std::string(kernel.name) + " gets " + what +
                                        " wrong: this processor or this build cannot be trusted with it");
}

std::vector<Big> products(const std::vector<Big>& a, const std::vector<Big>& b, const Big& modulus,
                          const BigContext& context) {
  std::vector<Big> all;
  for (size_t i = 0; i < a.size(); ++i) {
    all.push_back(big());
    must(BN_mod_mul(all[i].get(), a[i].get(), b[i].get(), modulus.get(), context.get()) == 1);
  }
  return all;
}

bool equal(const std::vector<Big>& a, const std::vector<Big>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (BN_cmp(a[i].get(), b[i].get()) != 0) return false;
  }
  return a.size() == b.size();
}

// Rows of counting words, so that each word that goes astray shows.
std::vector<LaneWords> counting_rows(size_t count, size_t words) {
  std::vector<LaneWords> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.emplace_back(words);
    for (size_t j = 0; j < words; ++j) rows[i].data()[j] = 1000 * i + j + 1;
  }
  return rows;
}

Status check_products(const LaneKernel& kernel, size_t bits, Modulo modulo, SeedStream& random,
                      const BigContext& context) {
  Big n = random.bits(bits);
  must(BN_set_bit(n.get(), 0) == 1 && BN_set_bit(n.get(), static_cast<int>(bits) - 1) == 1);
  const bool is_square = modulo == Modulo::square_of_n;
  const Big ring = is_square ? product(n, n, context) : copy_of(n);
  const LaneRing lanes(kernel, n, modulo, context);
  std::vector<Big> a, b;
  for (size_t i = 0; i < kLanes; ++i) {
    a.push_back(random.below(ring, context));
    b.push_back(random.below(ring, context));
  }
  // 0, 1, n and the largest numbers there are: carries that random numbers hardly ever have.
  must(BN_set_word(a[0].get(), 0) == 1 && BN_set_word(a[1].get(), 1) == 1);
  if (is_square) must(BN_copy(a[2].get(), n.get()) != nullptr);
  a[3] = minus_one(ring);
  b[3] = minus_one(ring);
  a[4] = minus_one(n);
  const auto lanes_of = [&](const std::vector<Big>& numbers) {
    const std::vector<LaneWords> rows = lanes.rows_of(numbers, context);
    LaneWords eight = lanes.lanes();
    for (size_t l = 0; l < kLanes; ++l) lanes.set_lane(eight, l, rows[l].data());
    return eight;
  };
  LaneWords product = lanes_of(a), factor = lanes_of(b);
  const std::string of_bits = (is_square ? " modulo the square of " : " modulo ") + std::to_string(bits) + " bits";
  if (!equal(lanes.numbers_of(product, kLanes, context), a)) return wrong(kernel, "numbers" + of_bits);
  // Unreduced digits go on into the second product and the square.
  std::vector<Big> expected = products(products(a, b, ring, context), b, ring, context);
  lanes.multiply(product, factor, product);
  lanes.multiply(product, factor, product);
  if (!equal(lanes.numbers_of(product, kLanes, context), expected)) return wrong(kernel, "products" + of_bits);
  expected = products(expected, expected, ring, context);
  lanes.square(product);
  if (!equal(lanes.numbers_of(product, kLanes, context), expected)) return wrong(kernel, "squares" + of_bits);
  return {};
}

Status check_moves(const LaneKernel& kernel) {
  constexpr size_t kWords = 24;
  const std::vector<LaneWords> rows = counting_rows(kLanes, kWords);
  std::vector<LaneWords> back = counting_rows(kLanes, kWords);
  LaneWords lanes(kLanes * kWords);
  std::array<const uint64_t*, kLanes> from{};
  std::array<uint64_t*, kLanes> to{};
  for (size_t l = 0; l < kLanes; ++l) {
    from[l] = rows[l].data();
    to[l] = back[kLanes - 1 - l].data();
  }
  kernel.to_lanes(kWords, from.data(), lanes.data());
  kernel.to_rows(kWords, lanes.data(), to.data());
  for (size_t l = 0; l < kLanes; ++l) {
    for (size_t j = 0; j < kWords; ++j) {
      if (lanes.data()[kLanes * j + l] != rows[l].data()[j]) return wrong(kernel, "rows to lanes");
      if (to[l][j] != rows[l].data()[j]) return wrong(kernel, "lanes to rows");
    }
  }
  return {};
}

Status check_selections(const LaneKernel& kernel) {
  constexpr size_t kWords = 24;
  const std::vector<LaneWords> tables = counting_rows(1, kLanes * kWords * kTestEntries);
  const uint64_t* const table = tables[0].data();
  LaneWords selected(kLanes * kWords);
  for (uint64_t index = 0; index < kTestEntries; ++index) {
    kernel.select_lanes(kWords, table, kTestEntries, index, selected.data());
    for (size_t j = 0; j < kLanes * kWords; ++j) {
      if (selected.data()[j] != table[index * kLanes * kWords + j]) return wrong(kernel, "a selection for all lanes");
    }
  }
  const std::array<uint64_t, kLanes> indices{4, 0, 3, 3, 1, 2, 0, 4};
  kernel.select_rows(kWords, table, kTestEntries, indices.data(), selected.data());
  for (size_t l = 0; l < kLanes; ++l) {
    for (size_t j = 0; j < kWords; ++j) {
      const size_t piece = j / 8 * kTestEntries + indices[l];
      if (selected.data()[kLanes * j + l] != table[8 * piece + j % 8]) return wrong(kernel, "each lane's selection");
    }
  }
  return {};
}

}  // namespace

std::span<const LaneKernel> lane_kernels() {
#if COT_HAS_X86_TARGETS
  if (cpu_has_ifma()) return {&kIfmaKernel, 1};
#endif
  return {};
}

Status lane_self_test(const LaneKernel& kernel) {
  // Moves first: the others rest on them.
  COT_TRY(check_moves(kernel));
  COT_TRY(check_selections(kernel));
  SeedStream random(Secret<32>(), "coterie lane self test");
  const BigContext context = big_context();
  for (const size_t bits : kTestBits) {
    COT_TRY(check_products(kernel, bits, Modulo::square_of_n, random, context));
    COT_TRY(check_products(kernel, bits, Modulo::n, random, context));
  }
  return {};
}

const LaneKernel* choose_lane_kernel(std::span<const LaneKernel> kernels) {
  for (const LaneKernel& kernel : kernels) {
    if (lane_self_test(kernel)) return &kernel;
  }
  return nullptr;
}

const LaneKernel* lane_kernel() {
  static const LaneKernel* const chosen = choose_lane_kernel(lane_kernels());
  return chosen;
}

}  // namespace coterie::he
