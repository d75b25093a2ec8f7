// Devices that see the same world through unlike sensors: what the splits feature:noise and feature:rotate do to
// inputs; or that call things otherwise: what labels:turned does to labels.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "tools/data/example_table.h"
#include "tools/data/partition.h"

namespace coterie {

// Whether the split can change such inputs. Errors: invalid_argument (rotation of what is no image; noise on int32).
Status check_shift(const DataSplit& split, const DatasetHeader& header);

// Changes the inputs of `shard`, which is device `device` (from 0) of `devices`; any other split changes nothing. A
// uint8 pixel stays in [0, 255]; what turns into an image from outside is 0. The same arguments give the same bytes.
// Precondition: check_shift.
void shift_features(ExampleTable& shard, const DataSplit& split, uint32_t device, uint32_t devices, uint64_t seed);

// How many of each class device `device` has, of those that `classes` counts before.
std::vector<uint32_t> shifted_counts(const DataSplit& split, uint32_t device, std::vector<uint32_t> classes);

}  // namespace coterie
