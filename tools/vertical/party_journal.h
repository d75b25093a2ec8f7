// PartyJournal: what a party keeps of a job that runs, so that a run which is cut off anywhere goes on: the seed of all
// that it draws, which other party it met and how often, what that one said, what was matched in each bucket and in
// all, checkpoints of the training and what it has finished before, its part of the model.
//
// A folder, readable by the owner alone, of files that are written whole and durably, each with a digest of its own;
// only what was heard, matched and finished grows (heard_log.h, bucket_log.h, grown_log.h). It holds secrets: with what
// the other party has seen, the seed and the shares would say what they hide. erase() ends it: what is there then is
// overwritten. A checkpoint that another one has replaced before is only removed, and its bytes are gone when the file
// system takes their place.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/os/file.h"
#include "base/result.h"
#include "secure/crypto/secret.h"
#include "tools/vertical/bucket_log.h"
#include "tools/vertical/grown_log.h"
#include "tools/vertical/heard_log.h"
#include "vertical/resume/run_position.h"

namespace coterie {

// How often a party meets its peer in one job at most. Trees are drawn anew in each meeting, so that a peer which does
// not follow the protocol could ask something else each time.
constexpr uint32_t kMeetingsMax = 1024;

// What a journal belongs to: a party that comes back with anything else would send other values under the same masks.
struct JournalTerms {
  std::array<uint8_t, 16> job{};
  Digest manifest;
  Digest inputs;  // over the party's files (party_inputs.h)
};

struct JournalMatching {
  uint64_t peer_ids = 0;            // of two parties: how many the other one has
  std::vector<uint64_t> party_ids;  // of more: how many each has, by its number
  Digest root;                      // the same at all parties
  std::vector<uint32_t> rows;       // of the party's table, in the matched order
};

// A training behind so many units: steps, or levels of trees.
struct JournalCheckpoint {
  uint32_t unit = 0;
  Digest state;  // the same at both parties
  Bytes bytes;   // what the training goes on from
  friend bool operator==(const JournalCheckpoint&, const JournalCheckpoint&) = default;
};

class PartyJournal {
 public:
  // An empty folder's name: nothing is kept, and a run that is lost is lost. `refused` with the reason "journal_in_use"
  // if another process has it, "journal_differs" if it was begun with other terms and has met a peer; data_loss, with
  // the file's name, for one that is not as it was written.
  static Result<PartyJournal> open(const std::string& folder, const JournalTerms& terms);

  // Uniform and secret, one for each purpose, the same each time.
  Secret<32> seed(std::string_view purpose) const;
  vertical::RunPosition position() const;

  // The other party's journal, or the digest of all others', once they met.
  const std::optional<Digest>& peer() const { return peer_; }
  const std::optional<JournalMatching>& matching() const { return matching_; }
  // BucketLog::behind()'s.
  Result<KeptBuckets> buckets_behind(uint32_t buckets) const { return buckets_.behind(buckets); }
  // The one behind so many units, which position() names; null for 0.
  const JournalCheckpoint* checkpoint(uint32_t unit) const;
  // What the training has finished for good, by numbers from 0.
  Result<std::vector<Bytes>> grown() const { return grown_.read(); }
  const std::optional<Bytes>& model() const { return model_; }

  // What the peer says, durable before this party answers; of the whole job, or of a regression's step, which is known
  // until nobody can go back to it. HeardLog::hear()'s errors.
  Status hear(const HeardName& name, ByteView what);
  Status hear_step(const HeardName& name, ByteView what);

  // Durable when they return. A matching or a model that was there must be the same: data_loss. `refused` with the
  // reason "meetings_full" for one meeting more than kMeetingsMax.
  Status put_meeting();
  Status put_peer(const Digest& journal);
  Status put_bucket(const KeptBuckets& bucket);
  Status put_matching(JournalMatching matching);
  // Before the first checkpoint that counts on it. GrownLog::put()'s.
  Status put_grown(uint32_t number, ByteView bytes) { return grown_.put(number, bytes); }
  Status put_checkpoint(JournalCheckpoint checkpoint);
  // Hears of each bucket and of each checkpoint that was put, by its unit; `units_all` is of a matching, 0 of a
  // training, which knew it before. Called on the thread that puts it.
  using Watch = std::function<void(uint32_t unit, uint32_t units_all)>;
  void watch_checkpoints(Watch watch) { watch_ = std::move(watch); }
  Status put_model(Bytes model);
  Status put_predicted();

  // The job is over, and nobody will ask again. What a killed write left behind goes, too.
  Status erase();

 private:
  explicit PartyJournal(std::string folder) : folder_(std::move(folder)) {}
  Status begin(const JournalTerms& terms);
  Status read_all(const JournalTerms& terms);
  Status open_logs();
  Status erase_files();
  Result<bool> has_begun() const;
  void sort_checkpoints();
  Status write(const std::string& name, ByteView payload) const;
  Result<Bytes> read(const std::string& name) const;
  bool has(const std::string& name) const;

  std::string folder_;
  os::File lock_;
  bool is_predicted_ = false;
  Secret<32> secret_;
  std::optional<Digest> peer_;
  std::optional<JournalMatching> matching_;
  struct KeptCheckpoint {
    JournalCheckpoint checkpoint;
    size_t file = 0;  // which of the two
  };
  std::vector<KeptCheckpoint> checkpoints_;  // at most two, the later one last
  std::optional<Bytes> model_;
  uint32_t meetings_ = 0;
  Watch watch_;
  BucketLog buckets_;
  GrownLog grown_;
  HeardLog heard_;
  std::array<HeardLog, vertical::kCommittedUnitsMax> heard_steps_;  // behind each checkpoint, by its file
};

}  // namespace coterie
