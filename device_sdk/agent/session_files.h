// SessionFiles: a device's session on its disk, in two files, so that a round waits for the disk as seldom as it may.
//
//   session.state   what a loss of power must not take: who the device is, what it has spent, which model it has taken
//                   part with, which ledgers it has seen; and all of a session of secure aggregation
//   round.state     how far the present round has come since. It outlives the death of the process, so that an app may
//                   be killed at any moment and go on. After a loss of power it may be gone or torn: then the device
//                   goes on from session.state, as if it had been away since, and the server answers a repetition with
//                   what it has.
//
// round.state names the session.state that it continues by digest, and its own content: one that continues another, or
// is torn, is no more than litter. Not thread-safe; the caller holds the directory's lock.
#pragma once

#include <string>

#include "base/os/file.h"
#include "base/result.h"
#include "proto/messages/participant_state.h"

namespace coterie {

// Makes the directory if it is not there, and holds it for this process. conflict if another client does;
// permission_denied if nobody may write there.
Result<os::File> lock_directory(const std::string& directory);

class SessionFiles {
 public:
  explicit SessionFiles(std::string directory) : directory_(std::move(directory)) {}

  // The newest state that is there; a new one, whose jitter is drawn from `seed` (0: from the system), if there is
  // none. data_loss if session.state is damaged.
  Result<ParticipantState> load(uint64_t seed);
  // Makes `state` the one that load() finds; without a change to the one before, nothing is written. After a failure
  // either may be found, and saved() is false until a save succeeds.
  Status save(const ParticipantState& state);
  bool saved() const { return saved_; }

 private:
  std::string path(const char* name) const { return directory_ + "/" + name; }
  Status save_for_power_loss(const ParticipantState& state, const Bytes& encoded);
  Status save_for_process(const Bytes& encoded);

  std::string directory_;
  ParticipantState durable_;  // as session.state has it
  Digest durable_digest_;     // content of session.state; zero: there is none, or nobody knows
  Bytes newest_;              // what load() would find, encoded; empty: not known
  bool saved_ = true;
};

}  // namespace coterie
