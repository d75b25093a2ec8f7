// One field of a row as the numbers that its column becomes (input_contract.h). Who trains and who answers both encode
// by these functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model_io/input_contract.h"

namespace coterie {

// One row or more, column by column: numbers, and the places of categories that are not one-hot.
struct EncodedFields {
  std::vector<float> numbers;
  std::vector<int32_t> codes;
};

// What a field lacked.
enum class FieldNote : uint8_t {
  none,
  missing,  // a number: it was taken as the mean
  unseen,   // a category that the fit did not see: it was taken as none
  cut,      // a text that is too long
};

// The number that a field says; NaN where it says that there is none. Errors say what is wrong, not where: malformed
// (no number; beyond 1e30; missing, where that is refused).
Result<double> field_number(const std::string& field, bool refuses_missing);

// Adds what the field becomes. Errors as above, and malformed (a category that the fit did not see, without one-hot).
Result<FieldNote> encode_field(const InputContract& contract, const ContractColumn& column, const std::string& field,
                               EncodedFields& to);
// The same of a number that came as one, for a column of numbers; NaN is a missing one.
Result<FieldNote> encode_number(const InputContract& contract, const ContractColumn& column, double number,
                                EncodedFields& to);

}  // namespace coterie
