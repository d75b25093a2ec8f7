#include "fl_server/serving/merged_exposition.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

namespace coterie {
namespace {

struct Family {
  std::string words;    // # HELP and # TYPE
  std::string samples;  // of all processes
};

// "# TYPE NAME ..." has the name as its third word.
std::string_view family_of(std::string_view comment) {
  const size_t begin = comment.find(' ', 2);
  if (begin == std::string_view::npos) return {};
  return comment.substr(begin + 1, comment.find(' ', begin + 1) - begin - 1);
}

// A metric's name has neither a brace nor a blank, so that the first of both is where its labels begin or would.
void append_sample(std::string& to, std::string_view line, const std::string& process) {
  const size_t place = line.find_first_of("{ ");
  if (process.empty() || place == std::string_view::npos) {
    to.append(line).append("\n");
    return;
  }
  const bool has_labels = line[place] == '{';
  to.append(line.substr(0, place)).append("{process=\"").append(process).append(has_labels ? "\"," : "\"}");
  to.append(line.substr(place + (has_labels ? 1 : 0))).append("\n");
}

}  // namespace

std::string merged_exposition(std::span<const ProcessExposition> processes) {
  std::map<std::string, size_t, std::less<>> places;
  std::vector<Family> families;
  for (const ProcessExposition& one : processes) {
    Family* family = nullptr;
    bool is_first = false;
    for (std::string_view left = one.text; !left.empty();) {
      const std::string_view line = left.substr(0, left.find('\n'));
      left.remove_prefix(std::min(left.size(), line.size() + 1));
      if (line.empty()) continue;
      if (!line.starts_with("# ")) {
        if (family != nullptr) append_sample(family->samples, line, one.process);
        continue;
      }
      const auto [place, is_new] = places.try_emplace(std::string(family_of(line)), families.size());
      if (is_new) families.emplace_back();
      is_first = is_new || (is_first && family == &families[place->second]);
      family = &families[place->second];
      if (is_first) family->words.append(line).append("\n");
    }
  }
  std::string text;
  for (const Family& family : families) text.append(family.words).append(family.samples);
  return text;
}

}  // namespace coterie
