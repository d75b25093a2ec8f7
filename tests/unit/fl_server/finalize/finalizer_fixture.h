// A frozen round in memory: a job, a base model, and updates in as many partial sums as a test wants.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "base/random.h"
#include "fl_server/finalize/finalizer.h"
#include "fl_server/finalize/round_noise.h"
#include "proto/codec/codec.h"
#include "scheduler/job/model_rules.h"
#include "tests/support/matchers.h"
#include "tests/support/memory_blob_store.h"
#include "tests/support/memory_training_store.h"
#include "tests/support/plain_model.h"

namespace coterie::test {

struct TestUpdate {
  std::vector<float> values;
  uint32_t weight = 1;
};

inline std::vector<float> some_values(uint64_t seed, size_t count, double bound) {
  Prng prng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.uniform(-bound, bound));
  return values;
}

template <typename T>
ByteView bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}
template <typename T>
std::vector<T> values_of(ByteView bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// The masks of a round whose only session has these.
inline std::vector<MaskSum> masks_of_one(MaskSum masks) {
  std::vector<MaskSum> all;
  all.push_back(std::move(masks));
  return all;
}

class FrozenRound {
 public:
  FrozenRound(
      const StrategySettings& strategy, const std::vector<float>& weights,
      const std::function<void(HorizontalSettings&)>& change = [](HorizontalSettings&) {})
      : FrozenRound(strategy, plain_model(weights), change) {}
  FrozenRound(
      const StrategySettings& strategy, const Bytes& model,
      const std::function<void(HorizontalSettings&)>& change = [](HorizontalSettings&) {})
      : value_count_(parse_frame(model)->payload.size() / sizeof(float)) {
    job_.id = JobId("j1");
    job_.spec.common.name = "test";
    HorizontalSettings& settings = job_.spec.horizontal();
    settings.strategy = strategy;
    settings.rounds.count = 100;
    settings.privacy.level = SecurityLevel::none;
    change(settings);
    job_.value_count = value_count_;
    const auto values = coterie::values_of(settings, decode_model(model)->header, value_count_);
    job_.trained_value_count = values ? values->trained : 0;  // some of these models have nothing to train
    base_.job = job_.id;
    base_.digest = *blobs_.put(model);
    base_.bytes = model.size();
    EXPECT_OK(rounds_.create_job(job_, base_));
    open();
  }

  FixedPointSpec fixed_point() const {
    return plan_of(job_.spec.horizontal(), job_.id, job_.values()).update.fixed_point;
  }
  // The model's, or those that are trained, and a clip bit if the job has one.
  size_t update_values() const { return plan_of(job_.spec.horizontal(), job_.id, job_.values()).update.value_count; }
  PartialSumHeader header_of(const std::string& id, const std::vector<TestUpdate>& updates) const {
    uint64_t weight = 0;
    for (const TestUpdate& update : updates) weight += update.weight;
    return {round_.key, id, static_cast<uint32_t>(updates.size()), weight, update_values()};
  }
  // Nothing but the definition: round_half_even(value * weight * 2^fraction_bits), summed modulo 2^64. A second part
  // that an update does not name is zero.
  std::vector<uint64_t> lanes_of(const std::vector<TestUpdate>& updates) const {
    std::vector<uint64_t> lanes(update_values());
    const int fraction_bits = static_cast<int>(fixed_point().fraction_bits);  // of the whole plan: not value by value
    for (const TestUpdate& update : updates) {
      EXPECT_TRUE(update.values.size() == lanes.size() || update.values.size() == value_count_);
      for (size_t i = 0; i < update.values.size(); ++i) {
        const double exact = std::ldexp(static_cast<double>(update.values[i]) * update.weight, fraction_bits);
        lanes[i] += static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(exact)));
      }
    }
    return lanes;
  }
  Digest put_partial(const PartialSumHeader& header, const std::vector<uint64_t>& lanes) {
    Bytes frame = encode_head(header);
    const ByteView payload = bytes_of(lanes);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return *partials_.put(frame);
  }
  // The store's side of it: `devices` rows, all of their own.
  void accept(const PartialSumHeader& header, const Digest& blob, size_t devices) {
    std::vector<AcceptRow> rows(devices);
    for (AcceptRow& row : rows) {
      const uint64_t number = next_device_++;
      std::memcpy(row.device.bytes.data(), &number, sizeof number);
    }
    RoundTotals totals;
    totals.updates = header.updates;
    totals.weight = header.weight_sum;
    totals.examples = 10 * header.weight_sum;
    const PartialRecord record{header.partial, round_.key, totals, blob};
    ASSERT_TRUE(std::holds_alternative<BatchDone>(rounds_.accept_batch(record, rows)));
  }
  Digest add_partial(const std::string& id, const std::vector<TestUpdate>& updates) {
    const PartialSumHeader header = header_of(id, updates);
    const Digest blob = put_partial(header, lanes_of(updates));
    accept(header, blob, updates.size());
    return blob;
  }

  Result<FinalizedRound> finalize(EvaluateModel evaluate = {}) {
    return Finalizer(rounds_, rounds_, blobs_, partials_, noise_, std::move(evaluate))
        .finalize(job_, round_, base_, wall_time_from_unix_ms(7));
  }
  // Commits the outcome and goes on with the next round on top of it.
  void commit(const FinalizedRound& finalized) {
    move(RoundState::frozen);
    commit_frozen(finalized);
  }
  void commit_frozen(const FinalizedRound& finalized) {
    move(RoundState::finalizing);
    ASSERT_OK(rounds_.commit_round(job_.id, CommitRound{finalized, round_.number, false, false}, WallTime()));
    base_ = finalized.model;
    open();
  }
  std::vector<float> weights_of(const ModelRecord& model) {
    return values_of<float>(parse_frame(blobs_.bytes_of(model.digest), FrameKind::model).value().payload);
  }

  // As RoundMachine does when finalizing came to nothing for good; then the next attempt collects.
  void try_again_after(const Error& error) {
    move(RoundState::finalizing);
    MoveRound failed{round_.key, RoundState::finalizing, RoundState::failed, error.message(), 0};
    failed.voids_release = error.code() == ErrorCode::data_loss;
    ASSERT_TRUE(rounds_.move_round(failed, WallTime()).value());
    open(Attempt(round_.key.attempt.value() + 1));
  }

  void move(RoundState to) {
    EXPECT_TRUE(rounds_.move_round({round_.key, round_.state, to, "", 0}, WallTime()).value());
    round_.state = to;
  }

  JobRecord job_;
  ModelRecord base_;
  RoundRecord round_;
  MemoryTrainingStore rounds_;
  MemoryBlobStore blobs_, partials_;
  MacKey noise_key_;
  RoundNoiseMaker noise_{noise_key_};

 private:
  void open(Attempt attempt = Attempt(1)) {
    const uint64_t number = base_.version.value() + 1;
    const auto opened = rounds_.open_round(job_.id, OpenRound{number, std::nullopt, attempt, base_}, WallTime());
    ASSERT_OK(opened);
    round_ = *opened;
    move(RoundState::collecting);
  }

  size_t value_count_;
  uint64_t next_device_ = 1;
};

}  // namespace coterie::test
