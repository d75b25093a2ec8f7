#include "tests/simulation/sessions/opened_sums.h"

#include <algorithm>

namespace coterie::simulation {
namespace {

// Factors are exact: a combination that exists over the rationals exists modulo a prime that is no factor of its
// denominators, which are far smaller for a few dozen rows of zeros and ones.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

uint64_t product(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}

uint64_t inverse(uint64_t value) {  // Fermat
  uint64_t result = 1;
  for (uint64_t exponent = kPrime - 2; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = product(result, value);
    value = product(value, value);
  }
  return result;
}

size_t pivot_of(const std::vector<uint64_t>& row) {
  return static_cast<size_t>(std::ranges::find_if(row, [](uint64_t factor) { return factor != 0; }) - row.begin());
}

// Takes `other` off `row` so often that the factor at `pivot` is 0.
void reduce(std::vector<uint64_t>& row, const std::vector<uint64_t>& other, size_t pivot) {
  const uint64_t factor = row[pivot];
  if (factor == 0) return;
  for (size_t i = 0; i < row.size(); ++i) row[i] = (row[i] + kPrime - product(factor, other[i])) % kPrime;
}

}  // namespace

void OpenedSums::add(std::span<const uint32_t> devices) {
  Row row(devices_);
  for (const uint32_t device : devices) row[device] = 1;
  for (const Row& known : rows_) reduce(row, known, pivot_of(known));
  const size_t pivot = pivot_of(row);
  if (pivot == row.size()) return;
  const uint64_t scale = inverse(row[pivot]);
  for (uint64_t& factor : row) factor = product(factor, scale);
  for (Row& known : rows_) reduce(known, row, pivot);
  rows_.push_back(std::move(row));
}

bool OpenedSums::tells(uint32_t device) const {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return pivot_of(row) == device && std::ranges::count(row, uint64_t{0}) == static_cast<ptrdiff_t>(row.size()) - 1;
  });
}

}  // namespace coterie::simulation
