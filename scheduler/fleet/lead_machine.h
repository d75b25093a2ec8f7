// LeadMachine: the side of a fleet of the one that leads, decided. It hears what the nodes say, tells the scheduler
// what that comes to, deals tickets (FleetTally), and says what the board is to say. Pure.
//
// A new leader leaves the board of the one before standing for a moment (`settle`): rounds that go on have to be heard
// of first, or nodes would take them for over. At most one write of the board is on its way, so that a board never
// replaces a newer one; a write whose outcome is not known is written again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "scheduler/fleet/fleet_tally.h"
#include "scheduler/fleet/posted_board.h"

namespace coterie {

struct LeadSettings {
  Millis poll_every{100};          // the nodes
  Millis silence_max{5'000};       // of a node, until it counts as dead
  Millis settle{1'000};            // before the first board
  Millis look_every{1'000};        // at the rows of rounds: what dead nodes did not say
  Millis forget_every{60'000};     // nodes that are gone
  Millis forget_after{3'600'000};  // of silence
};

// ---- Events
// clang-format off
struct PostRound { RoundNotice notice; };          // takes the place of any other of its job
struct UnpostRound { RoundKey key; };
struct PostDue { RoundKey key; uint64_t total; };
struct NodesHeard { Result<std::vector<NodeRow>> rows; };
struct BoardWritten { Status written; };
struct LeadTime {};
// clang-format on
using LeadEvent = std::variant<PostRound, UnpostRound, PostDue, NodesHeard, BoardWritten, LeadTime>;

// ---- Effects
// clang-format off
struct HearNodes {};                               // answer NodesHeard
struct ForgetNodes { Millis silent_for; };
struct TellNodes { uint32_t nodes; };
struct TellPool { Population population; uint64_t waiting; };
struct TellIssued { RoundKey key; uint32_t total; };
struct TellAccepted { RoundKey key; uint64_t total; };
struct LookAtAccepted { RoundKey key; };           // the rows may know more than the nodes have said
struct WriteBoard { PostedBoard board; };          // answer BoardWritten
// clang-format on
using LeadEffect =
    std::variant<HearNodes, ForgetNodes, TellNodes, TellPool, TellIssued, TellAccepted, LookAtAccepted, WriteBoard>;
using LeadEffects = std::vector<LeadEffect>;

class LeadMachine {
 public:
  // `owner_url`: where nodes reach this one for secure aggregation. Its first deadline is `now`.
  LeadMachine(LeadSettings settings, std::string owner_url, Instant now);

  LeadEffects step(const LeadEvent& event, Instant now);
  Instant next_deadline() const { return tick_at_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  void handle(const PostRound& event);
  void handle(const UnpostRound& event);
  void handle(const PostDue& event);
  void handle(const NodesHeard& event);
  void handle(const BoardWritten& event);
  void handle(const LeadTime& event);

  void tell_pools();
  void tell_rounds();
  void forget(const RoundKey& key);
  void write();

  LeadSettings settings_;
  Instant now_{};
  LeadEffects effects_;
  StepCheck step_check_;

  FleetTally tally_;
  PostedBoard board_;
  std::optional<PostedBoard> written_;  // what the store has; none: not known
  std::optional<PostedBoard> writing_;
  std::optional<uint32_t> told_nodes_;
  std::map<Population, uint64_t> told_waiting_;
  std::map<RoundKey, uint32_t> told_issued_;
  std::map<RoundKey, uint64_t> told_accepted_;
  bool is_hearing_ = false;
  Instant tick_at_;
  Instant write_from_;
  Instant look_at_;
  Instant forget_at_;
};

}  // namespace coterie
