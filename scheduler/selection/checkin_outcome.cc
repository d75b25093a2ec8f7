#include "scheduler/selection/checkin_outcome.h"

#include "base/assert.h"

namespace coterie {
namespace {

constexpr std::string_view kNobody = "no round needs this device now";

struct Words {
  std::string_view name, sentence;
};
constexpr Words kWords[] = {
    {"ticket", ""},
    {"ticket_again", ""},
    {"joined", ""},
    {"not_drawn", kNobody},
    {"no_place", kNobody},
    {"resting", kNobody},
    {"counted", kNobody},
    {"no_round", kNobody},
    {"desk_full", "the server holds as many devices as it can"},
    {"replaced", "replaced by a newer check-in of the same device"},
    {"gone", ""},
    {"stopping", "this server is about to stop"},
    {"unsupported", "unsupported: the round that collects asks for what this device's version does not know"},
};
static_assert(std::size(kWords) == kCheckinOutcomes);

const Words& words_of(CheckinOutcome outcome) {
  const auto index = static_cast<size_t>(outcome);
  COT_ASSERT(index < kCheckinOutcomes);
  return kWords[index];
}

}  // namespace

std::string_view to_string(CheckinOutcome outcome) { return words_of(outcome).name; }
std::string_view sentence_of(CheckinOutcome outcome) { return words_of(outcome).sentence; }

}  // namespace coterie
