#include "secure/crypto/hkdf.h"
#include "secure/he/half_powers.h"
#include "secure/he/key_arithmetic.h"
#include "secure/he/key_holder.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"

namespace coterie {
namespace he {
namespace {

// What is computed modulo p^2, for one of the two primes.
class Half {
 public:
  Half(KeyPrime prime, const Big& n, const LaneKernel* kernel, const BigContext& context)
      : p_(std::move(prime.p)),
        order_(minus_one(p_)),
        square_(product(p_, p_, context)),
        powers_(kernel != nullptr ? lane_powers(p_, prime.generator, *kernel, context)
                                  : single_powers(p_, prime.generator, context)) {
    BN_set_flags(p_.get(), BN_FLG_CONSTTIME);
    // L((1 + n)^(p - 1)) = (p - 1) q mod p, whose inverse decryption multiplies by.
    Big q = big();
    Big factor = big();
    must(BN_div(q.get(), nullptr, n.get(), p_.get(), context.get()) == 1 &&
         BN_mod_mul(factor.get(), order_.get(), q.get(), p_.get(), context.get()) == 1);
    inverse_ = inverse_of(factor, p_, context);
  }

  const Big& prime() const { return p_; }
  const Big& square() const { return square_; }

  // An exponent for residues().
  Big draw(SeedStream& random, const BigContext& context) const { return random.below(order_, context); }
  // Uniform n-th residues modulo p^2.
  std::vector<Big> residues(std::span<const Big> drawn, const BigContext& context) const {
    return powers_->residues(drawn, context);
  }

  // The plaintexts modulo p: L(c^(p - 1) mod p^2) / L((1 + n)^(p - 1)), L(x) = (x - 1) / p (section 7 of the paper).
  // p divides no c.
  std::vector<Big> plaintexts(std::span<const Big> ciphertexts, const BigContext& context) const {
    std::vector<Big> bases;
    for (const Big& c : ciphertexts) {
      bases.push_back(secret_big());
      must(BN_mod(bases.back().get(), c.get(), square_.get(), context.get()) == 1);
    }
    std::vector<Big> values = powers_->to_the_order(bases, context);
    for (const Big& value : values) {
      must(BN_sub_word(value.get(), 1) == 1 &&
           BN_div(value.get(), nullptr, value.get(), p_.get(), context.get()) == 1 &&
           BN_mod_mul(value.get(), value.get(), inverse_.get(), p_.get(), context.get()) == 1);
    }
    return values;
  }

 private:
  Big p_;
  Big order_;  // p - 1
  Big square_;
  std::unique_ptr<HalfPowers> powers_;
  Big inverse_;
};

class PaillierHolder : public KeyHolder {
 public:
  PaillierHolder(PaillierKey key, const Secret<32>& seed, const LaneKernel* kernel)
      : KeyHolder(std::move(key.n), Modulo::square_of_n, seed, "coterie paillier ciphertexts"),
        half_(copy_of(modulus_.n)),
        p_(std::move(key.p), modulus_.n, kernel, context_),
        q_(std::move(key.q), modulus_.n, kernel, context_),
        plaintexts_(p_.prime(), q_.prime(), context_),
        ciphertexts_(p_.square(), q_.square(), context_) {
    must(BN_rshift1(half_.get(), half_.get()) == 1);
  }

  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    COT_ASSIGN(const std::vector<Big> all, modulus_.numbers(ciphertexts));
    // A ciphertext that a prime divides has no plaintext, and no honest party can make one.
    for (size_t i = 0; i < all.size(); ++i) {
      if (divides(p_.prime(), all[i], context_) || divides(q_.prime(), all[i], context_)) return not_invertible(i);
    }
    const std::vector<Big> m_p = p_.plaintexts(all, context_), m_q = q_.plaintexts(all, context_);
    std::vector<PlainNumber> numbers;
    for (size_t i = 0; i < all.size(); ++i) {
      // Modulo p^2 and q^2 apart, then joined: a quarter of the work modulo n^2.
      const Big m = plaintexts_.join(m_p[i], m_q[i], context_);
      numbers.push_back(signed_number(m, modulus_.n, half_, modulus_.n_bytes / 8 + 1));
    }
    return numbers;
  }

 private:
  std::vector<Big> encrypt_block(std::span<const PlainNumber> numbers) override {
    std::vector<Big> of_p, of_q;
    for (size_t i = 0; i < numbers.size(); ++i) {
      of_p.push_back(p_.draw(random_, context_));
      of_q.push_back(q_.draw(random_, context_));
    }
    of_p = p_.residues(of_p, context_);
    of_q = q_.residues(of_q, context_);
    std::vector<Big> ciphertexts;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Big residue = ciphertexts_.join(of_p[i], of_q[i], context_);
      ciphertexts.push_back(
          times_power(residue_of(numbers[i], modulus_.n), residue, modulus_.n, modulus_.ring, context_));
    }
    return ciphertexts;
  }

  Big half_;
  Half p_;
  Half q_;
  Garner plaintexts_, ciphertexts_;
};

}  // namespace

std::unique_ptr<AdditiveKey> paillier_key_of(PaillierKey key, Secret<32> seed, const LaneKernel* kernel) {
  return std::make_unique<PaillierHolder>(std::move(key), seed, kernel);
}

}  // namespace he

std::unique_ptr<AdditiveKey> make_paillier_key(PaillierBits bits, const Secret<32>& seed) {
  return he::paillier_key_of(he::generate_paillier_key(static_cast<size_t>(bits), seed), Secret<32>(seed.reveal()));
}

}  // namespace coterie
