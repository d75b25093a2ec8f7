#include <algorithm>
#include <optional>
#include <string>

#include "secure/he/fixed_base.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"
#include "secure/he/paillier_lanes.h"
#include "secure/he/paillier_modulus.h"
#include "secure/he/seed_stream.h"

namespace coterie {
namespace he {
namespace {

constexpr size_t kWindowBits = 6;

// In Montgomery form.
class PaillierCiphertext : public Ciphertext {
 public:
  explicit PaillierCiphertext(Big number) : number(std::move(number)) {}
  Big number;
};

const Big& number_of(const Ciphertext& ciphertext) { return static_cast<const PaillierCiphertext&>(ciphertext).number; }

class PaillierCipher : public AdditiveCipher {
 public:
  PaillierCipher(Big n, const Secret<32>& seed)
      : context_(big_context()),
        random_(seed, "coterie paillier sums"),
        modulus_(std::move(n), context_),
        form_(montgomery(modulus_.square, context_)) {}

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
      all.push_back(std::make_unique<PaillierCiphertext>(std::move(c)));
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
    return std::make_unique<PaillierCiphertext>(std::move(one));
  }

  CiphertextPtr copy(const Ciphertext& ciphertext) const override {
    return std::make_unique<PaillierCiphertext>(copy_of(number_of(ciphertext)));
  }

  void add(Ciphertext& sum, const Ciphertext& term) const override { multiply(sum, number_of(term)); }

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
                         modulus_.square.get(), context_.get(), form_.get()) == 1);
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
  PaillierModulus modulus_;
  Montgomery form_;
  std::optional<FixedBase> residues_;  // drawn when the first sum goes out
  std::vector<Big> subset_;
};

}  // namespace

std::unique_ptr<AdditiveCipher> paillier_cipher_of(Big n, Secret<32> seed, const LaneKernel* kernel) {
  if (kernel != nullptr) return paillier_lane_cipher(std::move(n), seed, *kernel);
  return std::make_unique<PaillierCipher>(std::move(n), seed);
}

}  // namespace he

Result<std::unique_ptr<AdditiveCipher>> paillier_cipher(ByteView public_key, Secret<32> seed) {
  he::Big n = he::big_from(public_key);
  const int bits = BN_num_bits(n.get());
  const auto is = [&](PaillierBits size) {
    return public_key.size() * 8 == static_cast<size_t>(size) && bits == static_cast<int>(size);
  };
  if (!is(PaillierBits::k2048) && !is(PaillierBits::k3072)) {
    return Error(ErrorCode::invalid_argument, "the Paillier key has " + std::to_string(bits) + " bits in " +
                                                  std::to_string(public_key.size()) + " bytes, expected 2048 or 3072");
  }
  if (BN_is_odd(n.get()) == 0) return Error(ErrorCode::invalid_argument, "the Paillier key is an even number");
  const he::BigContext context = he::big_context();
  // A prime n would make every ciphertext as good as its plaintext to whoever has it. That n is a product of two cannot
  // be seen from here.
  if (BN_check_prime(n.get(), context.get(), nullptr) != 0) {
    return Error(ErrorCode::invalid_argument, "the Paillier key is a prime, expected a product of two");
  }
  return he::paillier_cipher_of(std::move(n), std::move(seed));
}

}  // namespace coterie
