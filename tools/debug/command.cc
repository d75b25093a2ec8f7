#include "tools/debug/command.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/number_from_chars.h"
#include "base/text/suggest.h"

namespace coterie {
namespace {

// What stands behind the verb.
enum class Arguments : uint8_t { none, count, step, pattern, tensor, check, number, file };

struct Row {
  std::string_view name, brief;
  DebugVerb verb;
  Arguments arguments;
  std::string_view usage, help;
};

// clang-format off
constexpr Row kRows[] = {
    {"step", "s", DebugVerb::step, Arguments::count, "step [N]", "run one step, or N"},
    {"continue", "c", DebugVerb::proceed, Arguments::none, "continue", "run until a watchpoint hits, or to the end"},
    {"run", "r", DebugVerb::run, Arguments::step, "run to step N", "run until step N has run"},
    {"back", "b", DebugVerb::back, Arguments::count, "back [N]", "go one step back, or N, to the same bits"},
    {"where", "", DebugVerb::where, Arguments::tensor, "where [T]", "where this is; the op that made T, its inputs"},
    {"list", "l", DebugVerb::list, Arguments::pattern, "list [tensors] [PATTERN]", "the step's tensors, by op"},
    {"stats", "", DebugVerb::stats, Arguments::tensor, "stats T", "shape, range, mean, zeros, NaN, norm, histogram"},
    {"print", "p", DebugVerb::print, Arguments::tensor, "print T[0,:3,2]", "values; slices as NumPy has them"},
    {"compare", "", DebugVerb::compare, Arguments::tensor, "compare T", "how far T is from what it was a step before"},
    {"save", "", DebugVerb::save, Arguments::file, "save T FILE.npy", "write T, or a slice of it, for NumPy"},
    {"watch", "w", DebugVerb::watch, Arguments::check, "watch CHECK [on PATTERN] [SETTING N]", "stop where it fires"},
    {"unwatch", "", DebugVerb::unwatch, Arguments::number, "unwatch N", "forget watchpoint N of `watch`"},
    {"recheck", "", DebugVerb::recheck, Arguments::none, "recheck", "judge what is recorded, without running again"},
    {"help", "h", DebugVerb::help, Arguments::none, "help", "this"},
    {"quit", "q", DebugVerb::quit, Arguments::none, "quit", "end; nothing is written"},
};
// clang-format on

Error bad(const std::string& what) { return Error(ErrorCode::invalid_argument, what); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

struct Word {
  std::string text;   // without its quotes and brackets
  std::string slice;  // between the brackets behind it
  bool has_slice = false;
};

// Takes a word from the front of `line`, which does not begin with a blank.
Result<Word> take_word(std::string_view& line) {
  Word word;
  if (line.starts_with('"')) {
    const size_t end = line.find('"', 1);
    if (end == std::string_view::npos) return bad("a quotation mark has no partner");
    word.text = line.substr(1, end - 1);
    line.remove_prefix(end + 1);
  } else {
    size_t end = 0;
    while (end < line.size() && !is_blank(line[end]) && line[end] != '[') ++end;
    word.text = line.substr(0, end);
    line.remove_prefix(end);
  }
  if (!line.starts_with('[')) return word;
  const size_t end = line.find(']');
  if (end == std::string_view::npos) return bad("a bracket is not closed: expected T[0,:3,2]");
  word.slice = line.substr(1, end - 1);
  word.has_slice = true;
  line.remove_prefix(end + 1);
  return word;
}

Result<std::vector<Word>> words_of(std::string_view line) {
  std::vector<Word> words;
  for (;;) {
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.empty()) return words;
    COT_ASSIGN(Word word, take_word(line));
    words.push_back(std::move(word));
  }
}

Result<uint64_t> number_in(const std::string& text, uint64_t least) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < least || value > kDebugStepMax) {
    return bad("expected a whole number from " + std::to_string(least) + " to " + std::to_string(kDebugStepMax) +
               ", not `" + text + "`");
  }
  return value;
}

Result<double> value_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = number_from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) return bad("`" + text + "` is no number");
  return value;
}

// CHECK [on PATTERN] [SETTING VALUE]... [VALUE]
Status read_check(const std::vector<Word>& words, DebugCommand& command) {
  if (words.empty()) return {};
  command.check = words[0].text;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool is_last = i + 1 == words.size();
    if (word == "on") {
      if (is_last) return bad("`on` needs a pattern of tensors behind it");
      command.tensor = words[++i].text;
    } else if (const Result<double> value = value_in(word)) {
      command.settings.push_back({"", *value});
    } else {
      if (is_last) return bad("`" + word + "` needs a number behind it");
      COT_ASSIGN(const double given, value_in(words[++i].text));
      command.settings.push_back({word, given});
    }
  }
  return {};
}

Status read_arguments(const Row& row, std::vector<Word> words, DebugCommand& command) {
  const auto expected = [&] { return bad("expected `" + std::string(row.usage) + "`"); };
  const auto drop = [&](std::string_view filler) {
    if (!words.empty() && words[0].text == filler) words.erase(words.begin());
  };
  if (row.arguments == Arguments::check) return read_check(words, command);
  if (row.arguments == Arguments::step) {
    drop("to");
    drop("step");
  }
  if (row.arguments == Arguments::pattern) drop("tensors");
  const bool is_save = row.arguments == Arguments::file;
  const size_t least = row.arguments == Arguments::step || row.arguments == Arguments::number ? 1
                       : is_save                                                              ? 2
                       : row.arguments == Arguments::tensor && row.verb != DebugVerb::where   ? 1
                                                                                              : 0;
  const size_t most = row.arguments == Arguments::none ? 0 : is_save ? 2 : 1;
  if (words.size() < least || words.size() > most) return expected();
  if (words.empty()) return {};
  switch (row.arguments) {
    case Arguments::count:
    case Arguments::number: {
      COT_ASSIGN(command.number, number_in(words[0].text, 1));
      break;
    }
    case Arguments::step: {
      COT_ASSIGN(command.number, number_in(words[0].text, 0));
      break;
    }
    default:
      command.tensor = words[0].text;
      command.slice = words[0].slice;
      if (words[0].has_slice && row.verb != DebugVerb::print && !is_save) return expected();
  }
  if (is_save) command.file = words[1].text;
  return {};
}

}  // namespace

Result<std::optional<DebugCommand>> parse_debug_command(std::string_view line) {
  if (line.size() > kDebugLineBytesMax) {
    return Error(ErrorCode::too_large, "a line has at most " + std::to_string(kDebugLineBytesMax) + " bytes");
  }
  COT_ASSIGN(std::vector<Word> words, words_of(line));
  if (words.empty()) return std::optional<DebugCommand>();
  const std::string verb = words[0].text;
  const auto row = std::ranges::find_if(
      kRows, [&](const Row& each) { return each.name == verb || (!each.brief.empty() && each.brief == verb); });
  if (row == std::end(kRows)) {
    std::vector<std::string> names;
    for (const Row& each : kRows) names.emplace_back(each.name);
    return bad("there is no command `" + verb + "`" + did_you_mean(verb, names) + " `help` lists them");
  }
  words.erase(words.begin());
  DebugCommand command{.verb = row->verb};
  COT_TRY(read_arguments(*row, std::move(words), command));
  return std::optional(std::move(command));
}

std::string debug_help() {
  constexpr size_t kHelpColumn = 31;
  std::string text;
  for (const Row& row : kRows) {
    std::string line = "  " + std::string(row.brief.empty() ? " " : row.brief) + "  " + std::string(row.usage);
    if (!row.help.empty()) {
      line += std::string(line.size() < kHelpColumn ? kHelpColumn - line.size() : 2, ' ') + std::string(row.help);
    }
    text += line + "\n";
  }
  return text +
         "\n"
         "T is a tensor as `list` names it: relu1 is what the op relu1 made, conv1.weight\n"
         "a parameter behind the step, conv1.weight.before in front of it, and .grad\n"
         "behind a name its gradient. A name with blanks stands in \"quotes\".\n"
         "`watch` alone lists the watchpoints, `watch recommended` takes those of\n"
         "`model train --watch recommended`. Ctrl-C stops what runs, and comes back here.\n";
}

}  // namespace coterie
