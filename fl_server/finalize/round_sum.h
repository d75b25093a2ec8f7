// RoundSum: a round's partial sums as one mean, tile by tile, in memory that depends on neither the model nor the
// number of updates. What lies in between is done to each tile on its way: masks taken off, noise of the server added,
// rotation of the devices undone.
//
// Sums lie in 64 bits whatever width updates have: of narrower ones the low bits are the sum, and the others mean
// nothing.
//
// The mean of quantized updates is held whole, 4 bytes a value: their rotation has no blocks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/round_noise.h"
#include "fl_server/finalize/sum_masks.h"
#include "fl_server/store/accept_store.h"
#include "proto/messages/plan.h"
#include "secure/dp/encode/encoding_terms.h"

namespace coterie {

class AttemptCalls;

class RoundSum {
 public:
  // Means are asked for in pieces of so many values: whole blocks of a rotation.
  static constexpr uint64_t kTileValues = 32 * 1024;

  // Opens the partials and checks them against their rows: that they hold as many updates as are accepted. With `masks`
  // (which outlive this) the lanes behind the values are opened, too: the sum of the weights, and the check lanes.
  // `model` is what the updates were trained from. `calls` hears of the questions about rows. data_loss if anything
  // does not fit.
  static Result<RoundSum> open(const RoundKey& key, const Plan& plan, const Digest& model, AcceptStore& accepts,
                               BlobStore& partials, const SumMasks* masks, const AttemptCalls& calls);

  // As the rows have them; of a masked sum the weight is what the lanes say.
  const RoundTotals& totals() const { return totals_; }
  // How long the round's updates are, where each of its partial sums says it.
  const std::optional<NormHistogram>& norms() const { return norms_; }

  // The next mean.size() values, kTileValues or what is left, of the sum divided by `divisor`. `noise` may be null.
  Status read_mean(uint64_t divisor, const RoundNoise* noise, std::span<float> mean);

  // Values before their turn, without noise: read_mean gives them again. Precondition: devices added no noise, and
  // quantized nothing.
  Result<std::vector<double>> peek_mean(uint64_t first, uint64_t count, uint64_t divisor) const;

  // After the last value: data_loss unless each partial has the digest that it is named by.
  Status verify();

 private:
  RoundSum(const Plan& plan, const Digest& model, const SumMasks* masks) : plan_(plan), model_(model), masks_(masks) {}

  Status open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls);
  Status open_weight();
  // The sum of the next sum.size() lanes, without masks.
  Status read_lanes(std::span<uint64_t> sum);
  Status read_quantized(uint64_t divisor);
  uint32_t updates_max() const;
  bool is_encoded() const { return plan_.privacy.level == SecurityLevel::active_dp; }
  bool is_quantized() const { return plan_.update.encoding == UpdateEncoding::quantized; }

  Plan plan_;
  Digest model_;
  const SumMasks* masks_;
  EncodingTerms encoding_;                            // if is_encoded()
  std::unique_ptr<const ByteSource> rotation_signs_;  // if that says rotated
  std::vector<FrameStream> partials_;
  RoundTotals totals_;
  std::optional<NormHistogram> norms_;
  uint64_t lane_count_ = 0;   // of a partial
  uint64_t value_lanes_ = 0;  // of which hold values, in front
  uint64_t values_read_ = 0, lanes_read_ = 0;
  std::vector<uint64_t> sum_, one_;  // a tile of all partials, and of one
  std::vector<float> mean_;          // if is_quantized(), from the first read on
};

}  // namespace coterie
