// What is done to the lanes of a masked sum, whether it is of all cohorts of a round or of one: masks come off, and the
// check lanes are looked at. Lanes lie in 64 bits whatever width updates have.
#pragma once

#include <span>

#include "secure/mask/mask_sum.h"
#include "secure/secagg/check_lanes.h"

namespace coterie {

// `masks`: of all sessions in the sum. Behind it a lane has the ring's bits alone.
void unmask(const secagg::SessionParameters& parameters, std::span<const MaskSum> masks, uint64_t first_lane,
            std::span<uint64_t> sum);

// As secagg::verify_check_lanes.
Status verify_checks(const secagg::SessionParameters& parameters, std::span<const secagg::SummedSession> sessions,
                     std::span<const uint64_t> checks);

// Each weight came masked, so that none could be looked at: what is left is to ask whether their sum is possible.
// data_loss if it is not.
Status check_weight_sum(uint64_t weight_sum, uint64_t updates, uint64_t weight_max);

}  // namespace coterie
