#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/vertical_bench.h"
#include "tests/bench/vertical_schemes.h"
#include "vertical/trees/train_trees.h"

namespace coterie::bench {
namespace {

using namespace coterie::vertical;

constexpr uint32_t kBins = 32, kDepth = 3;

// How often a training asks its cipher for what costs.
struct Operations {
  size_t encryptions = 0, additions = 0, decryptions = 0, rerandomizations = 0;
};
// A CipherMaker is a function without state.
Operations operations;
const CipherScheme* scheme_of_ciphers = nullptr;
const he::LaneKernel* kernel_of_ciphers = nullptr;

class CountedKey : public AdditiveKey {
 public:
  explicit CountedKey(std::unique_ptr<AdditiveKey> key) : key_(std::move(key)) {}
  size_t ciphertext_bytes() const override { return key_->ciphertext_bytes(); }
  size_t plaintext_bits() const override { return key_->plaintext_bits(); }
  Bytes public_key() const override { return key_->public_key(); }
  void encrypt(const PlainNumber& number, std::span<uint8_t> out) override {
    ++operations.encryptions;
    key_->encrypt(number, out);
  }
  void encrypt_each(std::span<const PlainNumber> numbers, std::span<uint8_t> out) override {
    operations.encryptions += numbers.size();
    key_->encrypt_each(numbers, out);
  }
  Result<std::vector<PlainNumber>> decrypt(ByteView ciphertexts) const override {
    operations.decryptions += ciphertexts.size() / ciphertext_bytes();
    return key_->decrypt(ciphertexts);
  }

 private:
  std::unique_ptr<AdditiveKey> key_;
};

class CountedCipher : public AdditiveCipher {
 public:
  explicit CountedCipher(std::unique_ptr<AdditiveCipher> cipher) : cipher_(std::move(cipher)) {}
  size_t ciphertext_bytes() const override { return cipher_->ciphertext_bytes(); }
  size_t plaintext_bits() const override { return cipher_->plaintext_bits(); }
  Result<std::vector<CiphertextPtr>> read(ByteView ciphertexts) const override { return cipher_->read(ciphertexts); }
  void write(const Ciphertext& ciphertext, std::span<uint8_t> out) const override { cipher_->write(ciphertext, out); }
  CiphertextPtr zero() const override { return cipher_->zero(); }
  CiphertextPtr copy(const Ciphertext& ciphertext) const override { return cipher_->copy(ciphertext); }
  void add(Ciphertext& sum, const Ciphertext& term) const override {
    ++operations.additions;
    cipher_->add(sum, term);
  }
  void add_number(Ciphertext& sum, const PlainNumber& number) const override { cipher_->add_number(sum, number); }
  void shift_left(Ciphertext& ciphertext, size_t bits) const override {
    operations.additions += bits;  // each bit adds the ciphertext to itself
    cipher_->shift_left(ciphertext, bits);
  }
  void rerandomize(Ciphertext& ciphertext) override {
    ++operations.rerandomizations;
    cipher_->rerandomize(ciphertext);
  }
  std::vector<CiphertextPtr> sums(std::span<const CiphertextList> lists) const override {
    for (const CiphertextList& list : lists) operations.additions += list.empty() ? 0 : list.size() - 1;
    return cipher_->sums(lists);
  }
  void add_each(std::span<const CiphertextAddition> additions) const override {
    operations.additions += additions.size();
    cipher_->add_each(additions);
  }
  void shift_left_each(std::span<Ciphertext* const> ciphertexts, size_t bits) const override {
    operations.additions += bits * ciphertexts.size();
    cipher_->shift_left_each(ciphertexts, bits);
  }
  void rerandomize_each(std::span<Ciphertext* const> ciphertexts) override {
    operations.rerandomizations += ciphertexts.size();
    cipher_->rerandomize_each(ciphertexts);
  }

 private:
  std::unique_ptr<AdditiveCipher> cipher_;
};

Result<std::unique_ptr<AdditiveCipher>> counted_cipher(ByteView public_key, Secret<32> seed) {
  auto cipher = scheme_of_ciphers->cipher(public_key, std::move(seed), kernel_of_ciphers);
  return std::unique_ptr<AdditiveCipher>(std::make_unique<CountedCipher>(std::move(cipher)));
}

struct Table {
  std::vector<std::vector<float>> columns;  // the label party's first
  std::vector<float> labels;                // a logistic model's of all columns
};

Table make_table(const TreeTable& size) {
  Prng prng(5);
  Table table;
  std::vector<double> margins(size.rows, 0.0);
  for (uint32_t column = 0; column < size.label_columns + size.feature_columns; ++column) {
    const double weight = 2 * prng.uniform() - 1;
    auto& values = table.columns.emplace_back();
    for (double& margin : margins) {
      values.push_back(static_cast<float>(2 * prng.uniform() - 1));
      margin += weight * static_cast<double>(values.back());
    }
  }
  for (const double margin : margins) table.labels.push_back(prng.uniform() < 1 / (1 + std::exp(-margin)) ? 1 : 0);
  return table;
}

BinnedColumns binned(const Table& table, size_t first, size_t count) {
  const auto begin = table.columns.begin() + static_cast<ptrdiff_t>(first);
  return value_of(bin_columns({begin, begin + static_cast<ptrdiff_t>(count)}, kBins));
}

}  // namespace

void measure_tree(const CipherScheme& scheme, const CipherLimits& limits, const he::LaneKernel* kernel,
                  const TreeTable& size) {
  operations = {};
  scheme_of_ciphers = &scheme;
  kernel_of_ciphers = kernel;
  const Table table = make_table(size);
  TreeSettings settings;
  settings.rounds = 1;
  settings.depth = kDepth;

  auto key = std::make_unique<CountedKey>(scheme.key(3, kernel));
  std::array<PartyWork, 2> work;
  double begin = thread_cpu_seconds();
  const auto label =
      value_of(LabelTraining::start(binned(table, 0, size.label_columns), table.labels, settings, {1}, std::move(key)));
  work[0].cpu_s = thread_cpu_seconds() - begin;
  begin = thread_cpu_seconds();
  const auto feature = value_of(FeatureTraining::start(binned(table, size.label_columns, size.feature_columns),
                                                       settings, seed_of(4), counted_cipher));
  work[1].cpu_s = thread_cpu_seconds() - begin;
  run_pair({label.get(), feature.get()}, work);

  auto unused_key = scheme.key(3, kernel);
  begin = thread_cpu_seconds();
  const auto pooled = value_of(
      LabelTraining::start(binned(table, 0, table.columns.size()), table.labels, settings, {}, std::move(unused_key)));
  const double pooled_s = thread_cpu_seconds() - begin;
  if (!pooled->done()) std::abort();

  const auto seconds = [](size_t count, double rate) { return static_cast<double>(count) / rate; };
  const double label_limit_s =
      seconds(operations.encryptions, limits.encryptions) + seconds(operations.decryptions, limits.decryptions);
  const double feature_limit_s =
      seconds(operations.additions, limits.additions) + seconds(operations.rerandomizations, limits.rerandomizations);
  std::printf(
      "{\"bench\":\"vertical_tree\",\"scheme\":\"%s\",\"kernel\":\"%s\",\"rows\":%u,\"label_columns\":%u,\"feature_"
      "columns\":%u,\"bins\":"
      "%u,\"depth\":%u,"
      "\"label_s\":%.2f,\"feature_s\":%.2f,\"label_limit_s\":%.2f,\"feature_limit_s\":%.2f,\"pooled_s\":%.4f,"
      "\"label_sent_mb\":%.3f,\"feature_sent_mb\":%.3f,\"encryptions\":%zu,\"additions\":%zu,\"decryptions\":%zu,"
      "\"rerandomizations\":%zu}\n",
      scheme.name, kernel == nullptr ? "libcrypto" : std::string(kernel->name).c_str(), size.rows, size.label_columns,
      size.feature_columns, kBins, kDepth, work[0].cpu_s, work[1].cpu_s, label_limit_s, feature_limit_s, pooled_s,
      work[0].sent_bytes / 1e6, work[1].sent_bytes / 1e6, operations.encryptions, operations.additions,
      operations.decryptions, operations.rerandomizations);
}

}  // namespace coterie::bench
