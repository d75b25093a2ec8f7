// Rounds of virtual devices whose frames are made one by one, by the code of the agent, and added up as a server does:
// their model is to be the simulation's, bit for bit.
#pragma once

#include <functional>

#include "tests/unit/tools/simulated_ranks.h"

namespace coterie::test {

class FramedRounds : public SimulatedRanks {
 protected:
  // `next`: whom round n counts, n from 1 on.
  void expect_the_model_of_frames(const std::function<VirtualRound(uint64_t round)>& next);

 private:
  // What a device sends that was asked by the round of `version`, to the round that begins with version `joined`.
  Bytes frame_of(const Model& model, uint32_t device, uint64_t version, uint64_t joined, const Plan& plan) const;
};

}  // namespace coterie::test
