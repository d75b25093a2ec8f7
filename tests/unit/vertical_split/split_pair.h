// Both parties of a split network in one thread, and what they said.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "device_sdk/runtime/model.h"
#include "tests/support/matchers.h"
#include "vertical/split/cut_tensor.h"
#include "vertical/split/split_messages.h"
#include "vertical/split/split_network.h"
#include "vertical/split/train_split.h"

namespace coterie::vertical::test {

inline Secret<32> split_secret(uint8_t value) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = value;
  return seed;
}

struct SplitJob {
  SplitSettings settings;
  std::vector<std::vector<float>> label_columns, feature_columns;  // [column][row]
  std::vector<float> labels;

  SplitColumns columns(PartyIndex party) const {
    return *fit_columns(party == 0 ? label_columns : feature_columns, settings);
  }
  SplitInputs inputs(PartyIndex party) const {
    return *encode_columns(columns(party), party == 0 ? label_columns : feature_columns,
                           static_cast<uint32_t>(labels.size()));
  }
};

// Two columns each, of which the label depends on both parties'.
inline SplitJob small_job(SplitNetwork network, uint32_t rows = 60) {
  SplitJob job;
  job.settings = {.network = network,
                  .hidden = 4,
                  .cut = 3,
                  .top = 4,
                  .embedding = 2,
                  .buckets = 4,
                  .epochs = 2,
                  .batch = 8,
                  .commit_steps = 4};
  job.label_columns.resize(2);
  job.feature_columns.resize(2);
  for (uint32_t i = 0; i < rows; ++i) {
    const auto a = static_cast<float>(i * 7 % 11), b = static_cast<float>(i * 5 % 13);
    job.label_columns[0].push_back(a);
    job.label_columns[1].push_back(static_cast<float>(i % 3));
    job.feature_columns[0].push_back(b);
    job.feature_columns[1].push_back(static_cast<float>(i * 3 % 7));
    job.labels.push_back(a + b > 11 ? 1.0f : 0.0f);
  }
  return job;
}

class SplitPair {
 public:
  explicit SplitPair(const SplitJob& job, const std::array<SplitCheckpoint, 2>& from = {})
      : SplitPair(job.settings, {job.inputs(0), job.inputs(1)},
                  {*make_label_network(job.settings, job.columns(0).schema(), 1),
                   *make_feature_network(job.settings, job.columns(1).schema(), 2)},
                  job.labels, from) {}
  // With inputs and networks of the caller's own, the label party's first.
  SplitPair(const SplitSettings& settings, std::array<SplitInputs, 2> inputs, const std::array<Bytes, 2>& networks,
            const std::vector<float>& labels, const std::array<SplitCheckpoint, 2>& from = {}) {
    const auto run = [&](uint8_t party) {
      return SplitRun{.settings = settings, .order = {}, .seed = split_secret(party), .from = from[party]};
    };
    label_ = start_label_split(run(0), *Model::load(networks[0]), std::move(inputs[0]), labels);
    feature_ = start_feature_split(run(1), *Model::load(networks[1]), std::move(inputs[1]));
    EXPECT_TRUE(coterie::test::is_ok(label_));
    EXPECT_TRUE(coterie::test::is_ok(feature_));
  }

  // Until both are done, or `until` messages have passed.
  Status run(size_t until = SIZE_MAX) {
    for (bool moved = true; moved;) {
      moved = false;
      for (PartyIndex from = 2; from-- > 0;) {
        while (std::optional<Message> message = party(from).next()) {
          const PartyIndex to = message->peer;
          message->peer = from;
          said_.push_back(*message);
          if (Status status = party(to).receive(*message); !status) return status;
          if (auto checkpoint = party(to).take_checkpoint()) checkpoints_[to].push_back(std::move(*checkpoint));
          moved = true;
          if (said_.size() >= until) return {};
        }
      }
    }
    return {};
  }

  SplitTraining& party(PartyIndex index) { return index == 0 ? **label_ : **feature_; }
  const std::vector<SplitCheckpoint>& checkpoints(PartyIndex index) const { return checkpoints_[index]; }
  const std::vector<Message>& said() const { return said_; }  // `peer` says who

 private:
  Result<std::unique_ptr<SplitTraining>> label_ = Error(ErrorCode::internal, "");
  Result<std::unique_ptr<SplitTraining>> feature_ = Error(ErrorCode::internal, "");
  std::array<std::vector<SplitCheckpoint>, 2> checkpoints_;
  std::vector<Message> said_;
};

// The share of pairs of a 1 and a 0 in which the 1 scores above.
inline double auc_of(const std::vector<double>& scores, const std::vector<uint8_t>& labels) {
  double pairs = 0, right = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t k = 0; k < scores.size(); ++k) {
      if (labels[i] != 1 || labels[k] != 0) continue;
      ++pairs;
      right += scores[i] > scores[k] ? 1 : scores[i] == scores[k] ? 0.5 : 0;
    }
  }
  return right / pairs;
}

}  // namespace coterie::vertical::test
