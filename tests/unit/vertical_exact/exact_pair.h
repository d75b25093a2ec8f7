// Both parties of a small exact regression, with keys too short for anything else, and what they say.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/random.h"
#include "secure/he/paillier_key.h"
#include "tests/support/matchers.h"
#include "vertical/exact/train_exact.h"

namespace coterie::vertical::test {

constexpr uint32_t kExactRows = 240;

inline Secret<32> exact_seed(uint8_t first) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = first;
  return seed;
}

// paillier_cipher() of a key that is too short for it.
inline Result<std::unique_ptr<AdditiveCipher>> test_cipher(ByteView key, Secret<32> seed) {
  if (key.size() * 8 != he::kTestKeyBits) return Error(ErrorCode::invalid_argument, "a key of another length");
  return he::paillier_cipher_of(he::big_from(key), std::move(seed));
}

struct ExactJob {
  ExactJob() {
    Prng prng(7);
    for (uint32_t i = 0; i < kExactRows; ++i) {
      const double a = prng.uniform(), b = prng.uniform(), c = prng.uniform();
      label[0].push_back(static_cast<float>(a));
      feature[0].push_back(static_cast<float>(b));
      feature[1].push_back(i % 50 == 3 ? NAN : static_cast<float>(c));
      labels.push_back(2 * a - b + c > 1 ? 1.0f : 0.0f);
    }
  }
  RegressionSettings settings{.epochs = 5, .batch = 120, .rate = 0.4};
  std::vector<std::vector<float>> label{1}, feature{2};
  std::vector<float> labels;
};

class ExactPair {
 public:
  ExactPair(const ExactJob& job, uint8_t seed, const std::array<ExactCheckpoint, 2>& from = {}) {
    auto key = he::paillier_key_of(he::generate_paillier_key(he::kTestKeyBits, exact_seed(seed)), exact_seed(seed));
    auto label = start_label_exact({.settings = job.settings, .rows = kExactRows, .from = from[0]}, job.label,
                                   job.labels, std::move(key));
    auto feature = start_feature_exact({.settings = job.settings, .rows = kExactRows, .from = from[1]}, job.feature,
                                       exact_seed(seed), test_cipher);
    EXPECT_OK(label);
    EXPECT_OK(feature);
    party = {std::move(*label), std::move(*feature)};
  }

  template <typename Change>
  Status run(Change change) {
    for (bool moved = true; moved;) {
      moved = false;
      for (PartyIndex from = 0; from < 2; ++from) {
        while (std::optional<Message> message = party[from]->next()) {
          const PartyIndex to = message->peer;
          message->peer = from;
          change(*message);
          said.push_back(*message);
          COT_TRY(party[to]->receive(*message));
          if (auto checkpoint = party[to]->take_checkpoint()) checkpoints[to].push_back(std::move(*checkpoint));
          moved = true;
        }
      }
    }
    return {};
  }
  Status run() {
    return run([](Message&) {});
  }

  std::array<std::unique_ptr<ExactTraining>, 2> party;
  std::array<std::vector<ExactCheckpoint>, 2> checkpoints;
  std::vector<Message> said;  // `peer` says who
};

}  // namespace coterie::vertical::test
