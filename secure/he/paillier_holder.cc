#include <algorithm>
#include <string>

#include "secure/crypto/hkdf.h"
#include "secure/he/fixed_base.h"
#include "secure/he/paillier.h"
#include "secure/he/paillier_key.h"
#include "secure/he/seed_stream.h"

namespace coterie {
namespace he {
namespace {

constexpr size_t kWindowBits = 8;

// What is computed modulo p^2, for one of the two primes.
class Half {
 public:
  Half(PaillierPrime prime, const Big& n, const BigContext& context)
      : p_(std::move(prime.p)),
        order_(minus_one(p_)),
        square_(product(p_, p_, context)),
        form_(montgomery(square_, context)),
        residues_(residue_base(prime.generator, context), static_cast<size_t>(BN_num_bits(order_.get())), kWindowBits,
                  form_.get(), context) {
    BN_set_flags(p_.get(), BN_FLG_CONSTTIME);
    BN_set_flags(order_.get(), BN_FLG_CONSTTIME);
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

  // A uniform n-th residue modulo p^2.
  Big random_residue(SeedStream& random, const BigContext& context) const {
    Big residue = residues_.power(random.below(order_, context), context);
    must(BN_from_montgomery(residue.get(), residue.get(), form_.get(), context.get()) == 1);
    return residue;
  }

  // The plaintext modulo p: L(c^(p - 1) mod p^2) / L((1 + n)^(p - 1)), L(x) = (x - 1) / p (section 7 of the paper).
  // Nothing if p divides c.
  Big plaintext(const Big& ciphertext, const BigContext& context) const {
    Big value = secret_big();
    must(BN_mod(value.get(), ciphertext.get(), square_.get(), context.get()) == 1);
    Big rest = big();
    must(BN_mod(rest.get(), value.get(), p_.get(), context.get()) == 1);
    if (BN_is_zero(rest.get()) != 0) return nullptr;
    must(BN_mod_exp_mont_consttime(value.get(), value.get(), order_.get(), square_.get(), context.get(), form_.get()) ==
             1 &&
         BN_sub_word(value.get(), 1) == 1 && BN_div(value.get(), nullptr, value.get(), p_.get(), context.get()) == 1 &&
         BN_mod_mul(value.get(), value.get(), inverse_.get(), p_.get(), context.get()) == 1);
    return value;
  }

 private:
  // The p-th power of a generator modulo p generates the residues modulo p^2 of order p - 1.
  Big residue_base(const Big& generator, const BigContext& context) const {
    Big base = big();
    must(BN_mod_exp(base.get(), generator.get(), p_.get(), square_.get(), context.get()) == 1);
    return base;
  }

  Big p_;
  Big order_;  // p - 1
  Big square_;
  Montgomery form_;
  FixedBase residues_;
  Big inverse_;
};

class PaillierHolder : public AdditiveKey {
 public:
  PaillierHolder(PaillierKey key, const Secret<32>& seed)
      : context_(big_context()),
        random_(seed, "coterie paillier ciphertexts"),
        n_(std::move(key.n)),
        square_(product(n_, n_, context_)),
        half_(copy_of(n_)),
        p_(std::move(key.p), n_, context_),
        q_(std::move(key.q), n_, context_),
        n_bytes_(static_cast<size_t>(BN_num_bytes(n_.get()))) {
    must(BN_rshift1(half_.get(), half_.get()) == 1);
    inverse_q_ = inverse(q_.prime(), p_.prime());
    inverse_q_square_ = inverse(q_.square(), p_.square());
  }

  size_t ciphertext_bytes() const override { return 2 * n_bytes_; }
  size_t plaintext_bits() const override { return 8 * n_bytes_ - 2; }
  Bytes public_key() const override {
    Bytes bytes(n_bytes_);
    write_big(n_, bytes);
    return bytes;
  }

  void encrypt(const PlainNumber& number, std::span<uint8_t> out) override {
    COT_ASSERT(out.size() == ciphertext_bytes());
    const Big residue = join(p_.random_residue(random_, context_), q_.random_residue(random_, context_), p_.square(),
                             q_.square(), inverse_q_square_);
    Big c = product(residue_of(number, n_), n_, context_);
    must(BN_add_word(c.get(), 1) == 1 &&
         BN_mod_mul(c.get(), c.get(), residue.get(), square_.get(), context_.get()) == 1);
    write_big(c, out);
  }

  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    if (ciphertexts.size() % ciphertext_bytes() != 0) {
      return Error(ErrorCode::malformed, "ciphertexts have " + std::to_string(ciphertexts.size()) +
                                             " bytes, expected a multiple of " + std::to_string(ciphertext_bytes()));
    }
    std::vector<PlainNumber> numbers;
    for (size_t i = 0; i < ciphertexts.size() / ciphertext_bytes(); ++i) {
      const Big c = big_from(ciphertexts.subspan(i * ciphertext_bytes(), ciphertext_bytes()));
      const bool in_range = BN_is_zero(c.get()) == 0 && BN_cmp(c.get(), square_.get()) < 0;
      const Big m_p = in_range ? p_.plaintext(c, context_) : nullptr;
      const Big m_q = in_range ? q_.plaintext(c, context_) : nullptr;
      if (!m_p || !m_q) {
        return Error(ErrorCode::malformed, "ciphertext " + std::to_string(i) +
                                               (in_range ? " is not invertible modulo n" : " is not in (0, n^2)"));
      }
      const Big m = join(m_p, m_q, p_.prime(), q_.prime(), inverse_q_);
      numbers.push_back(signed_number(m, n_, half_, n_bytes_ / 8 + 1));
    }
    return numbers;
  }

 private:
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
  Big n_;
  Big square_;
  Big half_;
  Half p_;
  Half q_;
  Big inverse_q_;
  Big inverse_q_square_;
  size_t n_bytes_;
};

}  // namespace

std::unique_ptr<AdditiveKey> paillier_key_of(PaillierKey key, Secret<32> seed) {
  return std::make_unique<PaillierHolder>(std::move(key), seed);
}

}  // namespace he

std::unique_ptr<AdditiveKey> make_paillier_key(PaillierBits bits, const Secret<32>& seed) {
  return he::paillier_key_of(he::generate_paillier_key(static_cast<size_t>(bits), seed), Secret<32>(seed.reveal()));
}

}  // namespace coterie
