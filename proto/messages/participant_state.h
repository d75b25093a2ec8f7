// What a device must remember between two steps of its session, so that an app may be killed at any moment.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "proto/messages/checkin.h"
#include "proto/messages/ledger_head.h"
#include "proto/messages/personal_settings.h"
#include "proto/messages/pinned_keys.h"
#include "proto/messages/population_log.h"
#include "proto/messages/secagg.h"
#include "proto/messages/state_kind.h"

namespace coterie {

enum class ParticipantPhase : uint8_t {
  unenrolled = 1,  // has no identity at this server yet
  idle,            // will check in at wait_until
  assigned,        // holds a ticket; next: plan
  planned,         // has the plan; next: model
  training,        // has plan and model; next: train (resumes from its checkpoint)
  trained,         // the update lies encoded on disk; next: upload
  aggregating,     // as trained, of a plan that asks for secure aggregation; next: the session's messages
};

// What this device's updates have cost it, by what their plans promised.
struct DeviceSpent {
  double epsilon = 0;  // sums over all attempts that an update may have left in: basic composition
  double delta = 0;
  std::optional<RoundKey> last;  // the attempt that was counted last
  friend bool operator==(const DeviceSpent&, const DeviceSpent&) = default;
};

inline constexpr size_t kOpeningsRememberedMax = 256;  // models

// How often this device's update of one model was opened, or its answer for one column.
struct ModelOpenings {
  Digest model;          // or what plans with analytics look at: device_sdk/client/opening_key.h
  uint32_t sums = 0;     // to whose opening this device gave its shares
  bool is_told = false;  // below level active one has left, which a server that lies can read
  friend bool operator==(const ModelOpenings&, const ModelOpenings&) = default;
};

// State of a job whose devices keep something (state_kind.h): a vector, in a file of the device's own. It belongs to
// what this says: the file's digest is over all of it.
struct StateSlot {
  StateKind kind = StateKind::none;  // never none
  ModelVersion version;              // of the model that was trained from when it was made
  Digest model;                      // that one
  Digest before;   // content of the state that this one goes on from, so that it names all of its past; zero: none
  Digest content;  // device_sdk/agent/state_files.h
  friend bool operator==(const StateSlot&, const StateSlot&) = default;
};

// A state is kept when the update that it belongs to is counted. An attempt of a round may be lost with all its
// receipts, and is then made again from the same model: so the one before is kept until a newer model is assigned.
struct KeptState {
  StateSlot slot;
  std::optional<StateSlot> previous = {};         // of the same job; older
  WallTime used{};                                // when its job's last update was counted, by the server's clock
  std::optional<PersonalSettings> personal = {};  // which of the model's values they are; none: of another kind
  friend bool operator==(const KeptState&, const KeptState&) = default;
};

inline constexpr size_t kStatesKeptMax = 16;                    // jobs; of more the one used longest ago goes
inline constexpr Millis kStateUnusedMax{30ll * 24 * 3600'000};  // a job that has not counted an update since has ended

struct ParticipantState {
  ParticipantPhase phase = ParticipantPhase::unenrolled;
  DeviceId device;
  Population population;
  PinnedKeys keys;                              // the server's: pinned at enrollment, and those that came after it
  std::optional<Assignment> assignment;         // present from `assigned` on
  uint32_t failures = 0;                        // since the server last was content with us
  WallTime wait_until{};                        // do nothing before
  std::array<uint64_t, 4> random{};             // jitter
  std::map<JobId, ModelVersion> newest_models;  // highest version ever accepted, per job: older ones are refused
  uint64_t rounds_done = 0;
  Bytes plan;              // the assignment's, as it came; from `planned` on, so that a new life can judge it again
  DeviceSpent spent = {};  // counted before an update can leave
  // By job, of those in newest_models: the model version that the newest update which may have left was
  // trained from.
  std::map<JobId, ModelVersion> took_part = {};
  // Likewise, of those in took_part: attempts of that version's round that an update may have left in.
  std::map<JobId, uint32_t> attempts = {};
  std::map<JobId, LedgerHead> ledgers = {};  // likewise: the longest that a plan had; with records
  // Likewise: the highest level of a plan that this device went on with, above none.
  std::map<JobId, SecurityLevel> levels = {};
  // The models opened last, at most kOpeningsRememberedMax; the newest opening last.
  std::vector<ModelOpenings> openings = {};
  bool has_opened = false;                // while aggregating: this session's opening is counted
  bool has_masked = false;                // likewise: the session's masked update may have left
  std::optional<SignedLogHead> log = {};  // of its population: the longest that a plan had and a proof led to
  std::optional<Refusal> refusal = {};    // of a plan, until the server has heard of it
  std::map<JobId, KeptState> states = {};
  std::optional<StateSlot> staged = {};  // from the end of training until the update's fate is known
  // When a trained device heard that its round is over without the update, which a later one may count; the epoch: it
  // did not. And that later one; none: it is asked for.
  WallTime late_since{};
  std::optional<Assignment> joined = {};
  float joined_weight = 0;  // kept: another libm may round it otherwise; 0: nothing is joined
  bool is_late() const { return late_since != WallTime(); }
  friend bool operator==(const ParticipantState&, const ParticipantState&) = default;
};

}  // namespace coterie
