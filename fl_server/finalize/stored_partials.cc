#include "fl_server/finalize/stored_partials.h"

#include <algorithm>
#include <string>

#include "fl_server/telemetry/attempt_calls.h"

namespace coterie {
namespace {

constexpr uint64_t kDigestBytes = 1 << 20;  // of a partial at a time

}  // namespace

Result<StoredPartials> open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store,
                                     const AttemptCalls& calls,
                                     const std::function<bool(const PartialSumHeader&)>& fits) {
  COT_ASSIGN(const std::vector<PartialRecord> records,
             calls.timed("list partial sums", [&] { return accepts.list_partials(key); }));
  StoredPartials partials;
  bool all_have_norms = !records.empty();
  NormHistogram norms;
  for (const PartialRecord& record : records) {
    COT_ASSIGN(FrameStream stream, FrameStream::open(store, record.blob, FrameKind::partial_sum));
    COT_ASSIGN(const PartialSumHeader header, decode_partial_sum_head(stream.prelude(), stream.header()));
    // Row and blob were written at different times, perhaps to different machines: neither is believed alone.
    if (header.round != key || header.partial != record.id || header.updates != record.totals.updates ||
        header.weight_sum != record.totals.weight || !fits(header)) {
      return Error(ErrorCode::data_loss, "finalize: partial " + record.id + " is not what its row says");
    }
    partials.totals += record.totals;
    if (header.norms) norms += *header.norms;
    else all_have_norms = false;
    partials.updates.push_back(header.updates);
    partials.lanes.push_back(header.value_count);
    partials.streams.push_back(std::move(stream));
  }
  if (all_have_norms) partials.norms = norms;
  return partials;
}

Status verify_whole(FrameStream& partial) {
  std::vector<uint8_t> bytes;
  for (uint64_t at = 0; at < partial.prelude().payload_bytes; at += bytes.size()) {
    bytes.resize(std::min(kDigestBytes, partial.prelude().payload_bytes - at));
    COT_TRY(partial.read(bytes));
  }
  return partial.verify();
}

}  // namespace coterie
