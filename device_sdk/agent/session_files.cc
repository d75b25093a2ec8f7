#include "device_sdk/agent/session_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "base/random.h"
#include "proto/codec/codec.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr uint64_t kStateBytesMax = 1 << 20;
constexpr size_t kDigestBytes = 32;
constexpr char kSession[] = "session.state";
constexpr char kRound[] = "round.state";

// What the device may say to the server next depends on these, whoever asks and after whatever loss: an update leaves
// only when it is counted here, and no model, ledger or budget is forgotten. Answers of a session of secure aggregation
// must never be given twice in different words, so nothing of that phase is left to chance.
bool must_outlive_power_loss(const ParticipantState& before, const ParticipantState& now) {
  if (before.phase == ParticipantPhase::aggregating || now.phase == ParticipantPhase::aggregating) return true;
  return before.device != now.device || before.keys != now.keys || before.spent != now.spent ||
         before.took_part != now.took_part || before.attempts != now.attempts || before.ledgers != now.ledgers ||
         before.levels != now.levels || before.openings != now.openings || before.states != now.states;
}

// [digest of session.state][digest of what follows and of that digest][state]
Bytes round_file(const Digest& continues, ByteView state) {
  ContentDigester digester;
  digester.update(continues.view());
  digester.update(state);
  const Digest own = digester.finish();
  Bytes file(continues.bytes.begin(), continues.bytes.end());
  file.insert(file.end(), own.bytes.begin(), own.bytes.end());
  file.insert(file.end(), state.begin(), state.end());
  return file;
}

}  // namespace

Result<os::File> lock_directory(const std::string& directory) {
  COT_TRY(os::make_directories(directory));
  const std::string path = directory + "/lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return Error(ErrorCode::permission_denied, "cannot write in state directory " + directory);
  os::File lock(fd, path);
  // The system takes the lock away when the process ends, however it does. A file with a process id would outlive it.
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::conflict, "another client uses state directory " + directory);
  }
  return lock;
}

Result<ParticipantState> SessionFiles::load(uint64_t seed) {
  if (!os::exists(path(kSession))) {
    ParticipantState fresh;
    fresh.random = Prng(seed != 0 ? seed : random_u64()).state();
    return fresh;
  }
  COT_ASSIGN(Bytes session, os::read_file(path(kSession), kStateBytesMax));
  Result<ParticipantState> durable = decode_participant_state(session);
  if (!durable) return Error(ErrorCode::data_loss, path(kSession) + ": " + durable.error().message());
  durable_ = *durable;
  durable_digest_ = content_digest(session);
  newest_ = std::move(session);
  // Whatever is wrong with it, the device can do without: it is as if power had been lost.
  const Result<Bytes> file = os::read_file(path(kRound), kStateBytesMax + 2 * kDigestBytes);
  if (!file || file->size() <= 2 * kDigestBytes) return durable;
  Bytes state(file->begin() + 2 * kDigestBytes, file->end());
  // It continues exactly one session.state. Behind another one it is from before a power loss, or half written.
  if (round_file(durable_digest_, state) != *file) return durable;
  Result<ParticipantState> newest = decode_participant_state(state);
  if (!newest) return durable;
  newest_ = std::move(state);
  return newest;
}

Status SessionFiles::save(const ParticipantState& state) {
  Bytes encoded = encode(state);
  saved_ = encoded == newest_;
  if (saved_) return {};
  // Unknown until the write has succeeded: the next save writes, whatever the state is.
  newest_.clear();
  const bool has_base = durable_digest_ != Digest{};
  COT_TRY(has_base && !must_outlive_power_loss(durable_, state) ? save_for_process(encoded)
                                                                : save_for_power_loss(state, encoded));
  newest_ = std::move(encoded);
  saved_ = true;
  return {};
}

Status SessionFiles::save_for_power_loss(const ParticipantState& state, const Bytes& encoded) {
  durable_digest_ = {};  // after a failed write either may be there
  COT_TRY(os::write_file_atomically(path(kSession), encoded));
  durable_ = state;
  durable_digest_ = content_digest(encoded);
  return os::remove_file(path(kRound));  // it continues the one before
}

Status SessionFiles::save_for_process(const Bytes& encoded) {
  return os::write_file_atomically(path(kRound), round_file(durable_digest_, encoded), os::Durability::process);
}

}  // namespace coterie
