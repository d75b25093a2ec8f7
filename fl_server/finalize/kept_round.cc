#include "fl_server/finalize/kept_round.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "aggregation/robust/registry.h"
#include "fl_server/telemetry/attempt_calls.h"
#include "proto/codec/codec.h"

namespace coterie {
namespace {

constexpr uint64_t kDigestBytes = 1 << 20;  // of a partial at a time

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

// Before a byte of it is believed: values are read out of order later.
Status check_digest(FrameStream& partial) {
  std::vector<uint8_t> bytes;
  for (uint64_t at = 0; at < partial.prelude().payload_bytes; at += bytes.size()) {
    bytes.resize(std::min(kDigestBytes, partial.prelude().payload_bytes - at));
    COT_TRY(partial.read(bytes));
  }
  return partial.verify();
}

}  // namespace

Result<KeptRound> KeptRound::open(const RoundKey& key, const Plan& plan, const AggregationSettings& aggregation,
                                  std::span<const ValueRange> parameters, AcceptStore& accepts, BlobStore& partials,
                                  const AttemptCalls& calls) {
  KeptRound round(plan, aggregation);
  COT_TRY(round.open_partials(key, accepts, partials, calls));
  COT_TRY(round.check_devices(key, accepts, calls));
  const uint32_t least = aggregation.updates_min();
  if (round.updates_.size() < least) {
    return Error(ErrorCode::invalid_argument, "finalize: " + std::string(aggregation.name()) + " needs " +
                                                  std::to_string(least) + " updates, and the round has " +
                                                  std::to_string(round.updates_.size()));
  }
  if (aggregation.rule->needs_distances()) COT_TRY(round.choose(parameters));
  return round;
}

Status KeptRound::open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store,
                                const AttemptCalls& calls) {
  COT_ASSIGN(const std::vector<PartialRecord> records,
             calls.timed("list partial sums", [&] { return accepts.list_partials(key); }));
  for (const PartialRecord& record : records) {
    COT_ASSIGN(FrameStream stream, FrameStream::open(store, record.blob, FrameKind::partial_sum));
    COT_ASSIGN(const PartialSumHeader header, decode_partial_sum_head(stream.prelude(), stream.header()));
    // More than a plan allows are not even counted: their lanes would not fit a number.
    const bool fits = record.totals.updates <= plan_.update.fixed_point.contributors_max;
    if (header.round != key || header.partial != record.id || !fits ||
        header.value_count != record.totals.updates * layout_.lanes() || header.updates != record.totals.updates ||
        header.weight_sum != record.totals.weight) {
      return does_not_fit("partial " + record.id + " is not what its row says");
    }
    COT_TRY(check_digest(stream));
    totals_ += record.totals;
    partials_.push_back(std::move(stream));
    COT_TRY(list_updates(partials_.size() - 1, record.totals.updates));
  }
  // A rule's floating-point sums depend on the order of its rows. The order of the ids is the same whatever batch of
  // which node an update came in.
  std::ranges::sort(updates_, {}, &Update::device);
  return {};
}

Status KeptRound::list_updates(size_t partial, uint64_t updates) {
  for (uint64_t i = 0; i < updates; ++i) {
    Update update{.partial = partial, .offset = i * layout_.bytes()};
    uint64_t head[KeptLayout::kValuesLane];
    COT_TRY(partials_[partial].peek(update.offset, {reinterpret_cast<uint8_t*>(head), sizeof head}));
    std::memcpy(update.device.bytes.data(), head, sizeof update.device.bytes);
    update.weight = head[KeptLayout::kWeightLane];
    if (update.weight < 1 || update.weight > plan_.update.fixed_point.weight_max) {
      return does_not_fit("a kept update has the weight " + std::to_string(update.weight));
    }
    updates_.push_back(update);
  }
  return {};
}

// Exactly once, seen from the other end: who has a receipt is among these updates, and nobody else is.
Status KeptRound::check_devices(const RoundKey& key, AcceptStore& accepts, const AttemptCalls& calls) const {
  COT_ASSIGN(std::vector<DeviceId> accepted, calls.timed("list accepted", [&] { return accepts.list_accepted(key); }));
  std::ranges::sort(accepted);
  uint64_t weight = 0;
  for (const Update& update : updates_) weight += update.weight;
  if (updates_.empty() || weight != totals_.weight || !std::ranges::equal(updates_, accepted, {}, &Update::device)) {
    return does_not_fit("the kept updates are those of " + std::to_string(updates_.size()) + " devices, and the " +
                        std::to_string(accepted.size()) + " that are accepted are others");
  }
  if (updates_.size() <= plan_.update.fixed_point.contributors_max) return {};
  return does_not_fit("more updates are accepted than the plan allows");
}

Status KeptRound::choose(std::span<const ValueRange> parameters) {
  // A window is all updates' values at [first, first + count): rows [updates, count], row-major. Distances are sums
  // over values, so that they can be added up window by window.
  UpdateDistances distances(updates_.size());
  Window window;
  for (uint64_t first = 0; first < layout_.value_count; first += window.count) {
    COT_TRY(load(first, window));
    for (const ValueRange& range : parameters) {
      const uint64_t begin = std::max(first, range.first);
      const uint64_t end = std::min(first + window.count, range.first + range.count);
      if (begin < end) distances.add(begin, window.rows(begin, end - begin));
    }
  }
  std::vector<double> weights(updates_.size(), 1);
  if (aggregation_.rule->weighs) {
    std::ranges::transform(updates_, weights.begin(), [](const Update& u) { return static_cast<double>(u.weight); });
  }
  // How much of the mean each update is. The values themselves are read once more, by read(): they do not fit into
  // memory.
  shares_.resize(updates_.size());
  aggregation_.rule->choose(distances, weights, aggregation_.values, shares_);
  return {};
}

std::vector<std::span<const float>> KeptRound::Window::rows(uint64_t offset, uint64_t size) const {
  std::vector<std::span<const float>> rows;
  for (size_t row = 0; row * count < values.size(); ++row) {
    rows.push_back(std::span(values).subspan(row * count + (offset - first), size));
  }
  return rows;
}

Status KeptRound::load(uint64_t first, Window& window) const {
  // All updates' values at a place are needed at once, so more updates mean fewer places at a time, in the same memory.
  const uint64_t fit = std::max<uint64_t>(1, kWindowBytes / sizeof(float) / updates_.size());
  window.first = first;
  window.count = std::min(fit, layout_.value_count - first);
  window.values.resize(window.count * updates_.size());
  for (size_t row = 0; row < updates_.size(); ++row) {
    const Update& update = updates_[row];
    float* const into = window.values.data() + row * window.count;
    COT_TRY(partials_[update.partial].peek(update.offset + KeptLayout::value_offset(first),
                                           {reinterpret_cast<uint8_t*>(into), window.count * sizeof(float)}));
  }
  // Checked when the update came in. It is checked again as one NaN in a row would make every distance to it NaN.
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(window.values, is_finite))
    return does_not_fit("a kept update has a value that is no number");
  return {};
}

void KeptRound::make(const Window& window, uint64_t first, std::span<float> result) const {
  make_result(*aggregation_.rule, {.rows = window.rows(first, result.size()),
                                   .shares = shares_,
                                   .settings = aggregation_.values,
                                   .result = result});
}

Status KeptRound::read(std::span<float> mean) {
  while (!mean.empty()) {
    const uint64_t end = window_.first + window_.count;
    if (values_read_ >= end) {
      COT_TRY(load(values_read_, window_));
      continue;
    }
    const std::span<float> part = mean.first(std::min<uint64_t>(mean.size(), end - values_read_));
    make(window_, values_read_, part);
    values_read_ += part.size();
    mean = mean.subspan(part.size());
  }
  return {};
}

Result<std::vector<double>> KeptRound::peek(uint64_t first, uint64_t count) const {
  std::vector<double> values;
  Window window;
  while (values.size() < count) {
    const uint64_t at = first + values.size();
    COT_TRY(load(at, window));
    std::vector<float> part(std::min(window.count, count - values.size()));
    make(window, at, part);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

}  // namespace coterie
