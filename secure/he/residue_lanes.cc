#include "secure/he/residue_lanes.h"

#include <algorithm>
#include <optional>

#include "secure/he/cipher_modulus.h"
#include "secure/he/lane_power.h"
#include "secure/he/lane_sums.h"
#include "secure/he/seed_stream.h"

namespace coterie::he {
namespace {

static_assert(kSubsetResidues % kPowerDigitBits == 0);

class LaneCiphertext : public Ciphertext {
 public:
  explicit LaneCiphertext(LaneWords row) : row(std::move(row)) {}
  LaneWords row;
};

const uint64_t* row_of(const Ciphertext& ciphertext) {
  return static_cast<const LaneCiphertext&>(ciphertext).row.data();
}
uint64_t* row_of(Ciphertext& ciphertext) { return static_cast<LaneCiphertext&>(ciphertext).row.data(); }
CiphertextPtr ciphertext_of(LaneWords row) { return std::make_unique<LaneCiphertext>(std::move(row)); }

class ResidueLaneCipher : public AdditiveCipher {
 public:
  ResidueLaneCipher(Big n, Modulo modulo, const Secret<32>& seed, std::string_view purpose, const LaneKernel& kernel)
      : context_(big_context()),
        random_(seed, purpose),
        modulus_(std::move(n), modulo, context_),
        lanes_(kernel, modulus_.n, modulo, context_),
        exponent_bits_(8 * modulus_.n_bytes + kStatisticalBits),
        tables_(lanes_) {}

  size_t ciphertext_bytes() const override { return modulus_.ciphertext_bytes(); }
  size_t plaintext_bits() const override { return modulus_.plaintext_bits(); }

  Result<std::vector<CiphertextPtr>> read(ByteView ciphertexts) const override {
    COT_ASSIGN(const std::vector<Big> numbers, modulus_.numbers(ciphertexts));
    std::vector<CiphertextPtr> all;
    if (numbers.empty()) return all;
    RowList list;
    for (LaneWords& row : lanes_.rows_of(numbers, context_)) {
      all.push_back(ciphertext_of(std::move(row)));
      list.push_back(row_of(*all.back()));
    }
    const std::vector<LaneWords> product = products_of(lanes_, {std::move(list)});
    // The product is invertible exactly where each number is: one greatest common divisor instead of one each.
    COT_TRY(modulus_.check_invertible(number_of(product[0].data()), numbers, context_));
    return all;
  }

  void write(const Ciphertext& ciphertext, std::span<uint8_t> out) const override {
    write_big(number_of(row_of(ciphertext)), out);
  }

  CiphertextPtr zero() const override { return copy_of_row(lanes_.one().data()); }
  CiphertextPtr copy(const Ciphertext& ciphertext) const override { return copy_of_row(row_of(ciphertext)); }

  void add(Ciphertext& sum, const Ciphertext& term) const override {
    const CiphertextAddition one{&sum, &term};
    add_each({&one, 1});
  }
  void add_number(Ciphertext& sum, const PlainNumber& number) const override {
    std::vector<Big> numbers;
    numbers.push_back(modulus_.open_ciphertext(number, context_));
    const LaneCiphertext term(std::move(lanes_.rows_of(numbers, context_)[0]));
    add(sum, term);
  }
  void shift_left(Ciphertext& ciphertext, size_t bits) const override {
    Ciphertext* const one = &ciphertext;
    shift_left_each({&one, 1}, bits);
  }
  void rerandomize(Ciphertext& ciphertext) override {
    Ciphertext* const one = &ciphertext;
    rerandomize_each({&one, 1});
  }

  std::vector<CiphertextPtr> sums(std::span<const CiphertextList> lists) const override {
    std::vector<RowList> rows;
    for (const CiphertextList& list : lists) {
      rows.emplace_back();
      for (const Ciphertext* const one : list) rows.back().push_back(row_of(*one));
    }
    std::vector<CiphertextPtr> all;
    for (LaneWords& row : products_of(lanes_, std::move(rows))) {
      all.push_back(row.empty() ? nullptr : ciphertext_of(std::move(row)));
    }
    return all;
  }

  void add_each(std::span<const CiphertextAddition> additions) const override {
    LaneWords sums = lanes_.lanes(), terms = lanes_.lanes();
    for (size_t first = 0; first < additions.size(); first += kLanes) {
      const auto eight = additions.subspan(first, std::min(kLanes, additions.size() - first));
      std::array<uint64_t*, kLanes> of_sums{};
      std::array<const uint64_t*, kLanes> of_terms{};
      for (size_t i = 0; i < eight.size(); ++i) {
        of_sums[i] = row_of(*eight[i].sum);
        of_terms[i] = row_of(*eight[i].term);
      }
      lanes_.load(std::span<const uint64_t* const>(of_sums.data(), eight.size()), sums);
      lanes_.load(std::span(of_terms).first(eight.size()), terms);
      // The product of ciphertexts is one of the sum of their plaintexts.
      lanes_.multiply(sums, terms, sums);
      lanes_.store(sums, std::span(of_sums).first(eight.size()));
    }
  }

  void shift_left_each(std::span<Ciphertext* const> ciphertexts, size_t bits) const override {
    // A square is a ciphertext of twice the plaintext.
    each_eight(ciphertexts, [&](size_t, LaneWords& eight) {
      for (size_t i = 0; i < bits; ++i) lanes_.square(eight);
    });
  }

  void rerandomize_each(std::span<Ciphertext* const> ciphertexts) override {
    if (tables_.windows() == 0) draw_residues();
    Bytes digits(kLanes * tables_.windows());
    each_eight(ciphertexts, [&](size_t count, LaneWords& eight) {
      std::ranges::fill(digits, uint8_t{0});
      for (size_t lane = 0; lane < count; ++lane) {
        // kStatisticalBits more than n has: modulo the unknown order of h the exponent is then as good as uniform.
        const PowerDigits exponent(random_.bits(exponent_bits_), exponent_bits_);
        const PowerDigits subset(random_.bits(kSubsetResidues), kSubsetResidues);
        for (size_t i = 0; i < exponent.size(); ++i) digits[kLanes * i + lane] = exponent[i];
        for (size_t i = 0; i < subset.size(); ++i) digits[kLanes * (exponent.size() + i) + lane] = subset[i];
      }
      tables_.multiply(digits, eight);
    });
    wipe(digits);
  }

 private:
  // work(how many of the eight lanes have a ciphertext, the lanes), then back.
  template <typename Work>
  void each_eight(std::span<Ciphertext* const> ciphertexts, Work work) const {
    LaneWords lanes = lanes_.lanes();
    for (size_t first = 0; first < ciphertexts.size(); first += kLanes) {
      const size_t count = std::min(kLanes, ciphertexts.size() - first);
      std::array<uint64_t*, kLanes> rows{};
      for (size_t i = 0; i < count; ++i) rows[i] = row_of(*ciphertexts[first + i]);
      lanes_.load(std::span<const uint64_t* const>(rows.data(), count), lanes);
      work(count, lanes);
      lanes_.store(lanes, std::span(rows).first(count));
    }
  }

  Big number_of(const uint64_t* row) const {
    LaneWords lanes = lanes_.lanes();
    lanes_.set_lane(lanes, 0, row);
    return std::move(lanes_.numbers_of(lanes, 1, context_)[0]);
  }
  CiphertextPtr copy_of_row(const uint64_t* from) const {
    LaneWords row = lanes_.row();
    std::copy_n(from, lanes_.words(), row.data());
    return ciphertext_of(std::move(row));
  }

  // h and the subset's: n-th powers of random numbers.
  void draw_residues() {
    std::vector<Big> numbers;
    for (size_t i = 0; i <= kSubsetResidues; ++i) numbers.push_back(random_.below(modulus_.n, context_));
    std::vector<LaneWords> residues = lanes_.rows_of(numbers, context_);
    const PowerDigits n(modulus_.n, 8 * modulus_.n_bytes);
    for (size_t first = 0; first < residues.size(); first += kLanes) {
      const size_t count = std::min(kLanes, residues.size() - first);
      std::array<uint64_t*, kLanes> rows{};
      for (size_t i = 0; i < count; ++i) rows[i] = residues[first + i].data();
      LaneWords eight = lanes_.lanes();
      lanes_.load(std::span<const uint64_t* const>(rows.data(), count), eight);
      raise_lanes(lanes_, eight, n);
      lanes_.store(eight, std::span(rows).first(count));
    }
    tables_.add_powers(residues[0], exponent_bits_);
    for (size_t first = 1; first < residues.size(); first += kPowerDigitBits) {
      tables_.add_subsets(std::span<const LaneWords, kPowerDigitBits>(&residues[first], kPowerDigitBits));
    }
  }

  BigContext context_;
  SeedStream random_;
  CipherModulus modulus_;
  LaneRing lanes_;
  size_t exponent_bits_;
  LaneTables tables_;  // drawn when the first sum goes out
};

}  // namespace

std::unique_ptr<AdditiveCipher> residue_lane_cipher(Big n, Modulo modulo, const Secret<32>& seed,
                                                    std::string_view purpose, const LaneKernel& kernel) {
  return std::make_unique<ResidueLaneCipher>(std::move(n), modulo, seed, purpose, kernel);
}

}  // namespace coterie::he
