// What the job key training.adaptive_mu makes of a job: FedProx whose mu follows the loss (Li, Sahu, Zaheer, Sanjabi,
// Talwalkar and Smith, "Federated Optimization in Heterogeneous Networks", MLSys 2020, section 5.3.2 and appendix
// C.3.3). With step s, bounds [0, max] and the loss L_v of version v:
//
//   L_v > L_(v-1)                                  mu <- min(mu + s, max)
//   L fell in `falls` rounds in a row              mu <- max(mu - s, 0), and counting begins anew
//
// The loss is the evaluation's, on the data that the job holds out. It is of the same examples in each round, to the
// same bits on every server and in a simulation, and no device says it. Sums of the devices' training losses are none
// of these: each round has other devices, they are added in the order of arrival, and one device can lie. With noise
// the evaluation is of what was released already, and costs nothing more.
//
// mu is committed with the version that it follows from, so that an attempt that is retried, a restart and a leader
// that takes over give devices the same one. All is pure.
#pragma once

#include <optional>

#include "scheduler/job/horizontal_settings.h"
#include "scheduler/job/settings_checker.h"

namespace coterie {

void check_adaptive_mu(const HorizontalSettings& settings, SettingsChecker& check);

// The devices' mu in a round: that of its row (RoundRecord), or the job's where there is none.
float proximal_mu_of(const HorizontalSettings& settings, const std::optional<double>& row);

// The state of a version, from that of the version before (none: the job's first) and both losses. A loss that is not
// known is no fall, and no rise. Precondition: the job has adaptive_mu.
AdaptiveMu next_adaptive_mu(const HorizontalSettings& settings, const std::optional<AdaptiveMu>& before,
                            const std::optional<double>& loss_before, const std::optional<double>& loss);

}  // namespace coterie
