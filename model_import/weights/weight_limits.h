// The named limits of a file of weights. It comes from a stranger: over a limit is `too_large`, never an allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coterie::model_import {

inline constexpr uint64_t kWeightFileBytesMax = 1ull << 36;  // 64 GiB: the file is mapped, tensors are read one by one
inline constexpr size_t kWeightTensorsMax = 65'536;          // and members of an archive
inline constexpr size_t kWeightNameBytesMax = 1024;
inline constexpr size_t kWeightRankMax = 8;
inline constexpr uint64_t kWeightElementsMax = 1ull << 31;  // of one tensor

}  // namespace coterie::model_import
