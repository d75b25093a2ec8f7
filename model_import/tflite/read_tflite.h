// TFLite bytes to a table. The only code that knows the format's FlatBuffers.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "model_import/tflite/tflite_model.h"

namespace coterie::model_import {

// Limits of what is read; a file over one of them is `too_large`.
inline constexpr uint64_t kTfliteFileBytesMax = (1ull << 31) - 1;  // FlatBuffers' own
inline constexpr uint32_t kTfliteDepthMax = 8;                     // tables inside tables; the format has 5
inline constexpr uint32_t kTfliteTablesMax = 1u << 18;
inline constexpr size_t kTfliteTensorsMax = 32'768, kTfliteOperatorsMax = 16'384;
inline constexpr size_t kTfliteOperandsMax = 1u << 18;  // of all operators together
inline constexpr size_t kTfliteScalesMax = 1u << 22;    // of all tensors together
inline constexpr size_t kTfliteNameBytesMax = 512;      // longer names are cut, not refused
// Buffers may be shared; the constants together are at most so many times as large as the file.
inline constexpr uint64_t kTfliteSharedMax = 4;

// Whether the bytes say that they are TFLite: the identifier TFL3.
bool is_tflite(ByteView file);

// Errors: malformed (not a FlatBuffer of the format; an index, a shape, an enumeration out of range; data that does not
// fill its shape; an operator before what it reads), too_large, invalid_argument (several subgraphs; data outside of
// the FlatBuffer; sparse tensors; types and quantisations that are not read; operators that are not read: all of them,
// each with its name and the first place).
Result<TfliteModel> read_tflite(ByteView file);

}  // namespace coterie::model_import
