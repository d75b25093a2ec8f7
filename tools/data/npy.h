// NumPy's .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) as examples.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model_io/input_contract.h"
#include "tools/data/example_table.h"

namespace coterie {

enum class NpyType : uint8_t { uint8, integer, real };

struct NpyArray {
  NpyType type = NpyType::real;
  Shape shape;                 // the first size counts examples
  Bytes bytes;                 // uint8: the elements
  std::vector<double> values;  // of the others

  size_t rows() const { return static_cast<size_t>(shape[0]); }
  double at(size_t i) const { return type == NpyType::uint8 ? bytes[i] : values[i]; }
};

// Takes versions 1 to 3, in the order of C, little-endian or of one byte: bool, int8 to int64, uint8 to uint32, float32
// and float64. Errors say what was expected: malformed, unsupported_version, too_large.
Result<NpyArray> parse_npy(ByteView file);

// The target of each row: integers are classes, and so are numbers as csv_target tells. `is_number` overrules it.
// Several a row (of trainings with several heads, device_sdk/runtime/loss_heads.h) are as they stand there: integers
// are classes from 0 on, and others numbers, of which some may be classes. Errors name the row, counted from 0:
// malformed (not finite, a class that is negative), invalid_argument (more sizes than two), too_large (more than 2^16
// classes).
Result<ContractTarget> npy_target(const NpyArray& y, std::optional<bool> is_number);
Result<std::vector<int32_t>> npy_labels(const NpyArray& y, const ContractTarget& target);

// Rows of numbers (one size behind the first) get a column each, x1, x2 ..., as a table's; anything else stays as it
// is, uint8 between 0 and 1 (value / 255).
Result<InputContract> fit_npy(const NpyArray& x, bool standardise, ContractTarget target,
                              std::span<const uint32_t> fitted);
// Errors: invalid_argument (x and y of unlike lengths, x of another shape than the contract's, another number of
// targets a row).
Result<ExampleTable> encode_npy(const NpyArray& x, const NpyArray& y, const InputContract& contract);

}  // namespace coterie
