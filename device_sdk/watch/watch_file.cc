#include "device_sdk/watch/watch_file.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/os/file.h"
#include "base/text/suggest.h"
#include "device_sdk/watch/json_members.h"

namespace coterie {
namespace {

constexpr uint64_t kFileBytesMax = 1 << 16;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string range_of(const CheckSetting& setting) {
  const std::string kind = setting.is_whole ? "a whole number" : "a number";
  if (setting.min <= -kAnyNumber) return kind;
  if (setting.max >= kAnyNumber) return kind + " from " + number(setting.min) + " on";
  return kind + " in [" + number(setting.min) + ", " + number(setting.max) + "]";
}

const Check* read_check(JsonMembers& reader) {
  std::string name;
  reader.require("check");
  reader.read("check", name);
  if (name.empty()) return nullptr;
  if (const Check* const check = find_check(name)) return check;
  std::vector<std::string> names;
  for (const Check& check : all_checks()) names.emplace_back(check.name);
  reader.problem("check", "there is no such check" + or_meant(name, names));
  return nullptr;
}

void read_op(JsonMembers& reader, std::string& op) {
  reader.read("op", op);
  if (op.empty()) return;
  std::vector<std::string> names;
  for (size_t kind = 1; kind <= kOpKinds; ++kind) names.emplace_back(to_string(static_cast<OpKind>(kind)));
  if (std::find(names.begin(), names.end(), op) == names.end()) {
    reader.problem("op", "there is no such kind of op" + or_meant(op, names));
  }
}

// Settings that each are in their range, and together say nothing.
void check_range(JsonMembers& reader, const WatchedCheck& watched) {
  const auto& settings = watched.check->settings;
  if (std::ranges::find(settings, "range_start", &CheckSetting::name) == settings.end()) return;
  const auto value = [&](std::string_view name) { return watched.values[setting_index(*watched.check, name)]; };
  const auto start = value("range_start"), end = value("range_end");
  if (start && end && *start > *end) reader.problem("range_end", "must be at least range_start");
  const bool has_range = start || end, has_percentage = value("percent_below") || value("percent_above");
  if (has_range && !has_percentage) {
    reader.problem(start ? "range_start" : "range_end", "has no effect without percent_below or percent_above");
  }
  if (has_percentage && !has_range) reader.problem("check", "a percentage needs range_start, range_end or both");
}

void read_settings(JsonMembers& reader, WatchedCheck& watched) {
  bool has_threshold = watched.check->settings.empty();
  for (size_t i = 0; i < watched.check->settings.size(); ++i) {
    const CheckSetting& setting = watched.check->settings[i];
    if (const std::optional<double> value = reader.number(setting.name)) {
      const bool is_fit = std::isfinite(*value) && *value >= setting.min && *value <= setting.max &&
                          (!setting.is_whole || *value == std::floor(*value));
      if (!is_fit) reader.problem(setting.name, "must be " + range_of(setting));
      watched.values[i] = value;
    }
    has_threshold = has_threshold || (setting.is_threshold && watched.values[i]);
  }
  check_range(reader, watched);
  if (has_threshold) return;
  std::string names;
  for (const CheckSetting& setting : watched.check->settings) {
    if (setting.is_threshold) names += (names.empty() ? "" : ", ") + std::string(setting.name);
  }
  reader.problem("check", "needs one of " + names);
}

void read_watched(std::string_view text, size_t index, WatchPlan& plan, Problems& problems) {
  JsonMembers reader(text, "/checks/" + std::to_string(index), problems);
  const Check* const check = read_check(reader);
  if (check == nullptr) return;  // its other keys are those of a check that nobody knows
  WatchedCheck watched(*check);
  reader.read("from_step", watched.from_step);
  if (is_of_tensors(check->subject)) {
    reader.read("tensors", watched.tensors);
    read_op(reader, watched.op);
    reader.read("steps", watched.steps);
  }
  read_settings(reader, watched);
  reader.finish();
  plan.checks.push_back(std::move(watched));
}

// All of them in one line, each behind its pointer.
std::string listed(const Problems& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    text += (text.empty() ? "" : "; ") + (problem.pointer.empty() ? "" : problem.pointer + ": ") + problem.detail;
  }
  return text;
}

}  // namespace

Result<WatchPlan> parse_watch(std::string_view text) {
  COT_TRY(check_json(text));
  Problems problems;
  WatchPlan plan;
  JsonMembers reader(text, "", problems);
  reader.read("every", plan.every, 1, kWatchEveryMax);
  reader.read("hits_max", plan.hits_max, 1, kWatchHitsMax);
  reader.require("checks");
  const std::vector<std::string_view> checks = reader.list("checks", kWatchedChecksMax, "checks");
  reader.finish();
  for (size_t i = 0; i < checks.size(); ++i) read_watched(checks[i], i, plan, problems);
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  return plan;
}

Result<WatchPlan> read_watch_file(const std::string& path) {
  COT_ASSIGN(const Bytes bytes, os::read_file(path, kFileBytesMax));
  Result<WatchPlan> plan = parse_watch(as_text(bytes));
  if (!plan) return plan.error().with_context(path);
  return plan;
}

std::string check_table() {
  std::string table = "| check | reads | fires when | settings: range, standard |\n|---|---|---|---|\n";
  for (const Check& check : all_checks()) {
    std::string settings;
    for (const CheckSetting& setting : check.settings) {
      settings += (settings.empty() ? "`" : "; `") + std::string(setting.name) + "` " + range_of(setting);
      if (setting.standard) settings += ", " + number(*setting.standard);
    }
    if (check.steps > 0) settings += "; `steps` " + std::to_string(check.steps);
    std::string when;
    for (const char c : check.fires_when) when += c == '|' ? "\\|" : std::string(1, c);
    table += "| `" + std::string(check.name) + "` | " + std::string(to_string(check.subject)) + " | " + when + " | " +
             settings + " |\n";
  }
  return table;
}

}  // namespace coterie
