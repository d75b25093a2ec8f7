// The texts that servers of a fleet leave each other in the FleetStore, as JSON: what a node says of itself, and the
// board of the one that leads. Keys that are not known are passed over and no key ever changes its meaning, so that
// servers of two versions understand each other.
//
// What does not parse is data_loss: nobody but a server writes there.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "scheduler/fleet/posted_board.h"

namespace coterie {

std::string to_text(const NodeReport& report);
std::string to_text(const PostedBoard& board);

// Without node and incarnation: the row has them.
Result<NodeReport> node_report_from_text(std::string_view text);

// Boards that a server before 1.1 wrote have no plans: then `plan_of` says which one an assignment names. Its error is
// returned.
using PlanOf = std::function<Result<Plan>(const Assignment&)>;
Result<PostedBoard> board_from_text(std::string_view text, const PlanOf& plan_of);

}  // namespace coterie
