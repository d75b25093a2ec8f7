// Every set of devices as likely as any other: what theorems about federated averaging, and amplification by sampling,
// presuppose.
#include "scheduler/selection/selection_rule.h"

namespace coterie::selection {

extern const SelectionRule kUniform = {
    .name = "uniform",
    .sentence = "each set of the devices that wait is as likely as any other",
    .source = "McMahan et al. 2017, algorithm 1",
    .settings = {},
    .candidates = [](uint64_t tickets, std::span<const float>) { return tickets; },
};

}  // namespace coterie::selection
