#include "tests/unit/tools/oracle/oracle_federation.h"

#include <numeric>

#include "aggregation/accumulate/ring_sum.h"
#include "device_sdk/agent/drift_state.h"
#include "device_sdk/agent/given_pass.h"
#include "device_sdk/agent/make_update.h"
#include "device_sdk/runtime/trainer.h"
#include "proto/ring/ring_vector.h"
#include "scheduler/job/horizontal_settings.h"
#include "tests/support/matchers.h"

namespace coterie::test {
namespace {

constexpr uint32_t kUpdatesMax = 16, kWeightsMax = 256;

}  // namespace

Status StoredOrder::read(uint64_t, const Example& to) {
  const Row& row = rows_[next_++ % rows_.size()];
  std::ranges::copy(row.features, to.features().begin());
  if (row.label >= 0) to.labels()[0] = row.label;
  else to.targets()[0] = row.target;
  return {};
}

OracleFederation::OracleFederation(const Model& model, TrainingSettings training, StrategySettings strategy,
                                   std::vector<OracleDevice> devices)
    : model_(model), strategy_(std::move(strategy)), devices_(std::move(devices)) {
  HorizontalSettings job;
  job.training = std::move(training);
  job.strategy = strategy_;
  job.update.weight_max = 1;
  plan_ = plan_of(job, JobId("oracle"), ModelValues(model_.value_count()));
  plan_.update.fixed_point = FixedPointSpec::finest(64, kWeightsMax, kUpdatesMax);
  versions_.emplace_back(model_.value_count());
  const StrategyRule& rule = *strategy_.rule;
  const size_t values = rule.round_values ? rule.round_values(strategy_.values) : model_.value_count();
  carried_.assign(rule.state_vectors, std::vector<float>(values));
  if (rule.round_values) start_state(0, rule.state_start(0, strategy_.values));
}

void OracleFederation::start_state(size_t vector, float value) { std::ranges::fill(carried_.at(vector), value); }

std::vector<float> OracleFederation::update_of(uint32_t device, size_t version) {
  const OracleDevice& self = devices_.at(device);
  const Result<Model> given = Model::load(model_.file_with(versions_.at(version)));
  EXPECT_OK(given);
  const Result<UpdateLayout> layout = UpdateLayout::of(*given, given->value_count(), plan_);
  EXPECT_OK(layout);
  TrainingSettings training = plan_.training;
  training.local_epochs = self.epochs;
  const std::vector<float> control = hands_out_state(*strategy_.rule) ? carried_[0] : std::vector<float>();
  const std::vector<float> state = states_.of(device);
  StoredOrder examples(self.rows);
  GivenFacts facts;
  if (GivenPass::is_asked_by(plan_)) {
    Plan asked = plan_;
    asked.training = training;
    Result<GivenFacts> found = given_facts(*given, {}, *layout, asked, 1, examples);
    EXPECT_OK(found);
    facts = *found;
  }
  Result<Trainer> trainer = Trainer::create(*given, layout->options(training, 1, state, control), examples);
  EXPECT_OK(trainer);
  while (!trainer->finished()) EXPECT_OK(trainer->step());
  Result<TrainedUpdate> update = make_update(*layout, *trainer, self.weight, training, plan_.update,
                                             {given->digest(), 1, control, state, &facts, self.group});
  EXPECT_OK(update);
  EXPECT_EQ(update->header.weight, self.weight);
  if (keeps_state(training.correction.kind)) {
    states_.stage(device, next_state(training.correction, layout->parameters(), state, update->delta));
  }
  return std::move(update->delta);
}

void OracleFederation::round(const std::vector<uint32_t>& devices) {
  for (const uint32_t device : devices) {
    joined_.emplace_back(devices_.at(device).weight, update_of(device, version()));
  }
  close();
}

void OracleFederation::round_of_all() {
  std::vector<uint32_t> all(devices_.size());
  std::iota(all.begin(), all.end(), 0u);
  round(all);
}

// The weight is a device's own work, behind its clip (device_sdk/agent/late_update.h).
void OracleFederation::join(uint32_t device, size_t from, const StalenessRules& staleness) {
  std::vector<float> update = update_of(device, from);
  const float weight = staleness_weight(version() - from, staleness);
  for (float& value : update) value *= weight;
  joined_.emplace_back(devices_.at(device).weight, std::move(update));
}

// As the finalizer asks for it (fl_server/finalize/model_step.h).
float OracleFederation::begin_round(std::span<const float> means, uint64_t weights) {
  const StrategyRule& rule = *strategy_.rule;
  if (rule.step_factor == nullptr) return 1;
  std::vector<double> scalars;
  for (size_t i = 0; i < plan_.update.scalars.size(); ++i) {
    scalars.push_back(static_cast<double>(means[plan_.update.vector_value_count() + i]) *
                      static_cast<double>(plan_.update.scalars[i].bound) /
                      static_cast<double>(plan_.update.fixed_point.value_abs_max));
  }
  double squares = 0;
  for (const float value : means.first(plan_.update.step_value_count())) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const std::vector<float> before = rule.round_values ? carried_[0] : std::vector<float>();
  const StrategyRound round{.scalars = scalars,
                            .squared_norm = squares,
                            .settings = strategy_.values,
                            .weight = static_cast<double>(weights),
                            .rounds = version(),
                            .state = before};
  if (rule.move_state != nullptr) rule.move_state(round, carried_[0]);
  return rule.step_factor(round);
}

void OracleFederation::close() {
  RingSum sum(plan_.update.value_count, plan_.update.fixed_point);
  uint64_t weights = 0;
  for (const auto& [weight, update] : joined_) {
    EXPECT_OK(sum.add(update, weight));
    weights += weight;
  }
  std::vector<float> mean(plan_.update.value_count);
  decode_mean(sum.lanes(), weights, sum.spec(), mean);
  const std::span<const float> means(mean);
  std::vector<float> next = versions_.back();
  const float factor = begin_round(means, weights);
  const std::vector<std::span<float>> state(carried_.begin(), carried_.end());
  StrategyTile tile{.mean = means.first(next.size()),
                    .settings = strategy_.values,
                    .state = state,
                    .weights = next,
                    .updates = joined_.size(),
                    .factor = factor};
  strategy_.rule->apply(tile);
  if (plan_.update.control_value_count > 0) {
    tile.mean = means.last(next.size());
    tile.weights = {};
    strategy_.rule->apply_control(tile);
  }
  states_.commit();
  joined_.clear();
  versions_.push_back(std::move(next));
}

}  // namespace coterie::test
