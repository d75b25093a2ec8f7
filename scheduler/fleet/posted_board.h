// PostedBoard: what the one that leads has the nodes of its fleet know. It goes through the store as text
// (fl_server/fleet/fleet_text.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/fleet/fleet_tally.h"
#include "scheduler/round/round_notice.h"

namespace coterie {

struct PostedBoard {
  std::string owner_url;  // of whoever keeps the sessions of secure aggregation; empty: nowhere
  // At most one of each job. Their ticket_count is of the whole round, and their assignments have no ticket.
  std::vector<RoundNotice> rounds;
  std::map<RoundKey, TicketShares> shares = {};  // of those rounds; a node that is in none has none
  uint32_t nodes = 0;                            // that talk to devices; 0: not known
  std::map<Population, uint64_t> steered = {};   // by all of them (FleetTally)
  friend bool operator==(const PostedBoard&, const PostedBoard&) = default;
};

}  // namespace coterie
