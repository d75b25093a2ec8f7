#include "vertical/exact/residual_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace coterie::vertical {
namespace {

constexpr size_t kGroupColumns = 16;  // that are summed at once: lanes are full, buckets few enough to hold
constexpr uint32_t kDigitBitsMax = 9;

// The value that digits start from: nothing is below it, and it is not above 0, where it would have to be subtracted.
int32_t least_of(std::span<const int32_t> column) { return std::min(0, *std::ranges::min_element(column)); }

uint32_t digits_of(uint32_t value_bits, uint32_t digit_bits) { return (value_bits + digit_bits - 1) / digit_bits; }

// The width with the fewest additions.
uint32_t digit_bits_for(size_t rows, uint32_t value_bits) {
  uint32_t best = 1;
  size_t least = SIZE_MAX;
  for (uint32_t bits = 1; bits <= kDigitBitsMax; ++bits) {
    const size_t additions = digits_of(value_bits, bits) * (rows + (size_t{2} << bits));
    if (additions < least) {
      least = additions;
      best = bits;
    }
  }
  return best;
}

// sum over v of v * buckets[list][v - 1] for all lists, by the sums of all buckets from the top down.
std::vector<CiphertextPtr> weighted(const AdditiveCipher& cipher, std::vector<CiphertextPtr> buckets, size_t lists) {
  const size_t width = buckets.size() / lists;
  std::vector<CiphertextPtr> running(lists), totals(lists);
  const auto add_to = [&](std::vector<CiphertextPtr>& sums, auto term_of) {
    std::vector<CiphertextAddition> additions;
    for (size_t list = 0; list < lists; ++list) {
      const Ciphertext* const term = term_of(list);
      if (term == nullptr) continue;
      if (sums[list] == nullptr) {
        sums[list] = cipher.copy(*term);
      } else {
        additions.push_back({sums[list].get(), term});
      }
    }
    cipher.add_each(additions);
  };
  for (size_t v = width; v-- > 0;) {
    add_to(running, [&](size_t list) { return buckets[list * width + v].get(); });
    add_to(totals, [&](size_t list) { return running[list].get(); });
  }
  return totals;
}

std::vector<CiphertextPtr> group_sums(const AdditiveCipher& cipher, const CiphertextList& residuals,
                                      std::span<const CiphertextPtr> minus_all,
                                      std::span<const std::span<const int32_t>> columns) {
  uint32_t range = 0;
  for (const auto& column : columns) {
    range = std::max(range, static_cast<uint32_t>(*std::ranges::max_element(column) - least_of(column)));
  }
  const auto value_bits = std::max(1u, static_cast<uint32_t>(std::bit_width(range)));
  const uint32_t bits = digit_bits_for(residuals.size(), value_bits), digits = digits_of(value_bits, bits);
  const size_t width = (size_t{1} << bits) - 1, lists = columns.size() * digits;
  std::vector<CiphertextList> buckets(lists * width);
  for (size_t c = 0; c < columns.size(); ++c) {
    const int32_t least = least_of(columns[c]);
    for (size_t row = 0; row < residuals.size(); ++row) {
      const auto value = static_cast<uint32_t>(columns[c][row] - least);
      for (uint32_t d = 0; d < digits; ++d) {
        const uint32_t digit = value >> (d * bits) & static_cast<uint32_t>(width);
        if (digit != 0) buckets[(c * digits + d) * width + digit - 1].push_back(residuals[row]);
      }
    }
  }
  std::vector<CiphertextPtr> of_digits = weighted(cipher, cipher.sums(buckets), lists);
  std::vector<CiphertextPtr> sums(columns.size());
  for (CiphertextPtr& sum : sums) sum = cipher.zero();
  std::vector<Ciphertext*> all;
  for (const CiphertextPtr& sum : sums) all.push_back(sum.get());
  for (uint32_t d = digits; d-- > 0;) {
    if (d + 1 < digits) cipher.shift_left_each(all, bits);
    std::vector<CiphertextAddition> additions;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (const auto& term = of_digits[c * digits + d]) additions.push_back({sums[c].get(), term.get()});
    }
    cipher.add_each(additions);
  }
  for (size_t k = 0; k < minus_all.size(); ++k) {
    std::vector<CiphertextAddition> additions;
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto below = static_cast<uint32_t>(-least_of(columns[c]));
      if ((below >> k & 1) != 0) additions.push_back({sums[c].get(), minus_all[k].get()});
    }
    cipher.add_each(additions);
  }
  return sums;
}

}  // namespace

std::vector<CiphertextPtr> residual_sums(const AdditiveCipher& cipher, const CiphertextList& residuals,
                                         const Ciphertext& minus_all,
                                         std::span<const std::span<const int32_t>> columns) {
  uint32_t below = 0;
  for (const auto& column : columns) {
    COT_ASSERT(column.size() == residuals.size() && !column.empty());
    below = std::max(below, static_cast<uint32_t>(-least_of(column)));
  }
  std::vector<CiphertextPtr> doubled;  // minus_all times 2^k
  for (uint32_t k = 0; below >> k != 0; ++k) {
    doubled.push_back(cipher.copy(k == 0 ? minus_all : *doubled.back()));
    if (k > 0) cipher.shift_left(*doubled.back(), 1);
  }
  std::vector<CiphertextPtr> all;
  for (size_t first = 0; first < columns.size(); first += kGroupColumns) {
    const auto group = columns.subspan(first, std::min(kGroupColumns, columns.size() - first));
    for (CiphertextPtr& sum : group_sums(cipher, residuals, doubled, group)) all.push_back(std::move(sum));
  }
  return all;
}

}  // namespace coterie::vertical
