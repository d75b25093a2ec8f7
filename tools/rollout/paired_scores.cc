#include "tools/rollout/paired_scores.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_set>

namespace coterie {
namespace {

constexpr std::string_view kHeader = "device,examples,correct_before,correct_after";
constexpr size_t kFields = 4, kNameBytesMax = 128;

Error wrong_line(ErrorCode code, size_t line, const std::string& what) {
  return Error(code, "line " + std::to_string(line) + ": " + what);
}

std::optional<uint32_t> count_in(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::array<std::string_view, kFields>> fields_of(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  for (size_t i = 0; i < kFields; ++i) {
    const size_t comma = line.find(',');
    if ((comma == line.npos) != (i + 1 == kFields)) return std::nullopt;
    fields[i] = line.substr(0, comma);
    line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  }
  return fields;
}

}  // namespace

Result<std::vector<NamedScore>> parse_named_scores(std::string_view text) {
  std::vector<NamedScore> scores;
  std::unordered_set<std::string_view> devices;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (end == text.npos) {
      return wrong_line(ErrorCode::malformed, number, "it is not ended by a newline: part of it may be still to come");
    }
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      if (line == kHeader) continue;
      return wrong_line(ErrorCode::malformed, 1, "expected the header " + std::string(kHeader));
    }
    const auto fields = fields_of(line);
    const auto field = [&](size_t i) { return fields ? count_in((*fields)[i]) : std::nullopt; };
    const auto examples = field(1), before = field(2), after = field(3);
    if (!examples || !before || !after || (*fields)[0].empty() || (*fields)[0].size() > kNameBytesMax) {
      return wrong_line(ErrorCode::malformed, number,
                        "expected " + std::string(kHeader) + ", is \"" + std::string(line.substr(0, 60)) + "\"");
    }
    if (*examples == 0 || *before > *examples || *after > *examples) {
      return wrong_line(ErrorCode::invalid_argument, number,
                        "a device needs an example, and gets no more right than it has");
    }
    if (!devices.insert((*fields)[0]).second) {
      return wrong_line(ErrorCode::invalid_argument, number,
                        "device " + std::string((*fields)[0]) + " is there twice: each device speaks once");
    }
    scores.push_back({(*fields)[0], {*examples, *before, *after}});
  }
  return scores;
}

Result<std::vector<PairedScore>> parse_paired_scores(std::string_view text) {
  COT_ASSIGN(const std::vector<NamedScore> named, parse_named_scores(text));
  std::vector<PairedScore> scores;
  for (const NamedScore& one : named) scores.push_back(one.score);
  return scores;
}

}  // namespace coterie
