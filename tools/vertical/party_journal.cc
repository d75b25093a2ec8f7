#include "tools/vertical/party_journal.h"

#include <sys/file.h>

#include <algorithm>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr uint64_t kJournalFileBytesMax = uint64_t{5} << 30;  // a matching of as many ids as there may be
constexpr std::array<uint8_t, 4> kJournalMagic{'C', 'V', 'J', '1'};
constexpr size_t kDigestBytes = 32;
constexpr size_t kTermsBytes = 16 + 2 * kDigestBytes;
// `run` is written first and makes a journal of a folder.
constexpr const char *kRunFile = "run", *kPeerFile = "peer", *kMatchingFile = "matching", *kModelFile = "model",
                     *kPredictedFile = "predicted", *kLockFile = "lock";
constexpr std::array<const char*, kCommittedUnitsMax> kTrainingFiles = {"training.0", "training.1"};

void append_digest(Bytes& to, const Digest& digest) { to.insert(to.end(), digest.bytes.begin(), digest.bytes.end()); }

template <typename T>
void append_count(Bytes& to, T value) {
  for (size_t i = 0; i < sizeof value; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

template <typename T>
T count_at(ByteView bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= T{bytes[at + i]} << (8 * i);
  return value;
}

Bytes terms_bytes(const JournalTerms& terms) {
  Bytes bytes(terms.job.begin(), terms.job.end());
  append_digest(bytes, terms.manifest);
  append_digest(bytes, terms.inputs);
  return bytes;
}

Error damaged(const std::string& file) { return Error(ErrorCode::data_loss, file + ": it is not as it was written"); }

constexpr size_t kMatchingHeaderBytes = 8 + kDigestBytes;
constexpr size_t kCheckpointHeaderBytes = 4 + kDigestBytes;

Bytes matching_bytes(const JournalMatching& matching) {
  Bytes bytes;
  bytes.reserve(kMatchingHeaderBytes + matching.rows.size() * 4);
  append_count(bytes, matching.peer_ids);
  append_digest(bytes, matching.root);
  for (const uint32_t row : matching.rows) append_count(bytes, row);
  return bytes;
}

Digest digest_of(ByteView bytes) {
  Digest digest;
  std::ranges::copy(bytes, digest.bytes.begin());
  return digest;
}

}  // namespace

Result<PartyJournal> PartyJournal::open(const std::string& folder, const JournalTerms& terms) {
  PartyJournal journal(folder);
  if (folder.empty()) {
    fill_random(journal.secret_.mutable_bytes());
    return journal;
  }
  COT_TRY(os::make_directories(folder));
  COT_ASSIGN(journal.lock_, os::File::open_append(folder + "/" + kLockFile));
  if (::flock(journal.lock_.fd(), LOCK_EX | LOCK_NB) != 0) {
    return Error(ErrorCode::refused, folder + ": another process runs this party", "journal_in_use");
  }
  COT_TRY(journal.has(kRunFile) ? journal.read_all(terms) : journal.begin(terms));
  return journal;
}

Status PartyJournal::begin(const JournalTerms& terms) {
  // What an erase() that was cut off has left.
  COT_TRY(erase_files());
  fill_random(secret_.mutable_bytes());
  Bytes bytes = terms_bytes(terms);
  const auto secret = secret_.reveal();
  bytes.insert(bytes.end(), secret.begin(), secret.end());
  const Status written = write(kRunFile, bytes);
  wipe(bytes);
  return written;
}

Status PartyJournal::read_all(const JournalTerms& terms) {
  COT_ASSIGN(Bytes run, read(kRunFile));
  if (run.size() != kTermsBytes + Secret<32>::kSize) return damaged(folder_ + "/" + kRunFile);
  if (!std::ranges::equal(ByteView(run).first(kTermsBytes), terms_bytes(terms))) {
    // Nobody has heard a word of it.
    if (!has(kPeerFile)) return begin(terms);
    return Error(ErrorCode::refused,
                 folder_ +
                     ": this journal was begun for another job, another manifest, table or model; end that job, "
                     "or remove the folder if it is over",
                 "journal_differs");
  }
  std::ranges::copy(ByteView(run).subspan(kTermsBytes), secret_.mutable_bytes().begin());
  wipe(run);
  if (has(kPeerFile)) {
    COT_ASSIGN(const Bytes bytes, read(kPeerFile));
    if (bytes.size() != kDigestBytes) return damaged(folder_ + "/" + kPeerFile);
    peer_ = digest_of(bytes);
  }
  if (has(kMatchingFile)) {
    COT_ASSIGN(const Bytes bytes, read(kMatchingFile));
    if (bytes.size() < kMatchingHeaderBytes || (bytes.size() - kMatchingHeaderBytes) % 4 != 0) {
      return damaged(folder_ + "/" + kMatchingFile);
    }
    JournalMatching& matching = matching_.emplace();
    matching.peer_ids = count_at<uint64_t>(bytes, 0);
    matching.root = digest_of(ByteView(bytes).subspan(8, kDigestBytes));
    for (size_t at = kMatchingHeaderBytes; at < bytes.size(); at += 4) {
      matching.rows.push_back(count_at<uint32_t>(bytes, at));
    }
  }
  for (size_t file = 0; file < kTrainingFiles.size(); ++file) {
    if (!has(kTrainingFiles[file])) continue;
    COT_ASSIGN(Bytes bytes, read(kTrainingFiles[file]));
    if (bytes.size() < kCheckpointHeaderBytes) return damaged(folder_ + "/" + kTrainingFiles[file]);
    JournalCheckpoint& checkpoint = checkpoints_.emplace_back().checkpoint;
    checkpoints_.back().file = file;
    checkpoint.unit = count_at<uint32_t>(bytes, 0);
    checkpoint.state = digest_of(ByteView(bytes).subspan(4, kDigestBytes));
    checkpoint.bytes.assign(bytes.begin() + kCheckpointHeaderBytes, bytes.end());
    wipe(bytes);
  }
  sort_checkpoints();
  if (has(kModelFile)) {
    COT_ASSIGN(model_, read(kModelFile));
  }
  is_predicted_ = has(kPredictedFile);
  return {};
}

bool PartyJournal::has(const std::string& name) const { return os::exists(folder_ + "/" + name); }

Status PartyJournal::write(const std::string& name, ByteView payload) const {
  if (folder_.empty()) return {};
  Bytes bytes(kJournalMagic.begin(), kJournalMagic.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  append_digest(bytes, sha256(bytes));
  const Status written = os::write_file_atomically(folder_ + "/" + name, bytes);
  wipe(bytes);
  return written;
}

Result<Bytes> PartyJournal::read(const std::string& name) const {
  const std::string file = folder_ + "/" + name;
  COT_ASSIGN(Bytes bytes, os::read_file(file, kJournalFileBytesMax));
  if (bytes.size() < kJournalMagic.size() + kDigestBytes) return damaged(file);
  const ByteView whole = ByteView(bytes).first(bytes.size() - kDigestBytes);
  if (!std::ranges::equal(whole.first(kJournalMagic.size()), kJournalMagic) ||
      digest_of(ByteView(bytes).last(kDigestBytes)) != sha256(whole)) {
    return damaged(file);
  }
  Bytes payload(whole.begin() + kJournalMagic.size(), whole.end());
  wipe(bytes);
  return payload;
}

Secret<32> PartyJournal::seed(std::string_view purpose) const {
  DomainFields name("coterie/v1/party-journal");
  name.add(purpose);
  return hkdf<32>({}, secret_.reveal(), name.view());
}

RunPosition PartyJournal::position() const {
  RunPosition position{.journal = digest_of(seed("name").reveal())};
  if (matching_) position.matched = matching_->root;
  for (const KeptCheckpoint& kept : checkpoints_) {
    position.units.push_back({.unit = kept.checkpoint.unit, .state = kept.checkpoint.state});
  }
  position.is_trained = model_.has_value();
  position.is_predicted = is_predicted_;
  return position;
}

const JournalCheckpoint* PartyJournal::checkpoint(uint32_t unit) const {
  const auto found =
      std::ranges::find_if(checkpoints_, [unit](const KeptCheckpoint& kept) { return kept.checkpoint.unit == unit; });
  return found == checkpoints_.end() ? nullptr : &found->checkpoint;
}

void PartyJournal::sort_checkpoints() {
  std::ranges::sort(checkpoints_, {}, [](const KeptCheckpoint& kept) { return kept.checkpoint.unit; });
}

Status PartyJournal::put_peer(const Digest& journal) {
  COT_TRY(write(kPeerFile, journal.view()));
  peer_ = journal;
  return {};
}

Status PartyJournal::put_matching(JournalMatching matching) {
  if (matching_ && (matching_->root != matching.root || matching_->rows != matching.rows)) {
    return Error(ErrorCode::data_loss, folder_ + ": the matching came out otherwise than before");
  }
  COT_TRY(write(kMatchingFile, matching_bytes(matching)));
  matching_ = std::move(matching);
  return {};
}

Status PartyJournal::put_checkpoint(JournalCheckpoint checkpoint) {
  // Files take turns, so that the one before is there until this one is durable, and behind. A replay writes the same
  // one again.
  size_t file = checkpoints_.empty() ? 0 : 1 - checkpoints_.back().file;
  for (const KeptCheckpoint& kept : checkpoints_) {
    if (kept.checkpoint.unit == checkpoint.unit) file = kept.file;
  }
  Bytes bytes;
  append_count(bytes, checkpoint.unit);
  append_digest(bytes, checkpoint.state);
  bytes.insert(bytes.end(), checkpoint.bytes.begin(), checkpoint.bytes.end());
  const Status written = write(kTrainingFiles[file], bytes);
  wipe(bytes);
  COT_TRY(written);
  // What the file held before is gone.
  std::erase_if(checkpoints_, [file](const KeptCheckpoint& kept) { return kept.file == file; });
  checkpoints_.push_back({.checkpoint = std::move(checkpoint), .file = file});
  sort_checkpoints();
  return {};
}

Status PartyJournal::put_model(Bytes model) {
  if (model_ && *model_ != model) {
    return Error(ErrorCode::data_loss, folder_ + ": the training ended with another model than before");
  }
  COT_TRY(write(kModelFile, model));
  model_ = std::move(model);
  return {};
}

Status PartyJournal::put_predicted() {
  COT_TRY(write(kPredictedFile, {}));
  is_predicted_ = true;
  return {};
}

Status PartyJournal::erase() {
  if (folder_.empty()) return {};
  COT_TRY(erase_files());
  return os::remove_file(folder_ + "/" + kLockFile);
}

Status PartyJournal::erase_files() {
  // The secret first: without it the rest says nothing, and without `run` a folder is no journal.
  COT_TRY(os::erase_file(folder_ + "/" + kRunFile));
  for (const char* name :
       {kTrainingFiles[0], kTrainingFiles[1], kModelFile, kMatchingFile, kPeerFile, kPredictedFile}) {
    COT_TRY(os::erase_file(folder_ + "/" + name));
  }
  return {};
}

}  // namespace coterie
