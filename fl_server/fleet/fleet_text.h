// The texts that servers of a fleet leave each other in the FleetStore, as JSON: what a node says of itself, and the
// board of the one that leads. Keys that are not known are passed over, so that servers of two versions understand each
// other.
//
// What does not parse is data_loss: nobody but a server writes there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/messages/checkin.h"
#include "scheduler/fleet/fleet_tally.h"
#include "scheduler/round/round_view.h"

namespace coterie {

// A round as the board has it. What is not here is in the plan, which the assignment names.
struct PostedRound {
  JobId job;
  Population population;
  RoundKey key;
  uint64_t number = 0;
  RoundState state = RoundState::collecting;
  uint32_t weight = 1;
  uint32_t goal_count = 0;
  std::optional<uint64_t> updates_due = {};
  Bytes assignment;  // encoded, signed, with a ticket that is none
  TicketShares shares;
  friend bool operator==(const PostedRound&, const PostedRound&) = default;
};

struct PostedBoard {
  std::string owner_url;  // of whoever keeps the sessions of secure aggregation; empty: nowhere
  std::vector<PostedRound> rounds;
  uint32_t nodes = 0;                           // that talk to devices; 0: not known
  std::map<Population, uint64_t> steered = {};  // by all of them (FleetTally)
  friend bool operator==(const PostedBoard&, const PostedBoard&) = default;
};

std::string to_text(const NodeReport& report);
std::string to_text(const PostedBoard& board);
// Without node and incarnation: the row has them.
Result<NodeReport> node_report_from_text(std::string_view text);
Result<PostedBoard> board_from_text(std::string_view text);

}  // namespace coterie
