// MindSpore Lite bytes to a table. The only code that knows the format's FlatBuffers.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/mslite/mslite_model.h"

namespace coterie::model_import {

// Limits of what is read; a file over one of them is `too_large`.
inline constexpr uint64_t kMsliteFileBytesMax = (1ull << 31) - 1;  // FlatBuffers' own
inline constexpr uint32_t kMsliteDepthMax = 8;                     // tables inside tables; what is read has 4
inline constexpr uint32_t kMsliteTablesMax = 1u << 18;
inline constexpr size_t kMsliteTensorsMax = 32'768, kMsliteNodesMax = 16'384;
inline constexpr size_t kMsliteOperandsMax = 1u << 18;  // of all nodes together
inline constexpr size_t kMsliteListMax = 1'024;         // numbers in one attribute
inline constexpr size_t kMsliteNameBytesMax = 512;      // longer names are cut, not refused
// Data may be shared; the constants together are at most so many times as large as the file.
inline constexpr uint64_t kMsliteSharedMax = 4;

// Whether the bytes say that they are MindSpore Lite's: the identifier MSL2, which its versions since 1.1 write.
bool is_mslite(ByteView file);

// Errors: malformed (not a FlatBuffer of the format; an index, a shape, an enumeration out of range; data that do not
// fill their shape; a tensor that two nodes write, that none writes, or that depends on itself), too_large,
// invalid_argument (training graphs, subgraphs, obfuscated files, data in other files; quantised and compressed
// tensors; types and operators that are not read: all of the operators, each with its name and the first place).
Result<MsliteModel> read_mslite(ByteView file);

}  // namespace coterie::model_import
