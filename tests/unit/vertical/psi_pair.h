// Two parties of a matching in one process, and what passed between them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vertical/psi/matching.h"

namespace coterie::test {

using vertical::Matching;
using vertical::Message;

struct Passed {
  int from = 0;  // 0: the label party
  Message message;
};

inline Secret<32> psi_seed(uint8_t fill) {
  Secret<32> seed;
  std::ranges::fill(seed.mutable_bytes(), fill);
  return seed;
}

inline vertical::PsiSettings psi_settings(uint64_t bucket_items = 1 << 16) {
  vertical::PsiSettings settings;
  settings.salt.fill(7);
  settings.bucket_items = bucket_items;
  settings.intersection_min = 0;
  return settings;
}

struct PsiPair {
  std::unique_ptr<Matching> label, feature;
  std::vector<Passed> transcript;
  std::array<std::vector<vertical::MatchedBuckets>, 2> checkpoints;  // the label party's first

  PsiPair(std::vector<std::string> x, std::vector<std::string> y, const vertical::PsiSettings& settings,
          std::array<vertical::MatchedBuckets, 2> from = {}) {
    auto ids = [](std::vector<std::string> list) {
      return std::move(*vertical::IdSet::make(std::move(list), vertical::Duplicates::refuse));
    };
    label = std::move(*vertical::start_label_matching(ids(std::move(x)), settings, 1, psi_seed(1), std::move(from[0])));
    feature =
        std::move(*vertical::start_feature_matching(ids(std::move(y)), settings, 0, psi_seed(2), std::move(from[1])));
  }

  // Until both are done, or one errs, or `messages_max` have passed.
  Status run(size_t messages_max = SIZE_MAX) {
    const std::array<Matching*, 2> party{label.get(), feature.get()};
    while (!(label->done() && feature->done())) {
      bool moved = false;
      for (int from = 0; from < 2; ++from) {
        while (transcript.size() < messages_max) {
          std::optional<Message> message = party[static_cast<size_t>(from)]->next();
          if (!message) break;
          moved = true;
          message->peer = static_cast<vertical::PartyIndex>(from);
          transcript.push_back({from, *message});
          COT_TRY(party[static_cast<size_t>(1 - from)]->receive(*message));
          if (auto checkpoint = party[static_cast<size_t>(1 - from)]->take_checkpoint()) {
            checkpoints[static_cast<size_t>(1 - from)].push_back(std::move(*checkpoint));
          }
        }
      }
      if (transcript.size() >= messages_max) return {};
      if (!moved) return Error(ErrorCode::internal, "both wait");
    }
    return {};
  }
};

// The ids that both parties say they share, in their common order.
inline std::vector<std::string> shared_ids(const PsiPair& pair, const std::vector<std::string>& x,
                                           const std::vector<std::string>& y) {
  std::vector<std::string> shared;
  const auto &a = pair.label->matched_rows(), &b = pair.feature->matched_rows();
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(x[a[i]], y[b[i]]);
    shared.push_back(x[a[i]]);
  }
  std::ranges::sort(shared);
  return shared;
}

// "u00000000" and so on, each `step`-th.
inline std::vector<std::string> numbered_ids(uint32_t count, uint32_t step = 1) {
  std::vector<std::string> ids;
  for (uint32_t i = 0; i < count; ++i) {
    std::string digits = std::to_string(i * step);
    ids.push_back("u" + std::string(8 - std::min<size_t>(8, digits.size()), '0') + digits);
  }
  return ids;
}

}  // namespace coterie::test
