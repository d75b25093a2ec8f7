// RunPosition: how far a party has come in a job, by what it keeps of it; and where two parties go on together when
// they meet again. Both say theirs behind the link's hello, and neither goes on behind what the other one has.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

// A point of a stage that both parties can go on from.
struct CommittedUnit {
  uint32_t unit = 0;  // how many are done: buckets of a matching; of a training steps, or levels of trees
  Digest state;       // the same at both parties
  friend bool operator==(const CommittedUnit&, const CommittedUnit&) = default;
};

constexpr size_t kCommittedUnitsMax = 2;  // parties are never more than one apart

struct RunPosition {
  Digest journal;                      // names what the party keeps: another one if it begins anew
  std::vector<CommittedUnit> buckets;  // of the matching, at most kCommittedUnitsMax, the later one last
  std::optional<Digest> matched;       // the matching is done; the same at both parties
  std::vector<CommittedUnit> units;    // of the training, likewise
  bool is_trained = false;
  bool is_predicted = false;  // all that the job is for is durable
  friend bool operator==(const RunPosition&, const RunPosition&) = default;
};

// What is not done again.
struct RunStart {
  uint32_t buckets = 0;  // behind which the matching goes on, unless it is done; 0: its begin
  bool is_matched = false;
  uint32_t unit = 0;  // behind which the training goes on; 0: its begin
  bool is_trained = false;
  bool is_predicted = false;
};

// `peer_journal`: the peer's of an earlier meeting. `refused` with the reason "journal_differs" if it has another one
// now, as one that lost its folder has: what it would send under the same masks could be something else. Likewise if
// one has less than the other one's earlier point, as no party that keeps its journal has: nobody can have a stage
// repeated from farther back. data_loss if both have something that must be the same and is not.
Result<RunStart> common_start(const RunPosition& own, const RunPosition& peers,
                              const std::optional<Digest>& peer_journal);

// What all of these parties have, as if they were one whose journal is called so: a party of more than two goes on from
// what it and all others have. data_loss as above.
Result<RunPosition> common_position(std::span<const RunPosition> positions, const Digest& journal);

// Both say their positions.
class PositionExchange final : public Stage {
 public:
  PositionExchange(const RunPosition& own, PartyIndex peer);

  std::optional<Message> next() override;
  Status receive(const Message& message) override;
  bool done() const override { return is_said_ && peers_.has_value(); }
  const RunPosition& peers() const { return *peers_; }  // when done()

 private:
  RunPosition own_;
  PartyIndex peer_;
  bool is_said_ = false;
  std::optional<RunPosition> peers_;
};

// The last word of a run: a party says it when all of its results are durable. Whoever has heard it can go, as the
// other one needs nothing any more.
class Farewell final : public Stage {
 public:
  explicit Farewell(PartyIndex peer) : peer_(peer) {}

  std::optional<Message> next() override;
  Status receive(const Message& message) override;
  bool done() const override { return is_said_ && is_heard_; }

 private:
  PartyIndex peer_;
  bool is_said_ = false, is_heard_ = false;
};

}  // namespace coterie::vertical
