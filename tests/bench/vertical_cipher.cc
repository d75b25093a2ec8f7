#include <openssl/bn.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/madd52_peak.h"
#include "tests/bench/vertical_bench.h"
#include "tests/bench/vertical_schemes.h"

namespace coterie::bench {
namespace {

constexpr int kTurns = 7;
constexpr size_t kTerms = 512;
// Tables of powers by digits of 8 bits, modulo the square of each prime (secure/he/half_powers.cc).
int encrypt_products(const CipherScheme& scheme) { return scheme.primes * ((scheme.prime_bits + 7) / 8 - 1); }
// Digits of 6 bits of an exponent of 2048 + 128 bits, half of 40 residues, the sum itself (residue_cipher.cc).
constexpr int kRerandomizeProducts = (2048 + 128 + 5) / 6 + 40 / 2;

// Multiply-adds of a kernel (secure/he/lane_kernel.h). Modulo p^2: 10 digits^2 a product, 8 a square. Exponents have
// digits of 5 bits (lane_power.h).
constexpr double lane_digits(int bits) { return (bits + 4 + 51) / 52; }
CipherLimits limits_by_madds(const CipherScheme& scheme, double madds) {
  const double of_ring = lane_digits(2048), of_prime = lane_digits(scheme.prime_bits);
  const double product = scheme.madds_of_digit_pairs * of_ring * of_ring;
  const double half_product = 10 * of_prime * of_prime, half_square = 8 * of_prime * of_prime;
  const double power_digits = (scheme.prime_bits + 4) / 5;
  return {
      .encryptions = madds / (scheme.primes * power_digits * half_product),
      .additions = madds / product,
      .decryptions = madds / (scheme.primes * (power_digits * (half_product + 5 * half_square) + 32 * half_product)),
      .rerandomizations = madds / (((2048 + 128 + 4) / 5 + 40 / 5) * product)};
}

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

CipherLimits measure_cipher(const CipherScheme& scheme, const he::LaneKernel* kernel) {
  const auto key = scheme.key(1, kernel);
  const auto cipher = scheme.cipher(key->public_key(), seed_of(2), kernel);
  const size_t bytes = cipher->ciphertext_bytes();
  std::vector<uint8_t> encrypted(kTerms * bytes);
  std::vector<PlainNumber> numbers;
  for (size_t i = 0; i < kTerms; ++i) numbers.push_back({i, 0});
  key->encrypt_each(numbers, encrypted);
  const std::vector<CiphertextPtr> terms = value_of(cipher->read(encrypted));
  double begin = thread_cpu_seconds();
  cipher->rerandomize(*cipher->zero());  // the first one draws tables
  const double setup_s = thread_cpu_seconds() - begin;

  // As histograms have them: lists of terms all over the table.
  constexpr size_t kLists = 32, kAdditions = 30'000;
  std::vector<CiphertextList> lists(kLists);
  for (size_t i = 0; i < kAdditions + kLists; ++i) lists[i % kLists].push_back(terms[i * i % kTerms].get());
  std::vector<Ciphertext*> some;
  for (size_t i = 0; i < 96; ++i) some.push_back(terms[i].get());
  const std::span<uint8_t> first_bytes = std::span(encrypted).first(96 * bytes);

  OpenSsl sums(scheme.ring_bits, 2048), halves(2 * scheme.prime_bits, scheme.prime_bits);
  const int products = encrypt_products(scheme);
  const auto rate = rates({
      {1, [&] { key->encrypt_each(std::span(numbers).first(96), first_bytes); }},
      {300 * products, [&] { halves.multiply(); }},
      {1, [&] { cipher->sums(lists); }},
      {30'000, [&] { sums.multiply(); }},
      {1, [&] { value_of(key->decrypt(first_bytes)); }},
      {200, [&] { halves.power(); }},
      {1, [&] { cipher->rerandomize_each(some); }},
      {1, [&] { cipher->shift_left_each(some, 100); }},
  });
  const CipherLimits by_openssl{.encryptions = rate[1] / products,
                                .additions = rate[3],
                                .decryptions = rate[5] / scheme.primes,
                                .rerandomizations = rate[3] / kRerandomizeProducts};
  const CipherLimits limits = kernel == nullptr ? by_openssl : limits_by_madds(scheme, madd52_peak());
  const std::string name(kernel == nullptr ? "libcrypto" : kernel->name);
  std::printf(
      "{\"bench\":\"cipher\",\"scheme\":\"%s\",\"ring_bits\":%d,\"half_bits\":%d,\"powers\":%d,"
      "\"kernel\":\"%s\",\"encryptions_per_s\":%.0f,\"encryptions_limit\":%.0f,"
      "\"encryptions_openssl\":%.0f,\"encrypt_products\":%d,\"additions_per_s\":%.0f,\"additions_limit\":%.0f,"
      "\"additions_openssl\":%.0f,\"decryptions_per_s\":%.0f,\"decryptions_limit\":%.0f,\"decryptions_openssl\":%.0f,"
      "\"rerandomizations_per_s\":%.0f,\"rerandomizations_limit\":%.0f,\"rerandomizations_openssl\":%.0f,"
      "\"rerandomize_products\":%d,\"rerandomize_setup_s\":%.2f,\"doublings_per_s\":%.0f}\n",
      scheme.name, scheme.ring_bits, 2 * scheme.prime_bits, scheme.primes, name.c_str(), 96 * rate[0],
      limits.encryptions, by_openssl.encryptions, products, kAdditions * rate[2], limits.additions,
      by_openssl.additions, 96 * rate[4], limits.decryptions, by_openssl.decryptions, 96 * rate[6],
      limits.rerandomizations, by_openssl.rerandomizations, kRerandomizeProducts, setup_s, 9600 * rate[7]);
  std::fflush(stdout);
  return limits;
}

}  // namespace coterie::bench
