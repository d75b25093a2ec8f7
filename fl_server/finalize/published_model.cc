#include "fl_server/finalize/published_model.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "fl_server/finalize/frame_stream.h"
#include "fl_server/finalize/value_bytes.h"
#include "proto/codec/codec.h"
#include "proto/delta/model_delta.h"

namespace coterie {
namespace {

constexpr uint64_t kPieceValues = 128 * kDeltaBlockValues;

Error does_not_fit(const std::string& what) { return Error(ErrorCode::data_loss, "finalize: " + what); }

// Two versions of a model, read side by side.
class TwoVersions {
 public:
  static Result<TwoVersions> open(BlobStore& blobs, const Digest& base, const Digest& next) {
    COT_ASSIGN(FrameStream before, FrameStream::open(blobs, base, FrameKind::model));
    COT_ASSIGN(FrameStream after, FrameStream::open(blobs, next, FrameKind::model));
    const Result<ModelGraph> graph = decode_model_head(after.prelude(), after.header());
    if (!graph) return does_not_fit("the next model cannot be read: " + graph.error().message());
    if (before.prelude().payload_bytes != after.prelude().payload_bytes) {
      return does_not_fit("the base model has another size than the next");
    }
    return TwoVersions(std::move(before), std::move(after), delta_ranges(*graph));
  }

  const Bytes& head() const { return next_.head(); }
  std::span<const DeltaRange> ranges() const { return ranges_; }
  // Calls visit(range, base, next) for all values in their order, in pieces that begin with a block; range: null where
  // no tensor is. Then looks at both digests.
  using Visit = std::function<Status(const DeltaRange*, std::span<float>, std::span<const float>)>;
  Status for_each(const Visit& visit) {
    const uint64_t count = next_.prelude().payload_bytes / sizeof(float);
    uint64_t at = 0;
    for (const DeltaRange& range : ranges_) {
      COT_TRY(read(nullptr, range.values.first - at, visit));
      COT_TRY(read(&range, range.values.count, visit));
      at = range.values.first + range.values.count;
    }
    COT_TRY(read(nullptr, count - at, visit));
    COT_TRY(base_.verify());
    return next_.verify();
  }

 private:
  TwoVersions(FrameStream base, FrameStream next, std::vector<DeltaRange> ranges)
      : base_(std::move(base)), next_(std::move(next)), ranges_(std::move(ranges)) {}

  Status read(const DeltaRange* range, uint64_t count, const Visit& visit) {
    for (uint64_t at = 0; at < count; at += base_values_.size()) {
      base_values_.resize(std::min(kPieceValues, count - at));
      next_values_.resize(base_values_.size());
      COT_TRY(base_.read(as_writable(base_values_)));
      COT_TRY(next_.read(as_writable(next_values_)));
      COT_TRY(visit(range, base_values_, next_values_));
    }
    return {};
  }

  FrameStream base_, next_;
  std::vector<DeltaRange> ranges_;
  std::vector<float> base_values_, next_values_;
};

struct Rounded {
  Digest model;
  uint64_t delta_bytes = 0;  // of the payload
};

// The next version as devices will have it. Nothing: it is off the range of float32 somewhere, which the computed one
// is not.
Result<std::optional<Rounded>> write_rounded(BlobStore& blobs, TwoVersions versions, uint32_t bits) {
  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs.create());
  COT_TRY(writer->append(versions.head()));
  Rounded rounded;
  bool fits = true;
  Bytes payload;
  COT_TRY(versions.for_each([&](const DeltaRange* range, std::span<float> base, std::span<const float> next) -> Status {
    if (range != nullptr && fits) {
      payload.clear();
      fits = append_moved(*range, next, bits, base, payload).has_value();
      rounded.delta_bytes += payload.size();
    }
    return fits ? writer->append(as_readable(base)) : Status();
  }));
  if (!fits) return std::optional<Rounded>();
  COT_ASSIGN(rounded.model, writer->finish());
  return std::optional(rounded);
}

Result<Digest> write_delta(BlobStore& blobs, TwoVersions versions, uint32_t bits, ByteView head) {
  COT_ASSIGN(const std::unique_ptr<BlobWriter> writer, blobs.create());
  COT_TRY(writer->append(head));
  Bytes payload;
  COT_TRY(versions.for_each([&](const DeltaRange* range, std::span<float> base, std::span<const float> next) -> Status {
    if (range == nullptr) return {};
    payload.clear();
    COT_TRY(append_moved(*range, next, bits, base, payload));
    return writer->append(payload);
  }));
  return writer->finish();
}

// A delta of this payload as a file.
Bytes delta_head(const Digest& base, const Digest& result, uint32_t bits, uint64_t payload_bytes) {
  return encode_head(ModelDelta{.base = base, .result = result, .bits = bits}, payload_bytes);
}

// A chain that costs as much as the model is of no use to anybody.
void shorten(std::vector<DeltaFile>& deltas, uint64_t model_bytes) {
  uint64_t bytes = 0;
  size_t kept = 0;
  while (kept < deltas.size() && kept < kDeltaChainMax) {
    // From the newest back: a device applies the deltas from the version it has up to the newest, one behind the other.
    bytes += deltas[deltas.size() - 1 - kept].bytes;
    if (bytes >= model_bytes) break;
    ++kept;
  }
  deltas.erase(deltas.begin(), deltas.end() - static_cast<std::ptrdiff_t>(kept));
}

}  // namespace

Status publish(BlobStore& blobs, const DownloadSettings& download, const ModelRecord& base, ModelRecord& next) {
  if (!download.is_on() || download.is_keyframe(next.version.value())) return {};
  const Digest computed = next.digest;
  const auto open = [&] { return TwoVersions::open(blobs, base.digest, computed); };
  COT_ASSIGN(TwoVersions first_pass, open());
  // Before anything is written: what is written and then not named is litter until its age is seen.
  const uint64_t most = payload_bytes_max(first_pass.ranges(), download.bits);
  if (delta_head(base.digest, computed, download.bits, most).size() + most >= next.bytes) return {};
  // A delta's head names the digest of its result, which is known only when all of that is written. So the models are
  // read a second time for the delta.
  COT_ASSIGN(const std::optional<Rounded> rounded, write_rounded(blobs, std::move(first_pass), download.bits));
  if (!rounded) return {};
  const Bytes head = delta_head(base.digest, rounded->model, download.bits, rounded->delta_bytes);
  const uint64_t bytes = head.size() + rounded->delta_bytes;
  COT_ASSIGN(TwoVersions second_pass, open());
  COT_ASSIGN(const Digest delta, write_delta(blobs, std::move(second_pass), download.bits, head));
  // A device that takes the file and one that takes deltas must come to the same bits: so the version is the rounded
  // model, and the computed one is kept as `exact`.
  next.digest = rounded->model;
  next.exact = computed;
  next.deltas = base.deltas;
  next.deltas.push_back({.base = base.digest, .file = delta, .bytes = bytes});
  shorten(next.deltas, next.bytes);
  return {};
}

}  // namespace coterie
