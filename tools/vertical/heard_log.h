// HeardLog: what a party has heard of its peer, as a digest for each name, in a file that only grows. A run that goes
// on repeats some of what was said, and what the party answers has the same keys and masks as before: so its peer must
// say the same as before, or hear nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "tools/vertical/checked_log.h"
#include "vertical/link/frame.h"

namespace coterie {

// Which of the peer's messages, the same in each repetition.
struct HeardName {
  vertical::StageId stage = vertical::StageId::hello;
  uint16_t part = 0;  // the stage's own numbers
  uint32_t unit = 0;  // likewise: a regression's step, or how many came before
  friend auto operator<=>(const HeardName&, const HeardName&) = default;
};

class HeardLog {
 public:
  HeardLog() = default;  // keeps nothing
  // What a write that was cut off has left at the file's end was never answered, and is removed.
  static Result<HeardLog> open(const std::string& file);

  // Durable when it returns. `refused` with the reason "replay_differs" if something else came by this name before.
  Status hear(const HeardName& name, ByteView what);
  // It begins anew.
  Status clear();

 private:
  CheckedLog log_;
  std::map<HeardName, Digest> heard_;
};

}  // namespace coterie
