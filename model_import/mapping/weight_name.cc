#include "model_import/mapping/weight_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace coterie::model_import {
namespace {

using enum WeightPart;

struct Word {
  std::string_view word;
  WeightPart part;
};
constexpr std::array kWords = {Word{"weight", weight},
                               Word{"kernel", weight},
                               Word{"gamma", weight},
                               Word{"scale", weight},
                               Word{"w", weight},
                               Word{"embedding_table", weight},
                               Word{"embeddings", weight},
                               Word{"bias", bias},
                               Word{"beta", bias},
                               Word{"b", bias},
                               Word{"running_mean", mean},
                               Word{"moving_mean", mean},
                               Word{"mean", mean},
                               Word{"running_var", variance},
                               Word{"moving_variance", variance},
                               Word{"var", variance},
                               Word{"variance", variance},
                               Word{"weight_ih", weight_ih},
                               Word{"weight_hh", weight_hh},
                               Word{"bias_ih", bias_ih},
                               Word{"bias_hh", bias_hh},
                               Word{"recurrent_kernel", weight_hh}};

// What wraps a whole model, and says nothing of a layer.
constexpr std::array<std::string_view, 5> kWrappers = {"module", "model", "network", "net", "state_dict"};

// "weight_ih_l1_reverse" -> "weight_ih_reverse_2"; "weight_ih_l0" -> "weight_ih".
void number_as_imported(std::string& word) {
  const bool is_reverse = word.ends_with("_reverse");
  const std::string body = is_reverse ? word.substr(0, word.size() - 8) : word;
  const size_t at = body.rfind("_l");
  if (at == std::string::npos || at + 2 == body.size() || body.size() > at + 4 ||
      body.find_first_not_of("0123456789", at + 2) != std::string::npos) {
    return;
  }
  const int layer = std::stoi(body.substr(at + 2));
  word = body.substr(0, at) + (is_reverse ? "_reverse" : "") + (layer == 0 ? "" : "_" + std::to_string(layer + 1));
}

}  // namespace

WeightName parse_weight_name(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  WeightName parsed;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) parsed.stem.push_back(std::move(word));
    word.clear();
  };
  for (const char sign : name) {
    if (sign == '.' || sign == '/' || sign == ':') end_word();
    else word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(sign))));
  }
  end_word();
  while (parsed.stem.size() > 2 && std::ranges::find(kWrappers, parsed.stem[0]) != kWrappers.end()) {
    parsed.stem.erase(parsed.stem.begin());
  }
  if (parsed.stem.empty()) return parsed;
  std::string& last = parsed.stem.back();
  number_as_imported(last);
  // "weight_ih_reverse_2": the part, and the rest stays with the layer.
  const Word* longest = nullptr;
  for (const Word& each : kWords) {
    const bool is_it = last == each.word || (last.starts_with(std::string(each.word) + "_reverse")) ||
                       (last.size() == each.word.size() + 2 && last.starts_with(std::string(each.word) + "_"));
    if (is_it && (longest == nullptr || each.word.size() > longest->word.size())) longest = &each;
  }
  if (longest == nullptr) return parsed;
  parsed.part = longest->part;
  parsed.is_kernel = longest->word.ends_with("kernel");
  last.erase(0, longest->word.size());
  if (last.empty()) parsed.stem.pop_back();
  return parsed;
}

bool ends_with(const WeightName& longer, const WeightName& shorter) {
  return longer.part == shorter.part && !shorter.stem.empty() && longer.stem.size() > shorter.stem.size() &&
         std::equal(shorter.stem.rbegin(), shorter.stem.rend(), longer.stem.rbegin());
}

std::optional<std::string> renamed(std::string_view name, std::string_view from, std::string_view to) {
  std::vector<std::string_view> stars;
  for (bool is_first = true;; is_first = false) {
    const size_t star = from.find('*');
    const std::string_view literal = from.substr(0, star);
    const bool is_last = star == std::string_view::npos;
    size_t at = 0;
    if (is_first) {
      if (!name.starts_with(literal)) return std::nullopt;
    } else {
      at = is_last ? name.size() - std::min(name.size(), literal.size()) : name.find(literal);
      if (at == std::string_view::npos || !name.substr(at).starts_with(literal)) return std::nullopt;
      stars.push_back(name.substr(0, at));
    }
    name.remove_prefix(at + literal.size());
    if (is_last) break;
    from.remove_prefix(star + 1);
  }
  if (!name.empty()) return std::nullopt;
  std::string result;
  size_t used = 0;
  for (const char sign : to) {
    if (sign != '*') result.push_back(sign);
    else if (used < stars.size()) result += stars[used++];
    else return std::nullopt;
  }
  return result;
}

}  // namespace coterie::model_import
