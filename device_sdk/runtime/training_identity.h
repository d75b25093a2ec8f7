// The identity of a training: everything that its bits depend on beside the model and the seed, in one canonical
// encoding. A checkpoint carries it, and whoever goes on from one has the same or is told what differs (ADR 58).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "device_sdk/runtime/train_options.h"

namespace coterie {

// Lines of name=value, in an order that is always the same; equal if and only if what they stand for is. A value of
// more than 64 bytes, or not of printable ASCII, is given by its digest, so the text stays below
// kTrainingIdentityBytesMax.
//
// An option that is not in it changes no bit (threads, memory), comes from the checkpoint (seed), or says only when
// training ends: `steps_in_all` counts where the schedule follows it. `data`: of the examples, where they have one.
std::string training_identity(const TrainOptions& options, uint64_t steps_in_all, const std::optional<Digest>& data);

// The names whose values differ, or that only one of the two has, by the alphabet: "learning_rate, optimizer".
std::string identity_difference(std::string_view a, std::string_view b);

}  // namespace coterie
