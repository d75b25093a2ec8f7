// KeptRows: a round's kept updates (aggregation/accumulate/kept_updates.h), in the order of their devices' ids,
// whatever batch of which node they lie in.
#pragma once

#include <memory>
#include <vector>

#include "aggregation/accumulate/kept_updates.h"
#include "aggregation/robust/aggregation_settings.h"
#include "fl_server/finalize/rule_rows.h"
#include "fl_server/finalize/stored_partials.h"
#include "proto/messages/plan.h"

namespace coterie {

class KeptRows final : public RuleRows {
 public:
  // Opens the partials and checks them against their rows: that they hold the updates of exactly the devices that are
  // accepted, each once. data_loss if anything does not fit, invalid_argument if there are fewer than its
  // rule needs. `calls` hears of the questions about rows.
  static Result<std::unique_ptr<const RuleRows>> open(const RoundKey& key, const Plan& plan,
                                                      const AggregationSettings& aggregation, AcceptStore& accepts,
                                                      BlobStore& partials, const AttemptCalls& calls);

  const RoundTotals& totals() const override { return partials_.totals; }
  std::optional<NormHistogram> norms() const override { return partials_.norms; }
  std::vector<double> weights() const override;
  Status load(size_t row, uint64_t first, std::span<float> values) const override;

 private:
  struct Update {
    DeviceId device;
    uint64_t weight = 0;
    size_t partial = 0;
    uint64_t offset = 0;  // of its first byte in the partial's payload
  };

  explicit KeptRows(const Plan& plan) : plan_(plan), layout_{plan.update.value_count} {}

  Status open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls);
  Status list_updates(size_t partial);
  Status check_devices(const RoundKey& key, AcceptStore& accepts, const AttemptCalls& calls) const;

  Plan plan_;
  KeptLayout layout_;
  StoredPartials partials_;
  std::vector<Update> updates_;  // by device
};

}  // namespace coterie
