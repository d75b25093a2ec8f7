// KeptRound: what a robust rule makes of a round's kept updates (aggregation/accumulate/kept_updates.h), tile by tile.
//
// Updates are taken in the order of their devices' ids, whatever batch of which node they lie in, so that the result's
// bits depend on the updates alone. Memory is bounded by kWindowBytes of values, and by what a rule's distances take
// (64 bytes a pair of updates).
#pragma once

#include <vector>

#include "aggregation/accumulate/kept_updates.h"
#include "aggregation/robust/aggregation_settings.h"
#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/mean_source.h"
#include "fl_server/store/accept_store.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

class AttemptCalls;

class KeptRound final : public MeanSource {
 public:
  // Values of all updates that are in memory at a time.
  static constexpr uint64_t kWindowBytes = 32 << 20;

  // Opens the partials and checks them against their rows: that they hold the updates of exactly the devices that are
  // accepted, each once. Then measures what the rule needs of whole updates; `parameters` are the values that count for
  // it, as padding is nobody's word and running statistics have another scale. data_loss if anything does not fit,
  // invalid_argument if there are fewer updates than the rule needs. `aggregation` has a rule, and outlives this.
  // `calls` hears of the questions about rows.
  static Result<KeptRound> open(const RoundKey& key, const Plan& plan, const AggregationSettings& aggregation,
                                std::span<const ValueRange> parameters, AcceptStore& accepts, BlobStore& partials,
                                const AttemptCalls& calls);

  const RoundTotals& totals() const override { return totals_; }
  Status read(std::span<float> mean) override;
  Result<std::vector<double>> peek(uint64_t first, uint64_t count) const override;
  // The digests were checked when the partials were opened.
  Status verify() override { return {}; }

 private:
  struct Update {
    DeviceId device;
    uint64_t weight = 0;
    size_t partial = 0;
    uint64_t offset = 0;  // of its first byte in the partial's payload
  };
  // Values of all updates, one row behind the other.
  struct Window {
    uint64_t first = 0, count = 0;
    std::vector<float> values;
    std::vector<std::span<const float>> rows(uint64_t offset, uint64_t size) const;
  };

  KeptRound(const Plan& plan, const AggregationSettings& aggregation)
      : plan_(plan), aggregation_(aggregation), layout_{plan.update.value_count} {}

  Status open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls);
  Status list_updates(size_t partial, uint64_t updates);
  Status check_devices(const RoundKey& key, AcceptStore& accepts, const AttemptCalls& calls) const;
  Status choose(std::span<const ValueRange> parameters);
  Status load(uint64_t first, Window& window) const;
  void make(const Window& window, uint64_t first, std::span<float> result) const;

  Plan plan_;
  const AggregationSettings& aggregation_;
  KeptLayout layout_;
  std::vector<FrameStream> partials_;
  std::vector<Update> updates_;  // by device
  std::vector<double> shares_;   // of each, if the rule gives some
  RoundTotals totals_;
  uint64_t values_read_ = 0;
  Window window_;  // of read()
};

}  // namespace coterie
