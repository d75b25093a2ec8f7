#include "secure/he/lane_power.h"

#include <algorithm>
#include <array>

namespace coterie::he {

PowerDigits::PowerDigits(const Big& number, size_t bits) : digits_(power_digits(bits)) {
  Bytes bytes((bits + 7) / 8 + 1);
  must(BN_bn2lebinpad(number.get(), bytes.data(), static_cast<int>(bytes.size())) == static_cast<int>(bytes.size()));
  for (size_t i = 0; i < digits_.size(); ++i) {
    const size_t first = i * kPowerDigitBits;
    const unsigned two = bytes[first / 8] | unsigned{first / 8 + 1 < bytes.size() ? bytes[first / 8 + 1] : uint8_t{0}}
                                                << 8;
    digits_[i] = static_cast<uint8_t>(two >> (first % 8) & (kPowerEntries - 1));
  }
  wipe(bytes);
}

void raise_lanes(const LaneRing& modulus, LaneWords& base, const PowerDigits& exponent) {
  const size_t words = kLanes * modulus.words();
  LaneWords table(kPowerEntries * words), entry = modulus.lanes(), result = modulus.lanes();
  modulus.load({}, entry);
  for (size_t i = 0; i < kPowerEntries; ++i) {
    std::ranges::copy(entry.span(), table.data() + i * words);
    modulus.multiply(entry, base, entry);
  }
  modulus.load({}, result);
  for (size_t i = exponent.size(); i-- > 0;) {
    for (size_t bit = 0; bit < kPowerDigitBits; ++bit) modulus.square(result);
    // All entries are read, and the wanted one is kept by arithmetic: a look-up by a digit of a secret exponent could
    // be seen in the cache.
    modulus.kernel().select_lanes(modulus.words(), table.data(), kPowerEntries, exponent[i], entry.data());
    modulus.multiply(result, entry, result);
  }
  std::swap(base, result);
}

void LaneTables::set_entry(LaneWords& table, size_t number, const LaneWords& row) const {
  for (size_t j = 0; j < modulus_.words(); ++j) {
    table.data()[8 * (j / 8 * kPowerEntries + number) + j % 8] = row.data()[j];
  }
}

void LaneTables::add_powers(const LaneWords& base, size_t bits) {
  const size_t first = windows_.size();
  std::vector<LaneWords> bases;
  LaneWords step = modulus_.lanes();
  modulus_.set_lane(step, 0, base.data());
  for (size_t window = 0; window < power_digits(bits); ++window) {
    bases.push_back(modulus_.lane_of(step, 0));
    // The next window's base is this one to the power of 2^kPowerDigitBits.
    for (size_t bit = 0; bit < kPowerDigitBits; ++bit) modulus_.square(step);
    windows_.emplace_back(kPowerEntries * modulus_.words());
    set_entry(windows_.back(), 0, modulus_.one());
  }
  // Eight windows at once: each entry is the one before it times the window's base.
  LaneWords factors = modulus_.lanes(), entries = modulus_.lanes();
  for (size_t window = 0; window < bases.size(); window += kLanes) {
    const size_t count = std::min(kLanes, bases.size() - window);
    for (size_t l = 0; l < count; ++l) modulus_.set_lane(factors, l, bases[window + l].data());
    modulus_.load({}, entries);
    for (size_t number = 1; number < kPowerEntries; ++number) {
      modulus_.multiply(entries, factors, entries);
      for (size_t l = 0; l < count; ++l) {
        set_entry(windows_[first + window + l], number, modulus_.lane_of(entries, l));
      }
    }
  }
}

void LaneTables::add_subsets(std::span<const LaneWords, kPowerDigitBits> rows) {
  LaneWords& table = windows_.emplace_back(kPowerEntries * modulus_.words());
  for (size_t first = 0; first < kPowerEntries; first += kLanes) {
    LaneWords subsets = modulus_.lanes(), factors = modulus_.lanes();
    modulus_.load({}, subsets);
    for (size_t bit = 0; bit < kPowerDigitBits; ++bit) {
      for (size_t l = 0; l < kLanes; ++l) {
        const bool is_in = ((first + l) >> bit & 1) != 0;
        modulus_.set_lane(factors, l, is_in ? rows[bit].data() : modulus_.one().data());
      }
      modulus_.multiply(subsets, factors, subsets);
    }
    for (size_t l = 0; l < kLanes; ++l) set_entry(table, first + l, modulus_.lane_of(subsets, l));
  }
}

void LaneTables::multiply(std::span<const uint8_t> digits, LaneWords& product) const {
  COT_ASSERT(digits.size() == kLanes * windows_.size());
  LaneWords entries = modulus_.lanes();
  std::array<uint64_t, kLanes> wanted;
  for (size_t window = 0; window < windows_.size(); ++window) {
    std::ranges::copy(digits.subspan(kLanes * window, kLanes), wanted.begin());
    modulus_.kernel().select_rows(modulus_.words(), windows_[window].data(), kPowerEntries, wanted.data(),
                                  entries.data());
    modulus_.multiply(product, entries, product);
  }
  wipe({reinterpret_cast<uint8_t*>(wanted.data()), sizeof(wanted)});
}

}  // namespace coterie::he
