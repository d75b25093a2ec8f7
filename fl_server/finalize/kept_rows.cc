#include "fl_server/finalize/kept_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "fl_server/finalize/value_bytes.h"
#include "fl_server/telemetry/attempt_calls.h"

namespace coterie {
namespace {

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

}  // namespace

Result<std::unique_ptr<const RuleRows>> KeptRows::open(const RoundKey& key, const Plan& plan,
                                                       const AggregationSettings& aggregation, AcceptStore& accepts,
                                                       BlobStore& partials, const AttemptCalls& calls) {
  std::unique_ptr<KeptRows> rows(new KeptRows(plan));
  COT_TRY(rows->open_partials(key, accepts, partials, calls));
  COT_TRY(rows->check_devices(key, accepts, calls));
  const uint32_t least = aggregation.updates_min();
  if (rows->updates_.size() >= least) return rows;
  return Error(ErrorCode::invalid_argument, "finalize: " + std::string(aggregation.name()) + " needs " +
                                                std::to_string(least) + " updates, and the round has " +
                                                std::to_string(rows->updates_.size()));
}

Status KeptRows::open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls) {
  // More than a plan allows are not even counted: their lanes would not fit a number.
  const auto fits = [this](const PartialSumHeader& header) {
    return header.updates <= plan_.update.fixed_point.contributors_max &&
           header.value_count == header.updates * layout_.lanes();
  };
  COT_ASSIGN(partials_, coterie::open_partials(key, accepts, store, calls, fits));
  for (size_t partial = 0; partial < partials_.streams.size(); ++partial) {
    COT_TRY(verify_whole(partials_.streams[partial]));
    COT_TRY(list_updates(partial));
  }
  std::ranges::sort(updates_, {}, &Update::device);
  return {};
}

Status KeptRows::list_updates(size_t partial) {
  for (uint64_t i = 0; i < partials_.updates[partial]; ++i) {
    Update update{.partial = partial, .offset = i * layout_.bytes()};
    uint64_t head[KeptLayout::kValuesLane];
    COT_TRY(partials_.streams[partial].peek(update.offset, as_writable(std::span<uint64_t>(head))));
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
Status KeptRows::check_devices(const RoundKey& key, AcceptStore& accepts, const AttemptCalls& calls) const {
  COT_ASSIGN(std::vector<DeviceId> accepted, calls.timed("list accepted", [&] { return accepts.list_accepted(key); }));
  std::ranges::sort(accepted);
  uint64_t weight = 0;
  for (const Update& update : updates_) weight += update.weight;
  if (updates_.empty() || weight != totals().weight || !std::ranges::equal(updates_, accepted, {}, &Update::device)) {
    return does_not_fit("the kept updates are those of " + std::to_string(updates_.size()) + " devices, and the " +
                        std::to_string(accepted.size()) + " that are accepted are others");
  }
  if (updates_.size() <= plan_.update.fixed_point.contributors_max) return {};
  return does_not_fit("more updates are accepted than the plan allows");
}

std::vector<double> KeptRows::weights() const {
  std::vector<double> weights;
  for (const Update& update : updates_) weights.push_back(static_cast<double>(update.weight));
  return weights;
}

Status KeptRows::load(size_t row, uint64_t first, std::span<float> values) const {
  const Update& update = updates_[row];
  COT_TRY(partials_.streams[update.partial].peek(update.offset + KeptLayout::value_offset(first), as_writable(values)));
  // Checked when the update came in. It is checked again as one NaN in a row would make every distance to it NaN.
  if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) return {};
  return does_not_fit("a kept update has a value that is no number");
}

}  // namespace coterie
