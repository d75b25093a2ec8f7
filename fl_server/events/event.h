// What happens on a server, as typed facts: one word for each, the same in the log, in the metrics' source and in the
// stream that operators read. An event says what is true from now on, never who a device is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/job/records.h"

namespace coterie {

enum class CanaryState : uint8_t;

namespace event {

// One attempt at a round, as the store names it and as the job counts it.
struct RoundName {
  RoundKey key;
  uint64_t number = 0;  // 1, 2, ... within the job
};

// clang-format off
// ---- Of a job
struct JobCreated { std::string name; };
struct JobStateChanged { JobState state; };      // by an operator
struct JobCompleted { uint64_t rounds; };        // so many are done: all of them
struct JobFailed { std::string reason; };        // also when its privacy budget admits no further release
struct ModelReleased { ModelVersion version; bool rolled_back; };
struct CanaryChanged { std::string id; ModelVersion version; CanaryState state; uint32_t heard; };

// ---- Of a vertical job, which is a coordinator's: as it is now. `stage`: the last that a party has begun; empty: none
struct VerticalJobChanged {
  std::string state, reason, stage;
  uint32_t approvals = 0;  // of its parties
  friend bool operator==(const VerticalJobChanged&, const VerticalJobChanged&) = default;
};

// ---- Of a job's round, in the order of its states
struct RoundOpened { RoundName round; };
struct RoundCollecting { RoundName round; };
struct RoundExtended { RoundName round; };       // too few updates at the deadline: it moves
struct UpdatesAccepted { RoundName round; uint64_t total; };
struct RoundFrozen { RoundName round; };
struct RoundFinalizing { RoundName round; };
struct FinalizeFailed { RoundName round; std::string reason; };  // and may be tried again
struct RoundFailed { RoundName round; std::string reason; };
// clang-format on
struct RoundDone {
  RoundName round;
  uint64_t updates = 0;
  ModelVersion version;  // of the model that it made
  std::optional<double> evaluation_loss = {};
  std::optional<double> evaluation_accuracy = {};
  std::optional<double> evaluation_mae = {}, evaluation_r2 = {};  // of a job whose targets are numbers
  std::vector<EvaluatedHead> evaluation_heads = {};               // of a job with heads
  std::optional<WatchOutcome> watch = {};                         // of a job that is watched
};

// clang-format off
// ---- Of the server; they have no job
struct ServerLeads { uint64_t epoch; };          // of a fleet
struct NodesChanged { uint32_t nodes; };         // so many talk to devices
// clang-format on

using What = std::variant<JobCreated, JobStateChanged, JobCompleted, JobFailed, ModelReleased, CanaryChanged,
                          VerticalJobChanged, RoundOpened, RoundCollecting, RoundExtended, UpdatesAccepted, RoundFrozen,
                          RoundFinalizing, FinalizeFailed, RoundFailed, RoundDone, ServerLeads, NodesChanged>;

// Its name in the log and in the stream: "round_done".
std::string_view kind(const What& what);
// The reason or the name in it; empty: it has none.
std::string_view text(const What& what);

}  // namespace event

struct Event {
  uint64_t seq = 0;  // 1, 2, ... of one log
  WallTime time;
  JobId job;  // empty: of the server
  event::What what;
  std::string tenant = {};  // that has the job; empty: nobody has said, or it is of the server
  // What readers are told (event_json). The log makes it once, and all streams share it.
  std::string json = {};
};

}  // namespace coterie
