// MemberMachine: a node's side of a fleet, decided. It reads the board again and again, tells the node what changed on
// it, and says how the node is. Pure.
//
//   board --ReadBoard--> BoardAnswered --> ServeRound, EndRound, TellDue     to the node's device plane
//   the node's counts --> PoolNoted, ... --> SayReport                       to the store, when something changed
//
// Everything is a repetition: a board that is not read and a report that is not said are replaced by the next. The
// machine has at most one read of the board on its way, so that boards are applied in the order they were read in.
//
// A round on the board is served again only if something but `updates_due` changed: serving it draws devices anew.
#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "scheduler/fleet/node_report.h"
#include "scheduler/fleet/posted_board.h"

namespace coterie {

struct MemberSettings {
  Millis poll_every{100};     // the board
  Millis say_every{1'000};    // a report at least so often, and at most one a poll
  bool serves_rounds = true;  // there is a device plane to tell of rounds
};

// ---- Events
// clang-format off
// No board: it is the one that is known.
struct BoardAnswered { Status read; uint64_t revision = 0; std::optional<PostedBoard> board = {}; };
struct ReportSaid { NodeReport report; };                                   // the store has it
struct PoolNoted { Population population; uint64_t waiting; };
struct SteeredNoted { Population population; uint64_t count; };
struct IssuedNoted { RoundKey key; uint32_t total; };
struct LackingNoted { RoundKey key; uint64_t devices; };
struct AcceptedNoted { RoundKey key; uint64_t total; };
struct LookAtBoard {};                                                      // now; BoardLookedAt is the answer
struct DrainMember {};                                                      // the node is about to leave
struct MemberTime {};
// clang-format on
using MemberEvent = std::variant<BoardAnswered, ReportSaid, PoolNoted, SteeredNoted, IssuedNoted, LackingNoted,
                                 AcceptedNoted, LookAtBoard, DrainMember, MemberTime>;

// ---- Effects
// clang-format off
struct ReadBoard { uint64_t known_revision; };                              // answer BoardAnswered
struct TellOwner { std::string url; };                                      // of the sessions of secure aggregation
struct TellFleet { std::map<Population, uint64_t> steered; uint32_t nodes; };
struct ServeRound { RoundNotice notice; };                                  // its ticket_count is this node's share
struct EndRound { RoundKey key; };
struct TellDue { RoundKey key; uint64_t total; };
struct CountLacking {};                                                     // LackingNoted and SteeredNoted, soon
// The load is the shell's to add; answer ReportSaid.
struct SayReport { NodeReport report; };
// The node has heard of what is on it, if it could be read.
struct BoardLookedAt {};
// clang-format on
using MemberEffect = std::variant<ReadBoard, TellOwner, TellFleet, ServeRound, EndRound, TellDue, CountLacking,
                                  SayReport, BoardLookedAt>;
using MemberEffects = std::vector<MemberEffect>;

class MemberMachine {
 public:
  // `self`: who this node is; what it counts is added. Its first deadline is `now`.
  MemberMachine(MemberSettings settings, NodeReport self, Instant now)
      : settings_(settings), report_(std::move(self)), tick_at_(now) {}

  MemberEffects step(const MemberEvent& event, Instant now);
  Instant next_deadline() const { return tick_at_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  void handle(const BoardAnswered& event);
  void handle(const ReportSaid& event);
  void handle(const PoolNoted& event) { report_.waiting[event.population] = event.waiting; }
  void handle(const SteeredNoted& event) { report_.steered[event.population] = event.count; }
  void handle(const IssuedNoted& event);
  void handle(const LackingNoted& event);
  void handle(const AcceptedNoted& event);
  void handle(const LookAtBoard& event);
  void handle(const DrainMember& event);
  void handle(const MemberTime& event);

  void read_board();
  void apply(const PostedBoard& board);
  void apply_round(const RoundNotice& notice);
  void forget(const RoundKey& key);
  bool has_news() const;

  MemberSettings settings_;
  Instant now_{};
  MemberEffects effects_;
  StepCheck step_check_;

  NodeReport report_;  // its load is never set
  NodeReport said_;
  Instant said_at_{};
  Instant tick_at_;
  bool may_say_ = false;  // at the next board that is read: a node that cannot read is not in touch

  uint64_t revision_ = 0;  // of the board that is applied
  bool is_reading_ = false;
  bool is_looked_for_ = false;  // somebody waits for the read on its way
  bool look_again_ = false;     // somebody asked after it was sent
  std::map<RoundKey, RoundNotice> served_;
};

}  // namespace coterie
