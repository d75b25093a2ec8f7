#include "model_io/encode_field.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/utf8.h"
#include "model_io/field_text.h"

namespace coterie {
namespace {

constexpr double kNumberMax = 1e30;  // its square, summed, is finite, and so is its float32
constexpr size_t kFieldBytesShown = 64;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

Error bad(const std::string& what) { return Error(ErrorCode::malformed, what); }

// A field goes into errors, and with them to clients as JSON: no more than a line of it, and only what is a text.
std::string shown(const std::string& field) {
  if (!is_utf8(field)) return "a text that is not UTF-8";
  size_t bytes = std::min(field.size(), kFieldBytesShown);
  while (bytes < field.size() && bytes > 0 && (static_cast<uint8_t>(field[bytes]) & 0xc0) == 0x80) --bytes;
  return "\"" + field.substr(0, bytes) + (bytes < field.size() ? "...\"" : "\"");
}

// The place of `text`; values.size() if it is none of them.
size_t place_of(const std::vector<std::string>& values, const std::string& text) {
  const auto found = std::lower_bound(values.begin(), values.end(), text, comes_before);
  return found != values.end() && *found == text ? static_cast<size_t>(found - values.begin()) : values.size();
}

Result<FieldNote> encode_category(const InputContract& contract, const ContractColumn& column, const std::string& field,
                                  EncodedFields& to) {
  const std::vector<std::string>& values = column.values;
  const size_t place = place_of(values, field);
  const bool is_unseen = place == values.size();
  if (contract.one_hot) {
    to.numbers.resize(to.numbers.size() + values.size());
    if (!is_unseen) to.numbers[to.numbers.size() - values.size() + place] = 1;
    return is_unseen ? FieldNote::unseen : FieldNote::none;
  }
  if (is_unseen) {
    return bad(shown(field) + " is none of the " + std::to_string(values.size()) +
               " values that the fit saw, and categories=codes has no number for it");
  }
  to.codes.push_back(static_cast<int32_t>(place));
  return FieldNote::none;
}

// Each number is a byte, so that whoever counts strings reads the text back.
FieldNote encode_text(const ContractColumn& column, const std::string& text, EncodedFields& to) {
  const size_t room = column.text_bytes;
  for (size_t i = 0; i < room; ++i) {
    to.numbers.push_back(i < text.size() ? static_cast<float>(static_cast<uint8_t>(text[i])) : 0.f);
  }
  return text.size() > room ? FieldNote::cut : FieldNote::none;
}

}  // namespace

Result<double> field_number(const std::string& field, bool refuses_missing) {
  if (const std::optional<double> number = number_in(field)) {
    if (std::abs(*number) <= kNumberMax) return *number;
    return bad((field.size() <= kFieldBytesShown ? field : shown(field)) +
               " is beyond 1e30, the largest number that is taken");
  }
  if (is_missing(field) && !refuses_missing) return kMissing;
  if (field.empty()) return bad("is empty, expected a number");
  return bad("expected a number, is " + shown(field));
}

Result<FieldNote> encode_number(const InputContract& contract, const ContractColumn& column, double number,
                                EncodedFields& to) {
  if (std::abs(number) > kNumberMax) return bad("is beyond 1e30, the largest number that is taken");
  if (std::isnan(number) && contract.refuses_missing) return bad("is missing, expected a number");
  add_standard(column, contract.standardise, number, to.numbers);
  return std::isnan(number) ? FieldNote::missing : FieldNote::none;
}

Result<FieldNote> encode_field(const InputContract& contract, const ContractColumn& column, const std::string& field,
                               EncodedFields& to) {
  if (column.text_bytes > 0) return encode_text(column, field, to);
  if (column.is_category) return encode_category(contract, column, field, to);
  COT_ASSIGN(const double number, field_number(field, contract.refuses_missing));
  return encode_number(contract, column, number, to);
}

}  // namespace coterie
