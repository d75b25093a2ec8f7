// A device's state as a correction uses it and moves it (proto/messages/drift_correction.h): one place for the agent
// and for `coterie simulate`, so that a simulated device trains as a real one, bit for bit.
#pragma once

#include <span>
#include <vector>

#include "device_sdk/runtime/train_options.h"
#include "proto/messages/running_statistics.h"

namespace coterie {

// All vectors are as long as what an update says of the model, and `parameters` are places in them: those of an update
// with the trained values alone have nothing else (proto/messages/trained_values.h).

// The options of a training by `settings` that goes on from this state; empty: from zeros.
// `control`: the server's, of a plan with a control part; empty: zeros. The gradient's offset is as long as they are.
TrainOptions options_with_state(const TrainingSettings& settings, uint64_t seed, std::vector<float> state,
                                std::span<const float> control = {});

// The control part of an update whose steps have come to `trained` (drift_correction.h, scaffold). Values that are no
// parameter's are 0. `part` is as long as `trained`; `control` as above.
void make_control_part(const TrainingSettings& settings, uint64_t steps, std::span<const ValueRange> parameters,
                       std::span<const float> trained, std::span<const float> control, std::span<float> part);

// The same of a plan whose corrections need the gradient at the given model (needs_gradient), which is `gradient`.
// `state`: the device's own; empty: zeros.
void make_gradient_part(const DriftCorrection& correction, std::span<const ValueRange> parameters,
                        std::span<const float> gradient, std::span<const float> state, std::span<float> part);

// The state after an update of this job is counted: `delta` is what leaves the device, limited and all, so that server
// and device move by the same. Values that are no parameter's are 0. Precondition: the correction keeps a state, which
// is empty or as long as what `delta` says of the model.
std::vector<float> next_state(const DriftCorrection& correction, std::span<const ValueRange> parameters,
                              std::span<const float> state, std::span<const float> delta);

}  // namespace coterie
