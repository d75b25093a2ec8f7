// OracleFederation: rounds of a job's arithmetic as it ships, on devices whose data a reference simulator had too. A
// Trainer trains, make_update says what leaves a device, RingSum adds, the strategy's row moves the model.
//
// Around that is what the references have and a job has not: examples in stored order, epochs of each device's own, and
// weights of examples with a strategy that a job would refuse them for.
#pragma once

#include <map>
#include <vector>

#include "aggregation/strategy/strategy_settings.h"
#include "device_sdk/runtime/example_source.h"
#include "device_sdk/runtime/model.h"
#include "proto/messages/plan.h"
#include "tools/simulate/device_states.h"

namespace coterie::test {

// Examples in memory; whatever is asked for, the next in stored order is read. Not what ExampleSource promises, and
// what a Trainer that shuffles needs to train as one that does not.
class StoredOrder final : public ExampleSource {
 public:
  struct Row {
    std::vector<float> features;
    float target = 0;
    int32_t label = -1;  // from 0: the target is this and no number
  };
  explicit StoredOrder(std::vector<Row> rows) : rows_(std::move(rows)) {}
  uint64_t size() const override { return rows_.size(); }
  Status read(uint64_t index, const Example& to) override;

 private:
  std::vector<Row> rows_;
  size_t next_ = 0;
};

// What a device weighs in the mean of a round.
enum class Weights { uniform, examples };

struct OracleDevice {
  std::vector<StoredOrder::Row> rows;
  uint32_t weight = 1;
  uint32_t epochs = 1;
  uint32_t group = 0;  // with afl, from 1
};

class OracleFederation {
 public:
  // `training`: what all devices have in common, local_epochs aside. The first model is `model`, all zeros.
  OracleFederation(const Model& model, TrainingSettings training, StrategySettings strategy,
                   std::vector<OracleDevice> devices);

  // A round of these devices.
  void round(const std::vector<uint32_t>& devices);
  void round_of_all();
  // Buffered rounds: device `from` an older version of the model, which counts from 0, joins the round under way, and
  // close() makes the next version.
  void join(uint32_t device, size_t version, const StalenessRules& staleness);
  void close();

  const std::vector<float>& weights() const { return versions_.back(); }
  size_t version() const { return versions_.size() - 1; }
  // A strategy's vectors before the first round: zeros unless this says otherwise.
  void start_state(size_t vector, float value);
  // One of them, as it is now.
  const std::vector<float>& state(size_t vector) const { return carried_.at(vector); }

 private:
  std::vector<float> update_of(uint32_t device, size_t version);
  float begin_round(std::span<const float> means, uint64_t weights);

  Model model_;
  Plan plan_;
  StrategySettings strategy_;
  std::vector<OracleDevice> devices_;
  DeviceStates states_;
  std::vector<std::vector<float>> versions_, carried_;
  std::vector<std::pair<uint32_t, std::vector<float>>> joined_;  // weight, update
};

}  // namespace coterie::test
