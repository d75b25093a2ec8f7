#include "fl_server/finalize/model_step.h"

#include <algorithm>
#include <string>

#include "fl_server/finalize/holder_means.h"
#include "fl_server/finalize/mean_reader.h"
#include "fl_server/finalize/strategy_state.h"
#include "fl_server/finalize/value_overlaps.h"
#include "proto/messages/model.h"
#include "proto/messages/model_clusters.h"
#include "proto/messages/watch_lanes.h"
#include "proto/messages/watch_noise.h"

namespace coterie {
namespace {

// Those that updates have, as places in an update.
std::vector<WidthBlock> places_of(const std::vector<WidthBlock>& blocks, const ValueSelection& selection) {
  std::vector<WidthBlock> places;
  for (const WidthBlock& block : blocks) {
    for (const ValueRange& range : selection.placed(std::span(&block.values, 1))) {
      places.push_back({range, block.narrowest});
    }
  }
  return places;
}

// Linear maps that updates have, with their places there.
std::vector<LinearMap> maps_of(const ModelGraph& graph, const ValueSelection& selection) {
  std::vector<LinearMap> maps;
  for (LinearMap map : linear_maps(graph)) {
    const std::vector<ValueRange> placed = selection.placed(std::span(&map.values, 1));
    if (placed.size() != 1 || placed[0].count != map.values.count) continue;
    map.values = placed[0];
    maps.push_back(map);
  }
  return maps;
}

// What the round adds to of a table: all of it, or the block behind those of the rounds before.
Result<ValueSelection> table_block(const Plan& plan, const std::vector<ValueRange>& blocks, ModelVersion base) {
  const uint64_t block = blocks.size() == 1 ? 0 : base.value();
  if (block >= blocks.size() || blocks[block].count != plan.update.step_value_count()) {
    return Error(ErrorCode::data_loss, "finalize: the plan's updates are not of the job's table");
  }
  return ValueSelection({blocks[block]});
}

}  // namespace

Result<ModelStep> ModelStep::of(const Plan& plan, const ModelGraph& graph, ModelVersion base) {
  TrainedPart part{ValueSelection::all(plan.update.step_value_count()), {}};
  if (plan.analytics) {
    COT_ASSIGN(part.selection, table_block(plan, parameter_values(graph), base));
  }
  if (plan.update.has_trained_alone()) {
    Result<TrainedPart> trained = trained_part(graph, plan.training);
    if (!trained || trained->count() != plan.update.step_value_count()) {
      return Error(ErrorCode::data_loss, "finalize: the plan's updates are not of the job's model");
    }
    part = std::move(*trained);
  }
  ModelStep step(plan, std::move(part));
  step.model_parameters_ = parameter_values(graph);
  step.parameters_ = step.part_.selection.placed(step.model_parameters_);
  if (!plan.analytics) step.maps_ = maps_of(graph, step.part_.selection);
  if (!plan.training.widths.empty()) {
    Result<std::vector<WidthBlock>> blocks = width_blocks(graph, plan.training.widths);
    if (!blocks)
      return Error(ErrorCode::data_loss, "finalize: the job's model cannot be cut: " + blocks.error().message());
    step.blocks_ = places_of(*blocks, step.part_.selection);
  }
  const uint64_t selected = step.part_.selection.count();
  // An update's values: selected tensors | each LoRA pair's B [rank, out] | control part | clip bit | scalars. Those
  // between the selected tensors and the control part are all B, which are parameters, too.
  if (step.part_.count() > selected) step.parameters_.push_back({selected, step.part_.count() - selected});
  if (plan.update.has_clip_bit()) {
    // Adaptive clipping: devices clip to clip_norm and then scale to clip_l2, so that grid and noise are the same in
    // every round. This takes the scale off again.
    step.clip_scale_ = plan.update.clip.clip_norm / static_cast<double>(plan.update.clip_l2);
  }
  return step;
}

Result<std::unique_ptr<MeanSource>> ModelStep::means_of_holders(std::unique_ptr<MeanSource> mean) {
  COT_ASSIGN(std::vector<HeldValues> held, held_values(*mean, plan_, blocks_));
  if (held.empty()) return mean;
  for (const HeldValues& part : held) {
    if (part.share == 0) untouched_.push_back(part.values);
    if (cluster_count(plan_.training) > 1) cluster_shares_.push_back(part.share);
  }
  return std::unique_ptr<MeanSource>(
      std::make_unique<HolderMeans>(std::move(mean), std::move(held), plan_.update.fixed_point.value_abs_max));
}

Status ModelStep::begin(MeanSource& mean, StrategyState& state) {
  means_ = std::make_shared<MeanReader>(mean, plan_.update.value_count);
  state_ = &state;
  updates_ = mean.totals().updates;
  if (state.needs_round()) COT_TRY(begin_round(mean));
  if (state.moves_matrices()) COT_TRY(move_matrices());
  return part_.pairs.empty() ? Status() : begin_lora();
}

// What a strategy has to know of the whole mean: its scalars and its norm. Values are looked at in their order, so that
// the bits of the sum are the same everywhere.
Status ModelStep::begin_round(const MeanSource& mean) {
  StrategyRound round;
  const std::vector<ScalarRule>& rules = plan_.update.scalars;
  const size_t told = rules.size() - watch_lanes_of(rules);  // those of a watch are behind the strategy's
  COT_ASSIGN(std::vector<double> scalars, mean.peek(plan_.update.vector_value_count(), told));
  for (size_t i = 0; i < told; ++i) {
    // A device divides its scalar by the bound and multiplies it by value_abs_max, to use the grid's whole range.
    scalars[i] *= static_cast<double>(rules[i].bound) / static_cast<double>(plan_.update.fixed_point.value_abs_max);
  }
  round.scalars = scalars;
  round.weight = static_cast<double>(mean.totals().weight);
  for (const ValueRange& range : parameters_) {
    for (uint64_t at = 0; at < range.count; at += RoundSum::kTileValues) {
      const uint64_t count = std::min(RoundSum::kTileValues, range.count - at);
      COT_ASSIGN(const std::vector<double> values, mean.peek(range.first + at, count));
      for (const double value : values) round.squared_norm += value * value;
    }
  }
  state_->begin_round(round);
  return {};
}

// It is read, and not peeked at: what is peeked at has no noise.
Status ModelStep::move_matrices() {
  std::vector<float> mean(plan_.update.step_value_count());
  COT_TRY(read(mean));
  held_ = std::move(mean);
  for (const LinearMap& map : maps_) {
    if (state_->moves_matrix(map)) {
      state_->move_matrix(map, std::span(held_).subspan(map.values.first, map.values.count));
    }
  }
  return {};
}

Status ModelStep::take(std::span<float> mean) {
  if (held_.empty()) COT_TRY(read(mean));
  else std::ranges::copy(std::span(held_).subspan(taken_, mean.size()), mean.begin());
  taken_ += mean.size();
  return {};
}

Status ModelStep::read(std::span<float> mean) {
  COT_TRY(means_->take(mean));
  if (clip_scale_ == 1) return {};
  for (float& value : mean) value = static_cast<float>(static_cast<double>(value) * clip_scale_);
  return {};
}

// A weight needs the whole of its pair: B is small, and read first. Statistics have been peeked at by then.
Status ModelStep::begin_lora() {
  // A is not trained and not sent: devices drew the same one from the plan's seed.
  a_ = draw_lora_a(part_.pairs, *plan_.training.lora);
  mean_.resize(part_.selection.count());
  COT_TRY(take(mean_));
  const uint64_t selected = taken_;
  mean_.resize(part_.count() - selected);
  b_.resize(mean_.size());
  COT_TRY(take(mean_));
  // B is 0 in every round's beginning, as the product of the last one was merged into the weights.
  state_->apply(selected, updates_, mean_, b_);
  return {};
}

void ModelStep::merge_lora(uint64_t offset, std::span<float> weights) const {
  const double scale = static_cast<double>(plan_.training.lora->scale());
  std::span<const float> a = a_, b = b_;
  for (const LoraPair& pair : part_.pairs) {
    const ValueRange range{pair.first_value, pair.in * pair.out};
    for_each_overlap(std::span(&range, 1), offset, weights.size(), [&](uint64_t first, uint64_t count) {
      add_lora_product(pair, scale, a.first(pair.a_values()), b.first(pair.b_values()), first - pair.first_value,
                       weights.subspan(first - offset, count));
    });
    a = a.subspan(pair.a_values());
    b = b.subspan(pair.b_values());
  }
}

// Parameters alone are the strategy's. What is neither a parameter nor a statistic is padding: noise may have fallen on
// it, and a model whose padding is not 0 is none.
Status ModelStep::move(uint64_t offset, std::span<float> weights) {
  if (!part_.pairs.empty()) {
    merge_lora(offset, weights);
    return {};
  }
  Status good;
  for_each_overlap(part_.selection.ranges(), offset, weights.size(), [&](uint64_t first, uint64_t count) {
    const uint64_t place = taken_;
    mean_.resize(count);
    if (good) good = take(mean_);
    if (!good) return;
    // `first` is a place in the model, `place` one in the update: strategies keep their state by places in the update.
    for_each_overlap(model_parameters_, first, count, [&](uint64_t begin, uint64_t values) {
      for_each_gap(untouched_, place + begin - first, values, [&](uint64_t moved, uint64_t moved_count) {
        state_->apply(moved, updates_, std::span(mean_).subspan(moved - place, moved_count),
                      weights.subspan(first + moved - place - offset, moved_count));
      });
    });
  });
  return good;
}

Status ModelStep::finish() {
  const uint64_t step = plan_.update.step_value_count(), control = plan_.update.control_value_count;
  for (uint64_t at = 0; at < control; at += mean_.size()) {
    mean_.resize(std::min(RoundSum::kTileValues, control - at));
    COT_TRY(means_->take(mean_));
    for_each_overlap(parameters_, at, mean_.size(), [&](uint64_t first, uint64_t values) {
      state_->apply_control(first, updates_, std::span(mean_).subspan(first - at, values));
    });
  }
  COT_ASSERT(taken_ == step);
  if (plan_.update.has_clip_bit()) {
    float bits = 0;
    COT_TRY(means_->take(std::span(&bits, 1)));
    clip_bits_mean_ = static_cast<double>(bits);
  }
  if (!has_noisy_watch(plan_.update)) return {};
  watch_means_.resize(plan_.update.scalars.size());
  return means_->take(watch_means_);
}

}  // namespace coterie
