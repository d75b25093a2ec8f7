// A batch of accepted updates on its way into the store: its rows, and what the store said to it.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "proto/messages/checkin.h"
#include "scheduler/job/records.h"

namespace coterie {

// One row of the store: this device is counted in this attempt.
struct AcceptRow {
  DeviceId device;
  uint64_t examples = 0;  // that it trained on, as it says, with repetition; 0: it does not say
  friend bool operator==(const AcceptRow&, const AcceptRow&) = default;
};

// What has become of a device's update in an attempt of a round.
struct UpdateFate {
  bool is_accepted = false;
  bool is_over = false;       // nothing will change it
  bool is_forgotten = false;  // rows of the attempt are gone (retention): without a row it may be counted all the same
  friend bool operator==(const UpdateFate&, const UpdateFate&) = default;
};

// What the store said to a batch.
// clang-format off
struct BatchDone {};
struct BatchConflict { std::vector<DeviceId> accepted_before; };  // by id; nothing was written
// The round takes no more updates; nothing was written.
struct BatchClosed {};
struct BatchFailed { Error error; };                              // nothing was written, certainly
struct BatchUnknown { Error error; };                             // perhaps written: ask again under the same id
// clang-format on
using BatchOutcome = std::variant<BatchDone, BatchConflict, BatchClosed, BatchFailed, BatchUnknown>;

// A partial sum: a blob of lanes, and the totals of the updates in it.
struct PartialRecord {
  std::string id;  // node/incarnation/sequence: the idempotence key of accept_batch
  RoundKey key;
  RoundTotals totals;
  Digest blob;
  friend bool operator==(const PartialRecord&, const PartialRecord&) = default;
};

}  // namespace coterie
