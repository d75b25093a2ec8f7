// StoredPartials: the partial sums of a round as they are stored, opened and compared with their rows.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "fl_server/finalize/frame_stream.h"
#include "fl_server/store/accept_store.h"
#include "proto/codec/codec.h"

namespace coterie {

class AttemptCalls;

struct StoredPartials {
  std::vector<FrameStream> streams;
  std::vector<uint64_t> updates;       // in each of them
  std::vector<uint64_t> lanes;         // of each
  RoundTotals totals;                  // as the rows have them
  std::optional<NormHistogram> norms;  // of all updates; none unless each partial has them of its own
};

// `fits`: whether a partial of this header is one of the round's kind: so many lanes for so many updates. data_loss if
// a partial is not what its row says, or does not fit. `calls` hears of the question about rows.
Result<StoredPartials> open_partials(const RoundKey& key, AcceptStore& accepts, BlobStore& store,
                                     const AttemptCalls& calls,
                                     const std::function<bool(const PartialSumHeader&)>& fits);

// data_loss unless the whole blob has the digest that it is named by: before a byte of it is believed, where values are
// read out of order later. Precondition: nothing of it was read but by peek().
Status verify_whole(FrameStream& partial);

}  // namespace coterie
