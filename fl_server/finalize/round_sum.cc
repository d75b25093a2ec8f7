#include "fl_server/finalize/round_sum.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fl_server/finalize/masked_lanes.h"
#include "fl_server/finalize/stored_partials.h"
#include "fl_server/finalize/value_bytes.h"
#include "fl_server/telemetry/attempt_calls.h"
#include "proto/codec/codec.h"
#include "proto/ring/ring_vector.h"
#include "secure/dp/distributed/device_noise.h"
#include "secure/dp/encode/rotation.h"
#include "secure/quantize/level_sum.h"
#include "secure/quantize/shared_rotation.h"
#include "secure/secagg/check_lanes.h"

namespace coterie {
namespace {

static_assert(RoundSum::kTileValues % kRotationBlock == 0);

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

// A source from one of its bytes on.
class Later final : public ByteSource {
 public:
  Later(const ByteSource& source, uint64_t first_byte) : source_(source), first_byte_(first_byte) {}
  void write(uint64_t byte_offset, std::span<uint8_t> out) const override {
    source_.write(first_byte_ + byte_offset, out);
  }

 private:
  const ByteSource& source_;
  uint64_t first_byte_;
};

// A lane of an encoded sum is a signed number of ring_bits bits.
uint64_t sign_extended(uint64_t lane, uint32_t ring_bits) {
  const uint32_t above = 64 - ring_bits;
  return static_cast<uint64_t>(static_cast<int64_t>(lane << above) >> above);
}

}  // namespace

Result<RoundSum> RoundSum::open(const RoundKey& key, const Plan& plan, const Digest& model, AcceptStore& accepts,
                                BlobStore& partials, const SumMasks* masks, const AttemptCalls& calls) {
  RoundSum sum(plan, model, masks);
  // A sum's lanes, one behind the other:
  //
  //   plain    values [value_count]
  //   masked   values, padded to whole blocks where they are rotated | weight [1, more if quantized] | check lanes
  sum.value_lanes_ = sum.lane_count_ = plan.update.value_count;
  if (masks != nullptr) {
    sum.lane_count_ = secagg::masked_lane_count(masks->parameters);
    // Behind them is the weight.
    if (!sum.is_quantized()) sum.value_lanes_ = masks->parameters.lane_count - 1;
  }
  if (sum.is_encoded()) {
    if (masks == nullptr) return does_not_fit("updates with noise of the devices come masked");
    sum.encoding_ = encoding_of(plan.privacy);
    if (sum.encoding_.rotated) {
      COT_ASSIGN(KeyStreamSource signs, rotation_signs(masks->parameters.context));
      sum.rotation_signs_ = std::make_unique<KeyStreamSource>(std::move(signs));
    }
  }
  COT_TRY(sum.open_partials(key, accepts, partials, calls));
  if (masks != nullptr) COT_TRY(sum.open_weight());
  return sum;
}

Status RoundSum::open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store, const AttemptCalls& calls) {
  const auto fits = [this](const PartialSumHeader& header) { return header.value_count == lane_count_; };
  COT_ASSIGN(StoredPartials stored, coterie::open_partials(key, accepts, store, calls, fits));
  totals_ = stored.totals;
  norms_ = stored.norms;
  partials_ = std::move(stored.streams);
  // Exactly once, seen from the other end: a device with a receipt is in one of these sums, and nobody else is.
  COT_ASSIGN(const uint64_t accepted, calls.timed("count accepted", [&] { return accepts.count_accepted(key); }));
  if (totals_.updates != accepted || accepted == 0) {
    return does_not_fit("the partial sums hold " + std::to_string(totals_.updates) + " updates, " +
                        std::to_string(accepted) + " are accepted");
  }
  // With more the lanes may have wrapped, and no check would see it.
  if (totals_.updates > updates_max()) return does_not_fit("more updates are accepted than the plan's sums can hold");
  return {};
}

uint32_t RoundSum::updates_max() const {
  if (is_encoded()) return encoding_.contributors_max;
  if (is_quantized() && masks_ != nullptr) return plan_.update.quantization.contributors_max;
  return plan_.update.fixed_point.contributors_max;
}

Status RoundSum::open_weight() {
  // Sessions and accept rows are kept by different processes. Where they count different updates, masks would stay in
  // the sum.
  if (totals_.updates != masks_->updates()) return does_not_fit("the masks are not those of this sum");
  std::vector<uint64_t> tail(lane_count_ - value_lanes_), one(tail.size());
  for (const FrameStream& partial : partials_) {
    COT_TRY(partial.peek(value_lanes_ * sizeof(uint64_t), as_writable(one)));
    add_lanes(one, tail);
  }
  unmask(masks_->parameters, masks_->masks, value_lanes_, tail);
  // Before anything is made of the sum: with one mask too many or too few it is noise that looks like values.
  const size_t weight_lanes = masks_->parameters.lane_count - value_lanes_;
  COT_TRY(verify_checks(masks_->parameters, masks_->sessions, std::span<const uint64_t>(tail).subspan(weight_lanes)));
  if (is_quantized()) {
    const auto weight = summed_weight_of(std::span(tail).first(weight_lanes), masks_->updates(), plan_.update);
    if (!weight) return does_not_fit(weight.error().message());
    totals_.weight = *weight;
    return {};
  }
  totals_.weight = tail[0];
  const uint64_t weight_max = is_encoded() ? encoding_.weight_max : plan_.update.fixed_point.weight_max;
  return check_weight_sum(totals_.weight, masks_->updates(), weight_max);
}

Status RoundSum::read_lanes(std::span<uint64_t> sum) {
  one_.resize(sum.size());
  std::fill(sum.begin(), sum.end(), 0);
  for (FrameStream& partial : partials_) {
    COT_TRY(partial.read(as_writable(one_)));
    add_lanes(one_, sum);
  }
  if (masks_ != nullptr) unmask(masks_->parameters, masks_->masks, lanes_read_, sum);
  lanes_read_ += sum.size();
  return {};
}

Status RoundSum::read_quantized(uint64_t divisor) {
  mean_.resize(plan_.update.value_count);
  for (uint64_t first = 0; first < mean_.size(); first += kTileValues) {
    sum_.resize(std::min(kTileValues, mean_.size() - first));
    COT_TRY(read_lanes(sum_));
    mean_of_levels(sum_, totals_.updates, divisor, plan_.update, std::span(mean_).subspan(first, sum_.size()));
  }
  // The rotation is linear and the same for all devices of the round, as it is drawn from the model they trained from:
  // turning the mean back once is turning back every update.
  if (!plan_.update.quantization.rotated) return {};
  COT_ASSIGN(const KeyStreamSource signs, update_rotation_signs(model_));
  rotate_whole_back(signs, mean_);
  return {};
}

Status RoundSum::read_mean(uint64_t divisor, const RoundNoise* noise, std::span<float> mean) {
  const bool is_last = values_read_ + mean.size() == plan_.update.value_count;
  COT_ASSERT(is_last || mean.size() == kTileValues);
  if (is_quantized()) {
    COT_ASSERT(noise == nullptr);
    if (values_read_ == 0) COT_TRY(read_quantized(divisor));
    std::copy_n(mean_.begin() + static_cast<std::ptrdiff_t>(values_read_), mean.size(), mean.begin());
    values_read_ += mean.size();
    return {};
  }
  const uint64_t first = lanes_read_;
  // Behind the last value a rotation's block may go on: its lanes belong to this tile, or it could not be turned back.
  sum_.resize(is_last ? value_lanes_ - first : mean.size());
  COT_TRY(read_lanes(sum_));
  values_read_ += mean.size();
  if (!is_encoded()) {
    if (noise != nullptr) noise->add_to(first, sum_);
    decode_mean(sum_, divisor, plan_.update.fixed_point, mean);
    return {};
  }
  // Residues modulo 2^ring_bits stand for numbers around 0. The ring was chosen so wide that a sum of contributors_max
  // updates with their noise does not wrap.
  for (uint64_t& lane : sum_) lane = sign_extended(lane, encoding_.ring_bits);
  std::vector<float> coordinates(sum_.size());
  decode_mean(sum_, divisor, FixedPointSpec{.fraction_bits = encoding_.fraction_bits}, coordinates);
  // A sign is a bit, so that this tile's signs begin at byte first / 8. Tiles are whole blocks of the rotation, which
  // makes that exact.
  if (rotation_signs_) rotate_back(Later(*rotation_signs_, first / 8), coordinates);
  std::copy_n(coordinates.begin(), mean.size(), mean.begin());
  return {};
}

Result<std::vector<double>> RoundSum::peek_mean(uint64_t first, uint64_t count, uint64_t divisor) const {
  COT_ASSERT(!is_encoded() && !is_quantized() && first + count <= plan_.update.value_count);
  std::vector<uint64_t> lanes(count), one(count);
  for (const FrameStream& partial : partials_) {
    COT_TRY(partial.peek(first * sizeof(uint64_t), as_writable(one)));
    add_lanes(one, lanes);
  }
  if (masks_ != nullptr) unmask(masks_->parameters, masks_->masks, first, lanes);
  // In double, not float: a pooled variance is a difference of large numbers (proto/messages/running_statistics.h).
  const double unit =
      std::ldexp(1.0 / static_cast<double>(divisor), -static_cast<int>(plan_.update.fixed_point.fraction_bits));
  std::vector<double> mean(count);
  for (uint64_t i = 0; i < count; ++i) mean[i] = static_cast<double>(static_cast<int64_t>(lanes[i])) * unit;
  return mean;
}

Status RoundSum::verify() {
  one_.resize(lane_count_ - lanes_read_);  // a digest is of all bytes, also of those that open_weight() has looked at
  for (FrameStream& partial : partials_) {
    COT_TRY(partial.read(as_writable(one_)));
    COT_TRY(partial.verify());
  }
  return {};
}

}  // namespace coterie
