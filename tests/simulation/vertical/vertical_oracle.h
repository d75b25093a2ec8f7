// VerticalOracle: what must be so in a world of vertical jobs, by what the coordinator stores, tells and carries and by
// what parties write; not by what any machine thinks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/vertical/frame_whitelist.h"
#include "tests/simulation/vertical/matcher_oracle.h"
#include "tests/simulation/vertical/vertical_job.h"
#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/link/frame.h"

namespace coterie::simulation {

// A type of message, and who said it to whom in what.
struct SaidType {
  VerticalModel model = VerticalModel::trees;
  Way way;
  vertical::StageId stage = vertical::StageId::hello;
  uint16_t kind = 0;
  friend auto operator<=>(const SaidType&, const SaidType&) = default;
};

struct VerticalVerdict {
  uint64_t jobs = 0, done = 0, cancelled = 0, given_up = 0;
  uint64_t rings = 0, ring_kills = 0;  // of them: done by more than two parties, and kills of those
  uint64_t kills = 0, coordinator_kills = 0, cuts = 0, stalls = 0, pauses = 0;
  uint64_t meetings = 0, replayed = 0;  // units that a party wrote once more
  uint64_t events = 0, trace = 0xcbf29ce484222325;
  // What must not be.
  uint64_t wrong = 0;         // a model that is not the undisturbed run's
  uint64_t stuck = 0;         // a job without an end
  uint64_t unexplained = 0;   // an end that nothing that happened explains
  uint64_t replayed_far = 0;  // more than one unit in a meeting
  uint64_t unapproved = 0;    // words of parties whose manifest not all of them have approved
  uint64_t off_list = 0;      // a message of a type that the stage does not have in this direction
  uint64_t illegal = 0;       // a state of a job that cannot follow the one before
  uint64_t untrue = 0;        // somebody was told what is not stored
  uint64_t leaked = 0;        // words of a job outside of it, or while it does not run
  uint64_t dealt_alike = 0;   // the same random numbers in two jobs
  uint64_t mismatched = 0;    // a matcher named other places than those of the tags that all lists have
  std::set<SaidType> said;    // types of messages that were on the list
  std::string first_problem;

  uint64_t problems() const {
    return wrong + stuck + unexplained + replayed_far + unapproved + off_list + illegal + untrue + leaked +
           dealt_alike + mismatched;
  }
  bool clean() const { return problems() == 0; }
  VerticalVerdict& operator+=(const VerticalVerdict& other);
};

class VerticalOracle {
 public:
  VerticalOracle(uint64_t seed, const std::vector<VerticalJob>& jobs);

  // ---- The coordinator
  void stored(const vertical::JobRecord& record);
  void told(ByteView answer);
  // Two parties are paired, or all of them have come to a matcher: what they say begins anew.
  void paired(size_t job, Way way);
  void matcher_begins(size_t job);
  // A piece of words gets to somebody who came for job `to_job`; nobody: to somebody who was refused.
  void carried(size_t job, Way way, ByteView bytes, std::optional<size_t> to_job);
  void dealt(size_t job, vertical::PartyIndex to, ByteView first_frame);
  const vertical::JobRecord* record(size_t job) const;

  // ---- The parties
  void met(size_t job, vertical::PartyIndex party);
  void wrote_checkpoint(size_t job, vertical::PartyIndex party, uint32_t unit);

  // ---- The end
  void may_be(size_t job, vertical::JobState state, const std::string& reason) {
    explained_[job].insert({state, reason});
  }
  void ended(size_t job, const Digest& model, const Digest& undisturbed);

  void note(uint64_t value);
  void problem(uint64_t VerticalVerdict::*kind, const std::string& what);
  VerticalVerdict& verdict() { return verdict_; }

 private:
  // What one says to another.
  struct Words {
    Bytes unread;
    bool is_broken = false;
  };
  struct Progress {
    uint32_t unit_max = 0, replayed = 0;
  };
  // Buckets whose masked ids the label party has said.
  struct Buckets {
    uint32_t begun = 0;
    std::set<uint32_t> repeated;  // in this meeting
  };
  void read_frames(size_t job, Way way, Words& words);
  void read_matcher(size_t job, Way way, uint16_t kind, ByteView payload);
  void said_bucket(size_t job, uint32_t bucket);
  std::optional<size_t> index_of(const vertical::VerticalJobId& job) const;
  std::string name(size_t job) const;

  uint64_t seed_;
  const std::vector<VerticalJob>& jobs_;
  std::map<size_t, vertical::JobRecord> records_;
  std::map<std::pair<size_t, Way>, Words> words_;
  std::map<size_t, MatcherOracle> matchers_;
  std::map<size_t, Buckets> buckets_;
  std::map<std::pair<size_t, vertical::PartyIndex>, Progress> progress_;
  std::map<size_t, std::set<std::pair<vertical::JobState, std::string>>> explained_;
  std::map<Bytes, size_t> dealt_;  // first words -> whose
  VerticalVerdict verdict_;
};

}  // namespace coterie::simulation
