#include "secure/he/key_prime.h"

namespace coterie::he {
namespace {

constexpr size_t kSmallFactorBits = 64;

bool is_prime(const Big& number, const BigContext& context) {
  const int answer = BN_check_prime(number.get(), context.get(), nullptr);
  must(answer >= 0);
  return answer == 1;
}

Big random_prime(size_t bits, SeedStream& random, const BigContext& context) {
  for (;;) {
    Big candidate = random.bits(bits);
    // Three leading ones: 2 s t then has its two highest bits set, and n = p q is as long as it is meant to be.
    must(BN_set_bit(candidate.get(), 0) == 1);
    for (int i = 1; i <= 3; ++i) must(BN_set_bit(candidate.get(), static_cast<int>(bits) - i) == 1);
    if (is_prime(candidate, context)) return candidate;
  }
}

// Whether g^((p - 1) / factor) is not 1.
bool misses(const Big& g, const Big& order, const Big& factor, const Big& p, const BigContext& context) {
  Big exponent = big();
  Big power = big();
  must(BN_div(exponent.get(), nullptr, order.get(), factor.get(), context.get()) == 1 &&
       BN_mod_exp(power.get(), g.get(), exponent.get(), p.get(), context.get()) == 1);
  return BN_is_one(power.get()) == 0;
}

}  // namespace

KeyPrime generate_key_prime(size_t bits, SeedStream& random, const BigContext& context) {
  // p - 1 = 2 s t with primes s and t: the factors are known, so that a generator can be recognised by three powers.
  const Big s = random_prime(bits - kSmallFactorBits - 1, random, context);
  Big two = big();
  must(BN_set_word(two.get(), 2) == 1);
  const Big twice_s = product(s, two, context);
  for (;;) {
    const Big t = random_prime(kSmallFactorBits, random, context);
    const Big order = product(twice_s, t, context);
    Big p = copy_of(order);
    must(BN_add_word(p.get(), 1) == 1);
    COT_ASSERT(BN_num_bits(p.get()) == static_cast<int>(bits));
    if (!is_prime(p, context)) continue;
    for (;;) {
      Big g = random.below(p, context);
      if (BN_is_zero(g.get()) == 0 && misses(g, order, two, p, context) && misses(g, order, s, p, context) &&
          misses(g, order, t, p, context)) {
        return {std::move(p), std::move(g)};
      }
    }
  }
}

bool divides(const Big& divisor, const Big& number, const BigContext& context) {
  Big rest = big();
  must(BN_mod(rest.get(), number.get(), divisor.get(), context.get()) == 1);
  return BN_is_zero(rest.get()) != 0;
}

}  // namespace coterie::he
