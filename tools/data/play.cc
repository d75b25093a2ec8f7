#include "tools/data/play.h"

#include <map>

namespace coterie {

Result<std::vector<SpokenPart>> parts_of(std::string_view play) {
  std::vector<SpokenPart> parts;
  std::map<std::string, size_t, std::less<>> places;
  SpokenPart* speaks = nullptr;
  bool is_behind_empty = true;
  for (size_t number = 1; !play.empty(); ++number) {
    const size_t end = play.find('\n');
    std::string_view line = play.substr(0, end);
    play.remove_prefix(end == std::string_view::npos ? play.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_behind_empty && line.size() > 1 && line.ends_with(':')) {
      const std::string speaker(line.substr(0, line.size() - 1));
      const auto [place, is_new] = places.emplace(speaker, parts.size());
      if (is_new) parts.push_back({speaker, {}});
      speaks = &parts[place->second];
      is_behind_empty = false;
      continue;
    }
    is_behind_empty = line.empty();
    if (line.empty()) continue;
    if (speaks == nullptr) {
      return Error(ErrorCode::malformed,
                   "line " + std::to_string(number) + ": expected who speaks, a name and a colon on a line");
    }
    speaks->text += line;
    speaks->text += '\n';
  }
  return parts;
}

}  // namespace coterie
