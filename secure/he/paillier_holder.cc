#include <algorithm>

#include "secure/crypto/hkdf.h"
#include "secure/he/half_powers.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"
#include "secure/he/paillier_modulus.h"
#include "secure/he/seed_stream.h"

namespace coterie {
namespace he {
namespace {

// What is computed modulo p^2, for one of the two primes.
class Half {
 public:
  Half(PaillierPrime prime, const Big& n, const LaneKernel* kernel, const BigContext& context)
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
    inverse_ = secret_big();
    must(BN_mod_inverse(inverse_.get(), factor.get(), p_.get(), context.get()) != nullptr);
  }

  const Big& prime() const { return p_; }
  const Big& square() const { return square_; }

  // An exponent for residues().
  Big draw(SeedStream& random, const BigContext& context) const { return random.below(order_, context); }
  // Uniform n-th residues modulo p^2.
  std::vector<Big> residues(std::span<const Big> drawn, const BigContext& context) const {
    return powers_->residues(drawn, context);
  }

  bool divides(const Big& ciphertext, const BigContext& context) const {
    Big rest = big();
    must(BN_mod(rest.get(), ciphertext.get(), p_.get(), context.get()) == 1);
    return BN_is_zero(rest.get()) != 0;
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

class PaillierHolder : public AdditiveKey {
 public:
  PaillierHolder(PaillierKey key, const Secret<32>& seed, const LaneKernel* kernel)
      : context_(big_context()),
        random_(seed, "coterie paillier ciphertexts"),
        modulus_(std::move(key.n), context_),
        half_(copy_of(modulus_.n)),
        p_(std::move(key.p), modulus_.n, kernel, context_),
        q_(std::move(key.q), modulus_.n, kernel, context_) {
    must(BN_rshift1(half_.get(), half_.get()) == 1);
    inverse_q_ = inverse(q_.prime(), p_.prime());
    inverse_q_square_ = inverse(q_.square(), p_.square());
  }

  size_t ciphertext_bytes() const override { return modulus_.ciphertext_bytes(); }
  size_t plaintext_bits() const override { return modulus_.plaintext_bits(); }
  Bytes public_key() const override {
    Bytes bytes(modulus_.n_bytes);
    write_big(modulus_.n, bytes);
    return bytes;
  }

  void encrypt(const PlainNumber& number, std::span<uint8_t> out) override { encrypt_each({&number, 1}, out); }

  void encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out) override {
    const size_t bytes = ciphertext_bytes();
    COT_ASSERT(out.size() == numbers.size() * bytes);
    for (size_t first = 0; first < numbers.size(); first += kLanes) {
      const size_t count = std::min(kLanes, numbers.size() - first);
      std::vector<Big> of_p, of_q;
      for (size_t i = 0; i < count; ++i) {
        of_p.push_back(p_.draw(random_, context_));
        of_q.push_back(q_.draw(random_, context_));
      }
      of_p = p_.residues(of_p, context_);
      of_q = q_.residues(of_q, context_);
      for (size_t i = 0; i < count; ++i) {
        const Big residue = join(of_p[i], of_q[i], p_.square(), q_.square(), inverse_q_square_);
        write_big(blind(residue_of(numbers[first + i], modulus_.n), residue), out.subspan((first + i) * bytes, bytes));
      }
    }
  }

  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    COT_ASSIGN(const std::vector<Big> all, modulus_.numbers(ciphertexts));
    // A ciphertext that a prime divides has no plaintext, and no honest party can make one.
    for (size_t i = 0; i < all.size(); ++i) {
      if (p_.divides(all[i], context_) || q_.divides(all[i], context_)) return not_invertible(i);
    }
    const std::vector<Big> m_p = p_.plaintexts(all, context_), m_q = q_.plaintexts(all, context_);
    std::vector<PlainNumber> numbers;
    for (size_t i = 0; i < all.size(); ++i) {
      // Modulo p^2 and q^2 apart, then joined: a quarter of the work modulo n^2.
      const Big m = join(m_p[i], m_q[i], p_.prime(), q_.prime(), inverse_q_);
      numbers.push_back(signed_number(m, modulus_.n, half_, modulus_.n_bytes / 8 + 1));
    }
    return numbers;
  }

 private:
  // (1 + m n) r mod n^2, as r + n (m r mod n): half the length of the product itself.
  Big blind(const Big& m, const Big& r) const {
    Big c = secret_big();
    must(BN_mod(c.get(), r.get(), modulus_.n.get(), context_.get()) == 1 &&
         BN_mod_mul(c.get(), c.get(), m.get(), modulus_.n.get(), context_.get()) == 1 &&
         BN_mul(c.get(), c.get(), modulus_.n.get(), context_.get()) == 1 &&
         BN_mod_add_quick(c.get(), c.get(), r.get(), modulus_.square.get()) == 1);
    return c;
  }
  Big inverse(const Big& a, const Big& modulus) const {
    Big result = secret_big();
    must(BN_mod_inverse(result.get(), a.get(), modulus.get(), context_.get()) != nullptr);
    return result;
  }
  // The number that is a modulo P and b modulo Q (Garner).
  Big join(const Big& a, const Big& b, const Big& modulus_p, const Big& modulus_q, const Big& inverse) const {
    Big joined = secret_big();
    must(BN_mod_sub(joined.get(), a.get(), b.get(), modulus_p.get(), context_.get()) == 1 &&
         BN_mod_mul(joined.get(), joined.get(), inverse.get(), modulus_p.get(), context_.get()) == 1 &&
         BN_mul(joined.get(), joined.get(), modulus_q.get(), context_.get()) == 1 &&
         BN_add(joined.get(), joined.get(), b.get()) == 1);
    return joined;
  }

  BigContext context_;
  SeedStream random_;
  PaillierModulus modulus_;
  Big half_;
  Half p_;
  Half q_;
  Big inverse_q_;
  Big inverse_q_square_;
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
