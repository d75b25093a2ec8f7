// Texts: cast to numbers and back, and made the same by StringNormalizer.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

constexpr int64_t kString = 8;  // TensorProto.DataType

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string with_case(std::string text, bool upper) {
  for (char& c : text) {
    if (upper ? c >= 'a' && c <= 'z' : c >= 'A' && c <= 'Z') c = static_cast<char>(c ^ 0x20);
  }
  return text;
}

// "NaN", "INF", "+INF", "-INF" in any case, plain and scientific notation: the whole text.
Result<double> number_of(const std::string& text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return bad_form("a text that is no number");
  return number;
}

// The shortest text that is read as the same float32, as NumPy writes it.
std::string text_of(const Array& array, double number) {
  if (array.element == Element::boolean) return number != 0 ? "True" : "False";
  if (array.element == Element::integer) return std::to_string(whole(number));
  if (std::isnan(number)) return "nan";
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(number));
  std::string text(buffer.data(), error == std::errc() ? end : buffer.data());
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

Result<Outputs> to_texts(const Array& x) {
  if (x.form == Form::text) return one(x);
  if (x.element == Element::real && x.width != Width::float32)
    return unknown_form("a text of another float than float32");
  Array y;
  y.form = Form::text;
  y.shape = x.shape;
  for (const double value : x.values) y.texts.push_back(text_of(x, value));
  return one(std::move(y));
}

Result<Outputs> to_numbers(const Call& call, Operator cast_numbers) {
  const Array& x = call.operand(0);
  COT_ASSIGN(Array numbers, zeros(Element::real, x.shape));
  for (size_t i = 0; i < x.texts.size(); ++i) {
    COT_ASSIGN(numbers.values[i], number_of(x.texts[i]));
  }
  Call as_numbers = call;
  as_numbers.operands[0] = &numbers;
  return cast_numbers(as_numbers);
}

Result<Outputs> compute_cast(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  const Array& x = call.operand(0);
  if (x.form != Form::tensor && x.form != Form::text) return bad_form("an operand that is no tensor");
  if (call.node.integer("to", 0) == kString) return to_texts(x);
  return x.form == Form::text ? to_numbers(call, unary_operator("Cast")) : unary_operator("Cast")(call);
}

Result<Outputs> compute_cast_like(const Call& call) {
  COT_TRY(needs_operands(call, 2));
  const Array &x = call.operand(0), &like = call.operand(1);
  for (const Array* operand : {&x, &like}) {
    if (operand->form != Form::tensor && operand->form != Form::text) return bad_form("an operand that is no tensor");
  }
  if (like.form == Form::text) return to_texts(x);
  return x.form == Form::text ? to_numbers(call, special_operator("CastLike")) : special_operator("CastLike")(call);
}

// A row of texts without the stop words, in the case that is asked for; nothing left: one empty text.
Result<Outputs> compute_normalizer(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  const Array& x = call.operand(0);
  const bool is_row = x.shape.size() == 1 || (x.shape.size() == 2 && x.shape[0] == 1);
  if (x.form != Form::text || !is_row) return bad_form("an operand that is no row of texts");
  const std::string change = call.node.text("case_change_action", "NONE");
  if (change != "NONE" && change != "LOWER" && change != "UPPER") return unknown_form("case_change_action " + change);
  const bool is_sensitive = call.node.integer("is_case_sensitive", 0) != 0;
  std::vector<std::string> words;
  if (const auto found = call.node.attributes.find("stopwords"); found != call.node.attributes.end()) {
    if (const auto* listed = std::get_if<std::vector<std::string>>(&found->second)) words = *listed;
  }
  const bool minds_case = change != "NONE" || !is_sensitive;
  if (minds_case && !(std::ranges::all_of(words, is_ascii) && std::ranges::all_of(x.texts, is_ascii)))
    return unknown_form("the case of letters beyond ASCII");
  const auto compared = [&](const std::string& text) { return is_sensitive ? text : with_case(text, false); };
  std::set<std::string> stop_words;
  for (const std::string& word : words) stop_words.insert(compared(word));
  Array y;
  y.form = Form::text;
  y.shape = x.shape;
  for (const std::string& text : x.texts) {
    if (!stop_words.contains(compared(text)))
      y.texts.push_back(change == "NONE" ? text : with_case(text, change == "UPPER"));
  }
  if (y.texts.empty()) y.texts.emplace_back();
  y.shape.back() = static_cast<int64_t>(y.texts.size());
  return one(std::move(y));
}

}  // namespace

Operator text_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"Cast", compute_cast}, {"CastLike", compute_cast_like}, {"StringNormalizer", compute_normalizer}};
  return entry_of(table, op);
}

}  // namespace coterie::model_import
