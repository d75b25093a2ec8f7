// CohortRows: the means of a round's cohorts, each of the sum of its own session (aggregation/accumulate/cohort_sums.h)
// with that session's masks taken off: all that a server sees of updates behind masks.
//
// Rows are in the order of the digests of their values: sessions have other names each time. What one device puts into
// its lanes may be any number modulo 2^64, so that a cohort may be a lie as a whole:
// * its mean is clipped to what a value of an update may be, as no mean of such values is beyond it;
// * a cohort whose check lanes or weights do not fit is no row: the log says why, and the rule goes by the others.
//
// A cohort's weight is the sum of its devices'. Each row is unmasked three times: for its digest, for a rule's
// distances, and for the result.
#pragma once

#include <memory>
#include <vector>

#include "aggregation/accumulate/cohort_sums.h"
#include "aggregation/robust/aggregation_settings.h"
#include "fl_server/finalize/rule_rows.h"
#include "fl_server/finalize/stored_partials.h"
#include "fl_server/finalize/sum_masks.h"
#include "proto/messages/plan.h"

namespace coterie {

class CohortRows final : public RuleRows {
 public:
  // Opens the partials and checks them against their rows and against `masks` (which outlive this): that they hold as
  // many updates as are accepted, and of each session as many as its masks are of. data_loss if anything does not fit,
  // or if fewer cohorts are left than the rule needs. `calls` hears of the questions about rows.
  static Result<std::unique_ptr<const RuleRows>> open(const RoundKey& key, const Plan& plan,
                                                      const AggregationSettings& aggregation, const SumMasks& masks,
                                                      AcceptStore& accepts, BlobStore& partials,
                                                      const AttemptCalls& calls);

  // The weight is that of all rows.
  const RoundTotals& totals() const override { return partials_.totals; }
  std::vector<double> weights() const override;
  Status load(size_t row, uint64_t first, std::span<float> values) const override;

 private:
  struct Part {  // of a cohort's sum
    size_t partial = 0;
    uint64_t offset = 0;  // of its first byte in the partial's payload
  };
  struct Cohort {
    size_t session = 0;  // its place in the masks
    std::vector<Part> parts = {};
    uint64_t updates = 0, weight = 0;
    Digest content = {};
  };

  CohortRows(const Plan& plan, const SumMasks& masks)
      : plan_(plan), masks_(masks), layout_{secagg::masked_lane_count(masks.parameters)} {}

  Status open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls);
  Status list_parts(size_t partial);
  Status check_updates(uint64_t accepted) const;
  Status keep_those_that_fit();
  Status check_tail(const Cohort& cohort, std::span<const uint64_t> checks) const;
  Status sort_by_content();
  Result<std::vector<uint64_t>> lanes_of(const Cohort& cohort, uint64_t first, uint64_t count) const;

  Plan plan_;
  const SumMasks& masks_;
  CohortSumLayout layout_;
  StoredPartials partials_;
  std::vector<Cohort> cohorts_;
};

}  // namespace coterie
