#include "secure/he/residue_cipher.h"

#include <optional>

#include "secure/he/cipher_modulus.h"
#include "secure/he/fixed_base.h"
#include "secure/he/residue_lanes.h"
#include "secure/he/seed_stream.h"

namespace coterie::he {
namespace {

constexpr size_t kWindowBits = 6;

// In Montgomery form.
class ResidueCiphertext : public Ciphertext {
 public:
  explicit ResidueCiphertext(Big number) : number(std::move(number)) {}
  Big number;
};

const Big& number_of(const Ciphertext& ciphertext) { return static_cast<const ResidueCiphertext&>(ciphertext).number; }

class ResidueCipher : public AdditiveCipher {
 public:
  ResidueCipher(Big n, Modulo modulo, const Secret<32>& seed, std::string_view purpose)
      : context_(big_context()),
        random_(seed, purpose),
        modulus_(std::move(n), modulo, context_),
        form_(montgomery(modulus_.ring, context_)) {}

  size_t ciphertext_bytes() const override { return modulus_.ciphertext_bytes(); }
  size_t plaintext_bits() const override { return modulus_.plaintext_bits(); }

  Result<std::vector<CiphertextPtr>> read(ByteView ciphertexts) const override {
    COT_ASSIGN(const std::vector<Big> numbers, modulus_.numbers(ciphertexts));
    std::vector<CiphertextPtr> all;
    Big together = big();
    must(BN_one(together.get()) == 1);
    for (const Big& number : numbers) {
      Big c = big();
      must(BN_mod_mul(together.get(), together.get(), number.get(), modulus_.n.get(), context_.get()) == 1 &&
           BN_to_montgomery(c.get(), number.get(), form_.get(), context_.get()) == 1);
      all.push_back(std::make_unique<ResidueCiphertext>(std::move(c)));
    }
    // One gcd of the product of all instead of one each. A factor of n in a ciphertext would be found there, and no
    // honest party sends one.
    COT_TRY(modulus_.check_invertible(together, numbers, context_));
    return all;
  }

  void write(const Ciphertext& ciphertext, std::span<uint8_t> out) const override {
    Big number = big();
    must(BN_from_montgomery(number.get(), number_of(ciphertext).get(), form_.get(), context_.get()) == 1);
    write_big(number, out);
  }

  CiphertextPtr zero() const override {
    Big one = big();
    must(BN_one(one.get()) == 1 && BN_to_montgomery(one.get(), one.get(), form_.get(), context_.get()) == 1);
    return std::make_unique<ResidueCiphertext>(std::move(one));
  }

  CiphertextPtr copy(const Ciphertext& ciphertext) const override {
    return std::make_unique<ResidueCiphertext>(copy_of(number_of(ciphertext)));
  }

  void add(Ciphertext& sum, const Ciphertext& term) const override { multiply(sum, number_of(term)); }

  void add_number(Ciphertext& sum, const PlainNumber& number) const override {
    Big term = modulus_.open_ciphertext(number, context_);
    must(BN_to_montgomery(term.get(), term.get(), form_.get(), context_.get()) == 1);
    multiply(sum, term);
  }

  void shift_left(Ciphertext& ciphertext, size_t bits) const override {
    // Squaring a ciphertext doubles its plaintext.
    for (size_t i = 0; i < bits; ++i) multiply(ciphertext, number_of(ciphertext));
  }

  void rerandomize(Ciphertext& ciphertext) override {
    if (!residues_) draw_residues();
    const auto bits = static_cast<size_t>(BN_num_bits(modulus_.n.get())) + kStatisticalBits;
    // By h^r for a random h that is an n-th power, and by a random subset of more such: a power of a fixed h by tables
    // costs a fraction of r^n, and the subset covers what h's powers may leave out (ADR 71).
    multiply(ciphertext, residues_->power(random_.bits(bits), context_));
    const Big subset = random_.bits(kSubsetResidues);
    for (size_t i = 0; i < kSubsetResidues; ++i) {
      if (BN_is_bit_set(subset.get(), static_cast<int>(i)) != 0) multiply(ciphertext, subset_[i]);
    }
  }

 private:
  void multiply(Ciphertext& product, const Big& factor) const {
    const Big& number = number_of(product);
    must(BN_mod_mul_montgomery(number.get(), number.get(), factor.get(), form_.get(), context_.get()) == 1);
  }
  Big random_residue() {
    Big residue = big();
    must(BN_mod_exp_mont(residue.get(), random_.below(modulus_.n, context_).get(), modulus_.n.get(),
                         modulus_.ring.get(), context_.get(), form_.get()) == 1);
    return residue;
  }
  void draw_residues() {
    const auto bits = static_cast<size_t>(BN_num_bits(modulus_.n.get())) + kStatisticalBits;
    residues_.emplace(random_residue(), bits, kWindowBits, form_.get(), context_);
    for (size_t i = 0; i < kSubsetResidues; ++i) {
      subset_.push_back(random_residue());
      must(BN_to_montgomery(subset_[i].get(), subset_[i].get(), form_.get(), context_.get()) == 1);
    }
  }

  BigContext context_;
  SeedStream random_;
  CipherModulus modulus_;
  Montgomery form_;
  std::optional<FixedBase> residues_;  // drawn when the first sum goes out
  std::vector<Big> subset_;
};

}  // namespace

std::unique_ptr<AdditiveCipher> residue_cipher(Big n, Modulo modulo, const Secret<32>& seed, std::string_view purpose,
                                               const LaneKernel* kernel) {
  if (kernel != nullptr) return residue_lane_cipher(std::move(n), modulo, seed, purpose, *kernel);
  return std::make_unique<ResidueCipher>(std::move(n), modulo, seed, purpose);
}

}  // namespace coterie::he
