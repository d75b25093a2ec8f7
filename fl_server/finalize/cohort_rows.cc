#include "fl_server/finalize/cohort_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/log.h"
#include "fl_server/finalize/masked_lanes.h"
#include "fl_server/finalize/value_bytes.h"
#include "fl_server/telemetry/attempt_calls.h"
#include "proto/ring/ring_vector.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

constexpr uint64_t kPieceValues = 1 << 17;  // of a row at a time, for its digest

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

}  // namespace

Result<std::unique_ptr<const RuleRows>> CohortRows::open(const RoundKey& key, const Plan& plan,
                                                         const AggregationSettings& aggregation, const SumMasks& masks,
                                                         AcceptStore& accepts, BlobStore& partials,
                                                         const AttemptCalls& calls) {
  std::unique_ptr<CohortRows> rows(new CohortRows(plan, masks));
  COT_TRY(rows->open_partials(key, accepts, partials, calls));
  COT_ASSIGN(const uint64_t accepted, calls.timed("count accepted", [&] { return accepts.count_accepted(key); }));
  COT_TRY(rows->check_updates(accepted));
  COT_TRY(rows->keep_those_that_fit());
  const uint32_t least = aggregation.updates_min();
  if (rows->cohorts_.size() < least) {
    return does_not_fit(std::string(aggregation.name()) + " needs " + std::to_string(least) +
                        " cohorts, and of the round's " + std::to_string(masks.sessions.size()) + " can be used " +
                        std::to_string(rows->cohorts_.size()));
  }
  COT_TRY(rows->sort_by_content());
  return rows;
}

Status CohortRows::open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store,
                                 const AttemptCalls& calls) {
  const auto fits = [this](const PartialSumHeader& header) { return header.value_count % layout_.lanes() == 0; };
  COT_ASSIGN(partials_, coterie::open_partials(key, accepts, store, calls, fits));
  for (size_t session = 0; session < masks_.sessions.size(); ++session) cohorts_.push_back({.session = session});
  for (size_t partial = 0; partial < partials_.streams.size(); ++partial) {
    COT_TRY(verify_whole(partials_.streams[partial]));
    COT_TRY(list_parts(partial));
  }
  return {};
}

Status CohortRows::list_parts(size_t partial) {
  uint64_t left = partials_.updates[partial];
  for (uint64_t at = 0; at < partials_.lanes[partial] * sizeof(uint64_t); at += layout_.bytes()) {
    uint64_t head[CohortSumLayout::kSumLane];
    COT_TRY(partials_.streams[partial].peek(at, as_writable(std::span<uint64_t>(head))));
    Digest name;
    std::memcpy(name.bytes.data(), head, sizeof name.bytes);
    const auto session = std::ranges::find(masks_.sessions, name, &secagg::SummedSession::session);
    const uint64_t updates = head[CohortSumLayout::kUpdatesLane];
    if (session == masks_.sessions.end() || updates == 0 || updates > left) {
      return does_not_fit("a partial has the sum of a cohort that is not the round's");
    }
    left -= updates;
    Cohort& cohort = cohorts_[static_cast<size_t>(session - masks_.sessions.begin())];
    cohort.parts.push_back({partial, at});
    cohort.updates += updates;
  }
  if (left == 0) return {};
  return does_not_fit("the sums of a partial's cohorts are not of as many updates as its row says");
}

// Sessions and accept rows are kept by different processes. Where they count different updates, masks would stay in the
// sums.
Status CohortRows::check_updates(uint64_t accepted) const {
  if (totals().updates != accepted || accepted == 0) {
    return does_not_fit("the sums of cohorts hold " + std::to_string(totals().updates) + " updates, " +
                        std::to_string(accepted) + " are accepted");
  }
  // With more the lanes may have wrapped, and no check would see it.
  if (accepted > plan_.update.fixed_point.contributors_max) {
    return does_not_fit("more updates are accepted than the plan's sums can hold");
  }
  for (const Cohort& cohort : cohorts_) {
    if (cohort.updates != masks_.sessions[cohort.session].updates) {
      return does_not_fit("the masks are not those of the cohorts' sums");
    }
  }
  return {};
}

Result<std::vector<uint64_t>> CohortRows::lanes_of(const Cohort& cohort, uint64_t first, uint64_t count) const {
  std::vector<uint64_t> sum(count), one(count);
  for (const Part& part : cohort.parts) {
    COT_TRY(partials_.streams[part.partial].peek(part.offset + CohortSumLayout::lane_offset(first), as_writable(one)));
    add_lanes(one, sum);
  }
  unmask(masks_.parameters, std::span(masks_.masks).subspan(cohort.session, 1), first, sum);
  return sum;
}

// Before anything is made of a sum: with one mask too many or too few it is noise that looks like values. One device
// can make the lanes behind the values of its cohort what it likes. That costs the round its cohort, as lies in the
// values do, and not all others.
Status CohortRows::keep_those_that_fit() {
  const uint64_t weight_lane = masks_.parameters.lane_count - 1;
  std::vector<Cohort> kept;
  partials_.totals.weight = 0;
  for (Cohort& cohort : cohorts_) {
    COT_ASSIGN(const std::vector<uint64_t> tail, lanes_of(cohort, weight_lane, layout_.update_lanes - weight_lane));
    cohort.weight = tail[0];
    if (const Status fits = check_tail(cohort, std::span(tail).subspan(1)); !fits) {
      log(LogLevel::warning, "cohort_left_out", {{"reason", fits.error().message()}});
      continue;
    }
    partials_.totals.weight += cohort.weight;
    kept.push_back(std::move(cohort));
  }
  cohorts_ = std::move(kept);
  return {};
}

Status CohortRows::check_tail(const Cohort& cohort, std::span<const uint64_t> checks) const {
  COT_TRY(verify_checks(masks_.parameters, std::span(masks_.sessions).subspan(cohort.session, 1), checks));
  return check_weight_sum(cohort.weight, cohort.updates, plan_.update.fixed_point.weight_max);
}

Status CohortRows::sort_by_content() {
  std::vector<float> values;
  for (size_t row = 0; row < cohorts_.size(); ++row) {
    ContentDigester digester;
    for (uint64_t first = 0; first < plan_.update.value_count; first += values.size()) {
      values.resize(std::min(kPieceValues, plan_.update.value_count - first));
      COT_TRY(load(row, first, values));
      digester.update(as_readable(values));
    }
    cohorts_[row].content = digester.finish();
  }
  // Two that are the same are in the order of their weights.
  std::ranges::sort(cohorts_, {}, [](const Cohort& cohort) { return std::pair(cohort.content, cohort.weight); });
  return {};
}

std::vector<double> CohortRows::weights() const {
  std::vector<double> weights;
  for (const Cohort& cohort : cohorts_) weights.push_back(static_cast<double>(cohort.weight));
  return weights;
}

Status CohortRows::load(size_t row, uint64_t first, std::span<float> values) const {
  const Cohort& cohort = cohorts_[row];
  COT_ASSIGN(const std::vector<uint64_t> sum, lanes_of(cohort, first, values.size()));
  decode_mean(sum, cohort.weight, plan_.update.fixed_point, values);
  const float bound = plan_.update.fixed_point.value_abs_max;
  for (float& value : values) value = std::clamp(value, -bound, bound);
  return {};
}

}  // namespace coterie
