#include "tools/vertical/party_journal.h"

#include <sys/file.h>

#include <algorithm>

#include "secure/crypto/domain_fields.h"
#include "secure/crypto/hkdf.h"
#include "secure/crypto/random.h"
#include "secure/crypto/sha256.h"
#include "vertical/stage/wire.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr uint64_t kJournalFileBytesMax = uint64_t{5} << 30;  // a matching of as many ids as there may be
constexpr std::array<uint8_t, 4> kJournalMagic{'C', 'V', 'J', '2'};
constexpr size_t kDigestBytes = 32;
constexpr size_t kTermsBytes = 16 + 2 * kDigestBytes;
// `run` is written first and makes a journal of a folder.
constexpr const char *kRunFile = "run", *kPeerFile = "peer", *kMatchingFile = "matching", *kModelFile = "model",
                     *kPredictedFile = "predicted", *kMeetingsFile = "meetings", *kHeardFile = "heard",
                     *kBucketsFile = "buckets", *kGrownFile = "grown", *kLockFile = "lock";
constexpr std::array<const char*, kCommittedUnitsMax> kTrainingFiles = {"training.0", "training.1"};
// What was heard behind the checkpoint in the file of this number; before the first one, which is in 0, those of 1.
constexpr std::array<const char*, kCommittedUnitsMax> kHeardStepsFiles = {"heard.0", "heard.1"};
constexpr size_t kFirstHeardSteps = 1;
// The secret first: without it the rest says nothing, and without `run` a folder is no journal.
constexpr std::array kErasedFiles = {kRunFile,      kTrainingFiles[0],   kTrainingFiles[1],   kModelFile,
                                     kMatchingFile, kPeerFile,           kPredictedFile,      kMeetingsFile,
                                     kHeardFile,    kHeardStepsFiles[0], kHeardStepsFiles[1], kBucketsFile,
                                     kGrownFile};
constexpr std::string_view kUnfinished = ".unfinished.";  // base/os/temporary_file.h

Bytes terms_bytes(const JournalTerms& terms) {
  WireWriter writer;
  writer.raw(terms.job);
  writer.digest(terms.manifest);
  writer.digest(terms.inputs);
  return writer.take();
}

Error damaged(const std::string& file) { return Error(ErrorCode::data_loss, file + ": it is not as it was written"); }

constexpr size_t kMatchingHeaderBytes = 8 + kDigestBytes;
constexpr int kPartiesShift = 56;

Bytes matching_bytes(const JournalMatching& matching) {
  WireWriter writer;
  writer.reserve(kMatchingHeaderBytes + matching.rows.size() * 4);
  // The count stands in the upper byte, as no party has so many ids: 0 of two parties.
  writer.u64(matching.peer_ids | uint64_t{matching.party_ids.size()} << kPartiesShift);
  writer.digest(matching.root);
  for (const uint64_t ids : matching.party_ids) writer.u64(ids);
  for (const uint32_t row : matching.rows) writer.u32(row);
  return writer.take();
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
  COT_ASSIGN(const bool has_begun, journal.has_begun());
  COT_TRY(has_begun ? journal.read_all(terms) : journal.begin(terms));
  COT_TRY(journal.open_logs());
  return journal;
}

// A zero in front: an erase() that was cut off among the bytes, or between them and the name, or a disk that had not
// yet what it was given.
Result<bool> PartyJournal::has_begun() const {
  if (!has(kRunFile)) return false;
  COT_ASSIGN(const Bytes bytes, os::read_file(folder_ + "/" + kRunFile, kJournalFileBytesMax));
  return !bytes.empty() && bytes.front() != 0;
}

Status PartyJournal::open_logs() {
  COT_ASSIGN(grown_, GrownLog::open(folder_ + "/" + kGrownFile));
  COT_ASSIGN(buckets_, BucketLog::open(folder_ + "/" + kBucketsFile));
  COT_ASSIGN(heard_, HeardLog::open(folder_ + "/" + kHeardFile));
  for (size_t file = 0; file < heard_steps_.size(); ++file) {
    COT_ASSIGN(heard_steps_[file], HeardLog::open(folder_ + "/" + kHeardStepsFiles[file]));
  }
  return {};
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
    WireReader reader(bytes);
    JournalMatching& matching = matching_.emplace();
    const uint64_t first = reader.u64();
    matching.peer_ids = first & ((uint64_t{1} << kPartiesShift) - 1);
    matching.root = reader.digest();
    for (uint64_t party = 0; party < first >> kPartiesShift; ++party) matching.party_ids.push_back(reader.u64());
    if (!reader.ok()) return damaged(folder_ + "/" + kMatchingFile);
    while (!reader.rest().empty()) matching.rows.push_back(reader.u32());
  }
  for (size_t file = 0; file < kTrainingFiles.size(); ++file) {
    if (!has(kTrainingFiles[file])) continue;
    COT_ASSIGN(Bytes bytes, read(kTrainingFiles[file]));
    WireReader reader(bytes);
    JournalCheckpoint& checkpoint = checkpoints_.emplace_back().checkpoint;
    checkpoints_.back().file = file;
    checkpoint.unit = reader.u32();
    checkpoint.state = reader.digest();
    if (!reader.ok()) return damaged(folder_ + "/" + kTrainingFiles[file]);
    checkpoint.bytes.assign(reader.rest().begin(), reader.rest().end());
    wipe(bytes);
  }
  sort_checkpoints();
  if (has(kModelFile)) {
    COT_ASSIGN(model_, read(kModelFile));
  }
  is_predicted_ = has(kPredictedFile);
  if (has(kMeetingsFile)) {
    COT_ASSIGN(const Bytes bytes, read(kMeetingsFile));
    WireReader reader(bytes);
    meetings_ = reader.u32();
    if (!reader.ended()) return damaged(folder_ + "/" + kMeetingsFile);
  }
  return {};
}

bool PartyJournal::has(const std::string& name) const { return os::exists(folder_ + "/" + name); }

Status PartyJournal::write(const std::string& name, ByteView payload) const {
  if (folder_.empty()) return {};
  Bytes bytes;
  bytes.reserve(kJournalMagic.size() + payload.size() + kDigestBytes);
  bytes.assign(kJournalMagic.begin(), kJournalMagic.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  const Digest digest = sha256(bytes);
  bytes.insert(bytes.end(), digest.bytes.begin(), digest.bytes.end());
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
  RunPosition position{.journal = digest_of(seed("name").reveal()), .buckets = buckets_.newest()};
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

Status PartyJournal::hear(const HeardName& name, ByteView what) { return heard_.hear(name, what); }

Status PartyJournal::hear_step(const HeardName& name, ByteView what) {
  size_t file = kFirstHeardSteps;
  for (const KeptCheckpoint& kept : checkpoints_) {
    if (kept.checkpoint.unit <= name.unit) file = kept.file;
  }
  // common_start() goes back no farther.
  COT_ASSERT(checkpoints_.size() < kCommittedUnitsMax || checkpoints_[0].checkpoint.unit <= name.unit);
  return heard_steps_[file].hear(name, what);
}

Status PartyJournal::put_meeting() {
  if (meetings_ >= kMeetingsMax) {
    return Error(ErrorCode::refused,
                 folder_ + ": the parties have met " + std::to_string(meetings_) +
                     " times in this job, and may not once more; submit another job",
                 "meetings_full");
  }
  WireWriter writer;
  writer.u32(meetings_ + 1);
  COT_TRY(write(kMeetingsFile, writer.take()));
  ++meetings_;
  return {};
}

Status PartyJournal::put_peer(const Digest& journal) {
  COT_TRY(write(kPeerFile, journal.view()));
  peer_ = journal;
  return {};
}

Status PartyJournal::put_bucket(const KeptBuckets& bucket) {
  COT_TRY(buckets_.put(bucket));
  if (watch_) watch_(bucket.matched.buckets, bucket.matched.buckets_all);
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
  bool is_new = true;
  for (const KeptCheckpoint& kept : checkpoints_) {
    if (kept.checkpoint.unit != checkpoint.unit) continue;
    file = kept.file;
    is_new = false;
  }
  WireWriter writer;
  writer.reserve(4 + kDigestBytes + checkpoint.bytes.size());
  writer.u32(checkpoint.unit);
  writer.digest(checkpoint.state);
  writer.raw(checkpoint.bytes);
  Bytes bytes = writer.take();
  const Status written = write(kTrainingFiles[file], bytes);
  wipe(bytes);
  COT_TRY(written);
  // What the file held before is gone, and nobody goes back to what was said behind it.
  if (is_new) COT_TRY(heard_steps_[file].clear());
  std::erase_if(checkpoints_, [file](const KeptCheckpoint& kept) { return kept.file == file; });
  const uint32_t unit = checkpoint.unit;
  checkpoints_.push_back({.checkpoint = std::move(checkpoint), .file = file});
  sort_checkpoints();
  if (watch_) watch_(unit, 0);
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
  for (const char* name : kErasedFiles) COT_TRY(os::erase_file(folder_ + "/" + name));
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(folder_));
  for (const std::string& name : names) {
    const auto is_of = [&name](const char* file) {
      return name.starts_with(std::string(file) + std::string(kUnfinished));
    };
    if (std::ranges::any_of(kErasedFiles, is_of)) COT_TRY(os::erase_file(folder_ + "/" + name));
  }
  return {};
}

}  // namespace coterie
