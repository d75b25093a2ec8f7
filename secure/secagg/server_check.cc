// What is true of a session between two messages, whoever sent them.
#include <algorithm>

#include "base/assert.h"
#include "secure/secagg/server.h"

namespace coterie::secagg {

void Server::check() const {
  COT_INVARIANT(by_public_key_.size() == roster_.size(), "every identity has one place in the roster");
  for (const auto& [key, place] : by_public_key_) {
    COT_INVARIANT(place < size() && roster_[place].advert.identity.public_key == key,
                  "the place of an identity has that identity's advert");
  }
  COT_INVARIANT(keys_.size() == 2 * roster_.size(), "no key is advertised twice");
  COT_INVARIANT(tree_.has_value() == (phase_ > Phase::advertising), "a roster has a tree from its end on");
  COT_INVARIANT(graph_.has_value() == (phase_ >= Phase::sharing), "who holds whose shares is known from sharing on");
  COT_INVARIANT((opening_ != nullptr) == (phase_ == Phase::unmasking), "masks are opened once shares are asked for");
  for (uint32_t device = 0; device < size(); ++device) check_member(device);
  check_survivors();
}

void Server::check_member(uint32_t device) const {
  const Member& member = roster_[device];
  COT_INVARIANT(!member.choice || phase_ >= Phase::choosing, "holders are chosen from a roster that is closed");
  COT_INVARIANT(!member.shares || phase_ >= Phase::sharing, "shares are sealed for holders that are known");
  COT_INVARIANT(phase_ < Phase::masking || !present_[device] || member.shares, "who takes part has shared");
  COT_INVARIANT(!member.input || (phase_ >= Phase::masking && present_[device]), "an update is of one that takes part");
  COT_INVARIANT(!member.confirmation || (phase_ >= Phase::confirming && parameters_.is_active() && survived_[device]),
                "survivors confirm, and nobody else");
  COT_INVARIANT(!member.unmasking || (phase_ == Phase::unmasking && asked_[device]),
                "shares are opened by those who were asked, once they were");
}

// A session whose inputs were closed and were too few stays before this phase.
void Server::check_survivors() const {
  if (phase_ < Phase::confirming) return;
  COT_INVARIANT(std::ranges::adjacent_find(survivors_, std::ranges::greater_equal()) == survivors_.end(),
                "survivors are in order, each once");
  COT_INVARIANT(survivors_.size() >= parameters_.survivors_min, "a sum that is opened has survivors enough");
  for (uint32_t device = 0; device < size(); ++device) {
    const bool survives = std::ranges::binary_search(survivors_, device);
    COT_INVARIANT(survives == survived_[device] && survives == roster_[device].input.has_value(),
                  "the survivors are those with an update");
    COT_INVARIANT(phase_ != Phase::unmasking || !asked_[device] || survives, "only survivors are asked for shares");
  }
}

}  // namespace coterie::secagg
