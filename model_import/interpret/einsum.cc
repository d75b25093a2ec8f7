// Einsum: sums of products over the letters of an equation that the result does not have.
#include <algorithm>
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

constexpr uint64_t kTermsMax = 1ull << 32;  // products that are summed; more are `too_large`

// The letters of each operand and of the result; dimensions of "..." are letters of their own, from 128 on.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
  std::map<char, int64_t> sizes;
};

// `ellipsis`: how many dimensions it stands for.
std::string letters_of(const std::string& term, size_t ellipsis) {
  std::string letters;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (size_t k = ellipsis; k > 0; --k) letters += static_cast<char>(127 + k);
      i += 2;
    } else if (term[i] != ' ') {
      letters += term[i];
    }
  }
  return letters;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char each : text) {
    if (each == ',') parts.emplace_back();
    else if (each != ' ') parts.back() += each;
  }
  return parts;
}

Result<Equation> equation_of(const Call& call) {
  const std::string text = call.node.text("equation", "");
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow));
  if (terms.size() != call.operands.size() || text.size() > 256) return bad_form("an equation of other operands");
  Equation equation;
  size_t ellipsis = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool has_dots = terms[i].find("...") != std::string::npos;
    const size_t named = letters_of(terms[i], 0).size(), rank = call.operand(i).rank();
    if (named > rank || (!has_dots && named != rank)) return bad_form("an equation of another rank than its operand");
    if (has_dots) ellipsis = std::max(ellipsis, rank - named);
    equation.operands.push_back(letters_of(terms[i], has_dots ? rank - named : 0));
    for (size_t k = 0; k < rank; ++k) {
      const int64_t size = call.operand(i).shape[k];
      int64_t& known = equation.sizes.try_emplace(equation.operands[i][k], size).first->second;
      if (known != size && known != 1 && size != 1) return bad_form("a letter of two sizes");
      known = known == 1 ? size : known;
    }
  }
  if (arrow != std::string::npos) {
    equation.result = letters_of(text.substr(arrow + 2), ellipsis);
  } else {
    // Without an arrow: the dots, then letters that are there once, in the order of the alphabet.
    std::string all;
    for (const std::string& term : equation.operands) all += term;
    equation.result = letters_of("...", ellipsis);
    for (const auto& [letter, size] : equation.sizes) {
      if (letter > 0 && std::ranges::count(all, letter) == 1) equation.result += letter;
    }
  }
  for (const char letter : equation.result) {
    if (!equation.sizes.contains(letter) || std::ranges::count(equation.result, letter) != 1)
      return bad_form("a result with letters that no operand has, or one twice");
  }
  return equation;
}

Result<Outputs> compute_einsum(const Call& call) {
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  COT_ASSIGN(const Equation equation, equation_of(call));
  std::string letters = equation.result;
  for (const auto& [letter, size] : equation.sizes) {
    if (letters.find(letter) == std::string::npos) letters += letter;
  }
  Shape all, shape;
  uint64_t terms = 1;
  for (const char letter : letters) {
    all.push_back(equation.sizes.at(letter));
    if (all.size() <= equation.result.size()) shape.push_back(all.back());
    if (__builtin_mul_overflow(terms, static_cast<uint64_t>(all.back()), &terms) || terms > kTermsMax)
      return Error(ErrorCode::too_large, "a sum of more than 2^32 products");
  }
  COT_ASSIGN(Array y, zeros_like(call.operand(0), shape));
  for_each_index(all, [&](const Index& index, size_t) {
    double product = 1;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Array& x = call.operand(i);
      Index at;
      for (size_t k = 0; k < x.rank(); ++k) {
        at.push_back(x.shape[k] == 1 ? 0 : index[letters.find(equation.operands[i][k])]);
      }
      product *= x.values[offset_of(x.shape, at)];
    }
    y.values[offset_of(shape, Index(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(shape.size())))] +=
        product;
  });
  return one(std::move(y));
}

}  // namespace

Operator einsum_operator(const std::string& op) { return op == "Einsum" ? compute_einsum : nullptr; }

}  // namespace coterie::model_import
