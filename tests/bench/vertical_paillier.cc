#include <openssl/bn.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "secure/he/paillier_key.h"
#include "tests/bench/madd52_peak.h"
#include "tests/bench/vertical_bench.h"

namespace coterie::bench {
namespace {

constexpr int kTurns = 7;
constexpr size_t kTerms = 512;
// Tables of powers by digits of 8 bits, of two exponents of 1,024 bits (secure/he/paillier_holder.cc).
constexpr int kEncryptProducts = 2 * (1024 / 8 - 1);
// Digits of 6 bits of an exponent of 2048 + 128 bits, half of 40 residues, the sum itself (paillier_cipher.cc).
constexpr int kRerandomizeProducts = (2048 + 128 + 5) / 6 + 40 / 2;

// Multiply-adds of a kernel (secure/he/lane_kernel.h): 10 digits^2 a product, 8 a square; 40 digits modulo n^2, 20
// modulo p^2. Exponents have digits of 5 bits (lane_power.h).
constexpr double kProduct = 10.0 * 40 * 40, kHalfProduct = 10.0 * 20 * 20, kHalfSquare = 8.0 * 20 * 20;
constexpr double kPowerDigits = (1024 + 4) / 5;
constexpr double kEncryptMadds = 2 * kPowerDigits * kHalfProduct;
constexpr double kDecryptMadds = 2 * (kPowerDigits * (kHalfProduct + 5 * kHalfSquare) + 32 * kHalfProduct);
constexpr double kRerandomizeMadds = ((2048 + 128 + 4) / 5 + 40 / 5) * kProduct;

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

PaillierLimits measure_paillier(const he::LaneKernel* kernel) {
  he::PaillierKey primes = he::generate_paillier_key(2048, seed_of(1));
  const auto cipher = he::paillier_cipher_of(he::copy_of(primes.n), seed_of(2), kernel);
  const auto key = he::paillier_key_of(std::move(primes), seed_of(1), kernel);
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

  OpenSsl sums(4096, 2048), halves(2048, 1024);
  const auto rate = rates({
      {1, [&] { key->encrypt_each(std::span(numbers).first(96), first_bytes); }},
      {300 * kEncryptProducts, [&] { halves.multiply(); }},
      {1, [&] { cipher->sums(lists); }},
      {30'000, [&] { sums.multiply(); }},
      {1, [&] { value_of(key->decrypt(first_bytes)); }},
      {200, [&] { halves.power(); }},
      {1, [&] { cipher->rerandomize_each(some); }},
      {1, [&] { cipher->shift_left_each(some, 100); }},
  });
  const PaillierLimits by_openssl{.encryptions = rate[1] / kEncryptProducts,
                                  .additions = rate[3],
                                  .decryptions = rate[5] / 2,
                                  .rerandomizations = rate[3] / kRerandomizeProducts};
  const double madds = madd52_peak();
  const PaillierLimits by_madds{.encryptions = madds / kEncryptMadds,
                                .additions = madds / kProduct,
                                .decryptions = madds / kDecryptMadds,
                                .rerandomizations = madds / kRerandomizeMadds};
  const PaillierLimits& limits = kernel == nullptr ? by_openssl : by_madds;
  const std::string name(kernel == nullptr ? "libcrypto" : kernel->name);
  std::printf(
      "{\"bench\":\"paillier\",\"bits\":2048,\"kernel\":\"%s\",\"encryptions_per_s\":%.0f,\"encryptions_limit\":%.0f,"
      "\"encryptions_openssl\":%.0f,\"encrypt_products\":%d,\"additions_per_s\":%.0f,\"additions_limit\":%.0f,"
      "\"additions_openssl\":%.0f,\"decryptions_per_s\":%.0f,\"decryptions_limit\":%.0f,\"decryptions_openssl\":%.0f,"
      "\"rerandomizations_per_s\":%.0f,\"rerandomizations_limit\":%.0f,\"rerandomizations_openssl\":%.0f,"
      "\"rerandomize_products\":%d,\"rerandomize_setup_s\":%.2f,\"doublings_per_s\":%.0f}\n",
      name.c_str(), 96 * rate[0], limits.encryptions, by_openssl.encryptions, kEncryptProducts, kAdditions * rate[2],
      limits.additions, by_openssl.additions, 96 * rate[4], limits.decryptions, by_openssl.decryptions, 96 * rate[6],
      limits.rerandomizations, by_openssl.rerandomizations, kRerandomizeProducts, setup_s, 9600 * rate[7]);
  std::fflush(stdout);
  return limits;
}

}  // namespace coterie::bench
