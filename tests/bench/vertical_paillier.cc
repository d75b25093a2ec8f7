#include <openssl/bn.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "secure/he/paillier.h"
#include "tests/bench/vertical_bench.h"

namespace coterie::bench {
namespace {

constexpr int kTurns = 7;
constexpr size_t kTerms = 512;
// Tables of powers by digits of 8 bits, of two exponents of 1,024 bits (secure/he/paillier_holder.cc).
constexpr int kEncryptProducts = 2 * (1024 / 8 - 1);
// Digits of 6 bits of an exponent of 2048 + 128 bits, half of 40 residues, the sum itself (paillier_cipher.cc).
constexpr int kRerandomizeProducts = (2048 + 128 + 5) / 6 + 40 / 2;

struct Free {
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(BN_CTX* context) const { BN_CTX_free(context); }
  void operator()(BN_MONT_CTX* form) const { BN_MONT_CTX_free(form); }
};
using Number = std::unique_ptr<BIGNUM, Free>;

void must(bool ok) {
  if (!ok) std::abort();
}

// OpenSSL's multiplications and powers modulo an odd number of `bits` bits.
class OpenSsl {
 public:
  OpenSsl(int bits, int exponent_bits) : context_(BN_CTX_new()), form_(BN_MONT_CTX_new()) {
    must(context_ != nullptr && form_ != nullptr);
    modulus_ = random(bits, BN_RAND_BOTTOM_ODD);
    must(BN_MONT_CTX_set(form_.get(), modulus_.get(), context_.get()) == 1);
    exponent_ = random(exponent_bits, BN_RAND_BOTTOM_ANY);
    product_ = random(bits - 1, BN_RAND_BOTTOM_ANY);
    for (size_t i = 0; i < kTerms; ++i) terms_.push_back(random(bits - 1, BN_RAND_BOTTOM_ANY));
  }
  void multiply() {
    must(BN_mod_mul_montgomery(product_.get(), product_.get(), terms_[next_++ % kTerms].get(), form_.get(),
                               context_.get()) == 1);
  }
  void power() {
    must(BN_mod_exp_mont_consttime(product_.get(), terms_[next_++ % kTerms].get(), exponent_.get(), modulus_.get(),
                                   context_.get(), form_.get()) == 1);
  }

 private:
  static Number random(int bits, int bottom) {
    Number number(BN_new());
    must(number != nullptr && BN_rand(number.get(), bits, BN_RAND_TOP_ONE, bottom) == 1);
    return number;
  }

  std::unique_ptr<BN_CTX, Free> context_;
  std::unique_ptr<BN_MONT_CTX, Free> form_;
  Number modulus_, exponent_, product_;
  std::vector<Number> terms_;
  size_t next_ = 0;
};

struct Work {
  int calls;
  std::function<void()> call;
};

// Calls a second of each work: medians of turns in which all take part.
std::vector<double> rates(const std::vector<Work>& works) {
  std::vector<std::vector<double>> rates(works.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < works.size(); ++i) {
      const double begin = thread_cpu_seconds();
      for (int call = 0; call < works[i].calls; ++call) works[i].call();
      rates[i].push_back(works[i].calls / (thread_cpu_seconds() - begin));
    }
  }
  std::vector<double> medians;
  for (auto& of_one : rates) {
    std::ranges::nth_element(of_one, of_one.begin() + kTurns / 2);
    medians.push_back(of_one[kTurns / 2]);
  }
  return medians;
}

}  // namespace

PaillierLimits measure_paillier() {
  const auto key = make_paillier_key(PaillierBits::k2048, seed_of(1));
  const auto cipher = value_of(paillier_cipher(key->public_key(), seed_of(2)));
  const size_t bytes = cipher->ciphertext_bytes();
  std::vector<uint8_t> encrypted(kTerms * bytes);
  const auto part = [&](size_t i) { return std::span(encrypted).subspan(i % kTerms * bytes, bytes); };
  for (size_t i = 0; i < kTerms; ++i) key->encrypt({i, 0}, part(i));
  const std::vector<CiphertextPtr> terms = value_of(cipher->read(encrypted));
  const CiphertextPtr sum = cipher->zero();
  double begin = thread_cpu_seconds();
  cipher->rerandomize(*sum);  // the first one draws tables
  const double setup_s = thread_cpu_seconds() - begin;

  OpenSsl sums(4096, 2048), halves(2048, 1024);
  size_t next = 0;
  const auto rate = rates({
      {300,
       [&] {
         ++next;
         key->encrypt({next, 0}, part(next));
       }},
      {300 * kEncryptProducts, [&] { halves.multiply(); }},
      {30'000, [&] { cipher->add(*sum, *terms[next++ % kTerms]); }},
      {30'000, [&] { sums.multiply(); }},
      {100, [&] { value_of(key->decrypt(part(next++))); }},
      {200, [&] { halves.power(); }},
      {100, [&] { cipher->rerandomize(*sum); }},
  });
  const PaillierLimits limits{.encryptions = rate[1] / kEncryptProducts,
                              .additions = rate[3],
                              .decryptions = rate[5] / 2,
                              .rerandomizations = rate[3] / kRerandomizeProducts};
  std::printf(
      "{\"bench\":\"paillier\",\"bits\":2048,\"encryptions_per_s\":%.0f,\"encryptions_limit\":%.0f,"
      "\"encrypt_products\":%d,\"additions_per_s\":%.0f,\"additions_limit\":%.0f,\"decryptions_per_s\":%.0f,"
      "\"decryptions_limit\":%.0f,\"rerandomizations_per_s\":%.0f,\"rerandomizations_limit\":%.0f,"
      "\"rerandomize_products\":%d,\"rerandomize_setup_s\":%.2f}\n",
      rate[0], limits.encryptions, kEncryptProducts, rate[2], limits.additions, rate[4], limits.decryptions, rate[6],
      limits.rerandomizations, kRerandomizeProducts, setup_s);
  std::fflush(stdout);
  return limits;
}

}  // namespace coterie::bench
