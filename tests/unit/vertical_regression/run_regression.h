// Both parties of a regression and their dealer in one thread, and what the parties said; and the same regression in
// double precision on one table.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "vertical/regression/dealing.h"
#include "vertical/regression/train_regression.h"

namespace coterie::vertical::test {

struct Job {
  RegressionColumns label_columns, feature_columns;
  std::vector<float> labels;
  RegressionSettings settings;

  RegressionShape shape() const {
    return {.rows = static_cast<uint32_t>(labels.size()),
            .label_columns = static_cast<uint32_t>(label_columns.size() + 1),
            .feature_columns = static_cast<uint32_t>(feature_columns.size()),
            .batch = settings.batch,
            .epochs = settings.epochs};
  }
};

inline Secret<32> seed_of(uint8_t value) {
  Secret<32> seed;
  seed.mutable_bytes()[0] = value;
  return seed;
}

class RegressionRun {
 public:
  // `from`: both parties' checkpoints of one step.
  explicit RegressionRun(const Job& job, uint8_t seed = 1, const std::array<RegressionCheckpoint, 2>& from = {}) {
    parties_[0] = std::move(*start_label_regression(job.shape(), job.settings, job.label_columns, job.labels, from[0]));
    parties_[1] = std::move(*start_feature_regression(job.shape(), job.settings, job.feature_columns, from[1]));
    for (PartyIndex to = 0; to < 2; ++to) {
      dealings_.push_back(
          *Dealing::make(job.shape(), to, seed_of(seed), seed_of(static_cast<uint8_t>(seed + 100)), from[0].steps));
    }
  }

  // Until both are done, or `until` messages of parties have passed.
  Status run(size_t until = SIZE_MAX) {
    for (bool moved = true; moved;) {
      moved = false;
      for (PartyIndex from = 0; from < 2; ++from) {
        while (std::optional<Message> message = parties_[from]->next()) {
          const PartyIndex to = message->peer;
          message->peer = from;
          said_.push_back(*message);
          if (Status status = parties_[to]->receive(*message); !status) return status;
          if (auto checkpoint = parties_[to]->take_checkpoint()) checkpoints_[to].push_back(std::move(*checkpoint));
          moved = true;
          if (said_.size() >= until) return {};
        }
        while (!parties_[from]->done() && parties_[from]->awaits() == kDealer) {
          std::optional<Message> message = dealings_[from].next();
          if (!message) return Error(ErrorCode::internal, "the dealer has dealt too little");
          message->peer = kDealer;
          dealt_.push_back(*message);
          if (Status status = parties_[from]->receive(*message); !status) return status;
          moved = true;
        }
      }
    }
    return {};
  }

  RegressionTraining& party(PartyIndex index) { return *parties_[index]; }
  Dealing& dealing(PartyIndex index) { return dealings_[index]; }
  const std::vector<RegressionCheckpoint>& checkpoints(PartyIndex index) const { return checkpoints_[index]; }
  const std::vector<Message>& said() const { return said_; }    // `peer` says who
  const std::vector<Message>& dealt() const { return dealt_; }  // to both

 private:
  std::array<std::unique_ptr<RegressionTraining>, 2> parties_;
  std::vector<Dealing> dealings_;
  std::array<std::vector<RegressionCheckpoint>, 2> checkpoints_;
  std::vector<Message> said_, dealt_;
};

// Weights of all columns, the label party's first, then the intercept.
inline std::vector<double> weights_of(const RegressionModel& label, const RegressionModel& feature) {
  std::vector<double> weights;
  for (const RegressionModel* model : {&label, &feature}) {
    for (const WeightedColumn& column : model->columns) weights.push_back(column.weight);
  }
  weights.push_back(label.intercept);
  return weights;
}

// The same steps with the exact sigmoid and all columns in one place.
inline std::vector<double> plain_weights(const Job& job) {
  RegressionColumns columns = job.label_columns;
  columns.insert(columns.end(), job.feature_columns.begin(), job.feature_columns.end());
  const RegressionModel scales = scale_columns(columns);
  const size_t width = columns.size();
  std::vector<double> weights(width + 1);
  const RingPlan plan(job.shape());
  for (uint32_t step = 0; step < plan.steps(); ++step) {
    std::vector<double> gradient(width + 1);
    const uint32_t rows = plan.rows_of(step);
    for (uint32_t row = plan.first_row(step); row < plan.first_row(step) + rows; ++row) {
      double margin = weights[width];
      for (size_t c = 0; c < width; ++c) margin += weights[c] * standardised(scales.columns[c], columns[c][row]);
      const double residual = (sigmoid(margin) - double{job.labels[row]}) / rows;
      for (size_t c = 0; c < width; ++c) gradient[c] += residual * standardised(scales.columns[c], columns[c][row]);
      gradient[width] += residual;
    }
    for (size_t c = 0; c < width; ++c) gradient[c] += job.settings.lambda * weights[c];
    for (size_t c = 0; c <= width; ++c) weights[c] -= job.settings.rate * gradient[c];
  }
  return weights;
}

}  // namespace coterie::vertical::test
