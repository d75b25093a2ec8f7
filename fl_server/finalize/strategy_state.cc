#include "fl_server/finalize/strategy_state.h"

#include <algorithm>
#include <string>

#include "aggregation/strategy/strategy_matrix.h"
#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/value_bytes.h"
#include "fl_server/finalize/value_overlaps.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

}  // namespace

StrategyState::StrategyState(const StrategySettings& settings, uint64_t value_count)
    : settings_(settings),
      value_count_(settings.rule->round_values ? settings.rule->round_values(settings.values) : value_count) {
  for (size_t i = 0; i < settings.rule->state_vectors; ++i) vectors_.emplace_back(value_count_, start_of(i));
}

float StrategyState::start_of(size_t vector) const {
  const StrategyRule& rule = *settings_.rule;
  return rule.state_start == nullptr ? 0 : rule.state_start(vector, settings_.values);
}

void StrategyState::restart(uint64_t offset, uint64_t count) {
  for (size_t i = 0; i < vectors_.size(); ++i) {
    std::ranges::fill(std::span(vectors_[i]).subspan(offset, count), start_of(i));
  }
}

Result<StrategyState> StrategyState::open(BlobStore& blobs, const std::optional<Digest>& before,
                                          const StrategySettings& settings, uint64_t value_count, uint32_t clusters) {
  StrategyState state(settings, value_count);
  if ((state.vectors_.empty() && clusters == 1) || !before) return state;
  COT_ASSIGN(FrameStream stored, FrameStream::open(blobs, *before, FrameKind::optimizer_state));
  COT_ASSIGN(const OptimizerStateHeader header, decode_optimizer_state_head(stored.prelude(), stored.header()));
  if (header.value_count != state.value_count_) return does_not_fit("the optimizer's state is of another model");
  // A job keeps its strategy, so that only a damaged database can name the state of another.
  if (header.strategy != settings.rule->stored_as || header.vectors != settings.rule->state_vectors) {
    return does_not_fit(std::string("the optimizer's state is not of ") + settings.rule->name);
  }
  // A job of before clusters began anew has none of it.
  if (!header.idle_updates.empty() && header.idle_updates.size() != clusters) {
    return does_not_fit("the optimizer's state is of other clusters");
  }
  state.idle_updates_ = header.idle_updates;
  state.step_ = header.step;
  for (std::vector<float>& vector : state.vectors_) COT_TRY(stored.read(as_writable(vector)));
  COT_TRY(stored.verify());
  return state;
}

void StrategyState::begin_round(StrategyRound round) {
  const StrategyRule& rule = *settings_.rule;
  COT_ASSERT(needs_round() && round.scalars.size() >= rule.scalars.size());
  round.settings = settings_.values;
  round.rounds = step_;
  if (rule.round_values != nullptr) round.state = vectors_.front();
  factor_ = rule.step_factor(round);
  if (rule.move_state == nullptr) return;
  std::vector<float> moved = vectors_.front();
  rule.move_state(round, moved);
  vectors_.front() = std::move(moved);
}

void StrategyState::move_matrix(const LinearMap& map, std::span<const float> mean) {
  COT_ASSERT(moves_matrix(map) && mean.size() == map.values.count);
  const auto state = vectors_at(map.values.first, map.values.count);
  std::vector<float> step(mean.size());
  settings_.rule->move_matrix({.rows = map.rows,
                               .columns = map.columns,
                               .mean = mean,
                               .settings = settings_.values,
                               .state = std::span(state).first(vectors_.size()),
                               .step = step});
  matrices_.push_back(map.values);
  matrix_steps_.push_back(std::move(step));
}

void StrategyState::apply(uint64_t offset, uint64_t updates, std::span<const float> mean, std::span<float> weights) {
  COT_ASSERT(mean.size() == weights.size());
  for (size_t i = 0; i < matrices_.size(); ++i) {
    for_each_overlap(std::span(&matrices_[i], 1), offset, weights.size(), [&](uint64_t first, uint64_t count) {
      const float* const step = matrix_steps_[i].data() + (first - matrices_[i].first);
      for (uint64_t k = 0; k < count; ++k) weights[first - offset + k] += step[k];
    });
  }
  for_each_gap(matrices_, offset, weights.size(), [&](uint64_t first, uint64_t count) {
    apply_rule(first, updates, mean.subspan(first - offset, count), weights.subspan(first - offset, count));
  });
}

void StrategyState::apply_rule(uint64_t offset, uint64_t updates, std::span<const float> mean,
                               std::span<float> weights) {
  const auto state = vectors_at(offset, mean.size());
  const bool is_of_values = settings_.rule->round_values == nullptr;
  settings_.rule->apply({.mean = mean,
                         .settings = settings_.values,
                         .state = std::span(state).first(is_of_values ? vectors_.size() : 0),
                         .weights = weights,
                         .updates = updates,
                         .factor = factor_});
}

void StrategyState::apply_control(uint64_t offset, uint64_t updates, std::span<const float> mean) {
  COT_ASSERT(settings_.rule->apply_control != nullptr);
  const auto state = vectors_at(offset, mean.size());
  settings_.rule->apply_control({.mean = mean,
                                 .settings = settings_.values,
                                 .state = std::span(state).first(vectors_.size()),
                                 .weights = {},
                                 .updates = updates});
}

std::array<std::span<float>, kStateVectorsMax> StrategyState::vectors_at(uint64_t offset, uint64_t count) {
  std::array<std::span<float>, kStateVectorsMax> pieces;
  if (settings_.rule->round_values != nullptr) return pieces;
  COT_ASSERT(offset + count <= value_count_);
  for (size_t i = 0; i < vectors_.size(); ++i) pieces[i] = std::span(vectors_[i]).subspan(offset, count);
  return pieces;
}

Result<std::optional<Digest>> StrategyState::save(BlobStore& blobs) const {
  if (vectors_.empty() && idle_updates_.empty()) return std::optional<Digest>();
  const OptimizerStateHeader header{settings_.rule->stored_as, step_ + 1, value_count_, settings_.rule->state_vectors,
                                    idle_updates_};
  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs.create());
  COT_TRY(writer->append(encode_head(header)));
  for (const std::vector<float>& vector : vectors_) COT_TRY(writer->append(as_readable(vector)));
  COT_ASSIGN(const Digest digest, writer->finish());
  return std::optional<Digest>(digest);
}

}  // namespace coterie
