#include "secure/he/half_powers.h"
#include "secure/he/key_arithmetic.h"
#include "secure/he/key_holder.h"
#include "secure/he/okamoto_uchiyama.h"
#include "secure/he/okamoto_uchiyama_key.h"

namespace coterie {
namespace he {
namespace {

class OkamotoUchiyamaHolder : public KeyHolder {
 public:
  OkamotoUchiyamaHolder(OkamotoUchiyamaKey key, const Secret<32>& seed, const LaneKernel* kernel)
      : KeyHolder(std::move(key.n), Modulo::n, seed, "coterie okamoto-uchiyama ciphertexts"),
        p_(std::move(key.p.p)),
        q_(std::move(key.q)),
        order_(minus_one(p_)),
        units_(minus_one(q_)),
        square_(product(p_, p_, context_)),
        half_(copy_of(p_)),
        powers_(kernel != nullptr ? lane_powers(p_, key.p.generator, *kernel, context_)
                                  : single_powers(p_, key.p.generator, context_)),
        ciphertexts_(square_, q_, context_) {
    for (const Big* secret : {&p_, &q_, &order_, &units_}) BN_set_flags(secret->get(), BN_FLG_CONSTTIME);
    must(BN_rshift1(half_.get(), half_.get()) == 1);
  }

  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    COT_ASSIGN(const std::vector<Big> all, modulus_.numbers(ciphertexts));
    std::vector<Big> bases;
    for (size_t i = 0; i < all.size(); ++i) {
      // A ciphertext that a prime divides has no plaintext, and no honest party can make one.
      if (divides(p_, all[i], context_) || divides(q_, all[i], context_)) return not_invertible(i);
      bases.push_back(secret_big());
      must(BN_mod(bases[i].get(), all[i].get(), square_.get(), context_.get()) == 1);
    }
    std::vector<PlainNumber> numbers;
    for (const Big& power : powers_->to_the_order(bases, context_)) {
      // c^(p - 1) = (1 + p)^(m (p - 1)) = 1 - m p modulo p^2 (section 2 of the paper, with g as it is here).
      must(BN_sub_word(power.get(), 1) == 1 &&
           BN_div(power.get(), nullptr, power.get(), p_.get(), context_.get()) == 1 &&
           BN_mod_mul(power.get(), power.get(), order_.get(), p_.get(), context_.get()) == 1);
      numbers.push_back(signed_number(power, p_, half_, static_cast<size_t>(BN_num_bytes(p_.get())) / 8 + 1));
    }
    return numbers;
  }

 private:
  std::vector<Big> encrypt_block(std::span<const PlainNumber> numbers) override {
    std::vector<Big> of_p, of_q;
    for (size_t i = 0; i < numbers.size(); ++i) {
      of_p.push_back(random_.below(order_, context_));
      // Modulo q each number but 0 is an n-th residue, and g is 1.
      of_q.push_back(random_.below(units_, context_));
      must(BN_add_word(of_q[i].get(), 1) == 1);
    }
    of_p = powers_->residues(of_p, context_);
    std::vector<Big> ciphertexts;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Big c_p = times_power(residue_of(numbers[i], p_), of_p[i], p_, square_, context_);
      ciphertexts.push_back(ciphertexts_.join(c_p, of_q[i], context_));
    }
    return ciphertexts;
  }

  Big p_;
  Big q_;
  Big order_;  // p - 1, which is -1 modulo p
  Big units_;  // q - 1
  Big square_;
  Big half_;  // of p
  std::unique_ptr<HalfPowers> powers_;
  Garner ciphertexts_;
};

}  // namespace

std::unique_ptr<AdditiveKey> okamoto_uchiyama_key_of(OkamotoUchiyamaKey key, Secret<32> seed,
                                                     const LaneKernel* kernel) {
  return std::make_unique<OkamotoUchiyamaHolder>(std::move(key), seed, kernel);
}

}  // namespace he

std::unique_ptr<AdditiveKey> make_okamoto_uchiyama_key(OkamotoUchiyamaBits bits, const Secret<32>& seed) {
  return he::okamoto_uchiyama_key_of(he::generate_okamoto_uchiyama_key(static_cast<size_t>(bits), seed),
                                     Secret<32>(seed.reveal()));
}

}  // namespace coterie
