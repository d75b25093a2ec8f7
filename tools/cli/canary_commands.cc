#include "tools/cli/canary_commands.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "tools/cli/report.h"
#include "tools/cli/table.h"
#include "tools/rollout/paired_scores.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr size_t kScoresARequest = 1'000;

std::string path_of(const std::string& job, const std::string& canary) {
  return "jobs/" + path_segment(job) + "/canaries/" + path_segment(canary);
}

// Only the difference of the two is read off a canary's counts: of all counts that fit these scores the server is sent
// those that agree most.
json observation_of(const NamedScore& named) {
  const auto& [examples, before, after] = named.score;
  const uint32_t both = std::min(before, after);
  return {{"source", std::string(named.device)},
          {"both", both},
          {"only_old", before - both},
          {"only_new", after - both},
          {"neither", examples - std::max(before, after)}};
}

std::string points(const json& canary, const char* key) { return format_fixed(100 * canary.value(key, 0.0), 2); }

void print_canary(const json& canary) {
  const std::string version =
      "version " + cell_of(canary, "/version") + " of job " + printable(cell_of(canary, "/job"));
  const std::string base =
      "version " + cell_of(canary, "/base/version") + " of job " + printable(cell_of(canary, "/base/job"));
  const std::string state = canary.value("state", "");
  std::string text = "canary    " + printable(cell_of(canary, "/id")) + ": " + version + "\n";
  if (state == "running") {
    text += "running   at " + cell_of(canary, "/percent") + " % of population " +
            printable(cell_of(canary, "/population")) + "\n          the others have " + base + "\n";
  } else if (state == "promoted") {
    text += "promoted  all devices have it\n";
  } else {
    text += printable(state) + ": all devices have " + base + " again\n";
  }
  if (canary.contains("evaluation_job")) {
    text += "hears     the rounds of job " + printable(cell_of(canary, "/evaluation_job")) + "\n";
  }
  if (canary.contains("reason")) text += "reason    " + printable(cell_of(canary, "/reason")) + "\n";
  text += "verdict   " + printable(cell_of(canary, "/verdict")) + " after " + cell_of(canary, "/heard") +
          " observations\nharm      " + points(canary, "mean_harm") + " points of accuracy, the mean over these\n" +
          "evidence  p " + format_fixed(canary.value("p_harmful", 1.0), 4) + " that it is worse, p " +
          format_fixed(canary.value("p_harmless", 1.0), 4) + " that it is not by the margin\n";
  print_text(text);
}

}  // namespace

ExitCode promote_canary(const AdminCommand& command, const std::string& job, uint64_t version,
                        const CanaryOptions& options) {
  return with_admin(command, "model promote", [&](AdminClient& admin) -> Status {
    json body = {{"percent", options.percent}};
    const auto say = [&](const char* key, const auto& value) {
      if (value) body[key] = *value;
    };
    say("evaluation_job", options.evaluation_job);
    say("promote_after", options.promote_after);
    say("devices_max", options.devices_max);
    say("alpha", options.alpha);
    say("margin", options.margin);
    say("harm_max", options.harm_max);
    COT_ASSIGN(const json canary,
               admin.post("jobs/" + path_segment(job) + "/models/" + std::to_string(version) + ":canary", body));
    if (command.wants_json()) {
      print_json(canary);
      return {};
    }
    print_canary(canary);
    if (options.evaluation_job) return {};  // nothing is left to do
    print_text("Next: " +
               next_command(command, "model observe " + printable(job) + " " + printable(cell_of(canary, "/id")) +
                                         " scores.csv") +
               "\n");
    return {};
  });
}

ExitCode list_canaries(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "model canaries", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const json answer, admin.get("jobs/" + path_segment(job) + "/canaries"));
    if (command.wants_json()) {
      print_json(answer);
      return {};
    }
    using enum Table::Align;
    Table table({{"CANARY"},
                 {"VERSION", right},
                 {"PERCENT", right},
                 {"STATE"},
                 {"HEARD", right},
                 {"HARM", right},
                 {"VERDICT"},
                 {"CREATED"}});
    for (const json& canary : answer.value("canaries", json::array())) {
      table.add({cell_of(canary, "/id"), cell_of(canary, "/version"), cell_of(canary, "/percent"),
                 cell_of(canary, "/state"), cell_of(canary, "/heard"), points(canary, "mean_harm"),
                 cell_of(canary, "/verdict"), short_time(cell_of(canary, "/created"))});
    }
    print_text(table.empty()
                   ? "no canaries; begin one with `" +
                         next_command(command, "model promote " + printable(job) + " VERSION --canary 5") + "`\n"
                   : table.text());
    return {};
  });
}

ExitCode observe_canary(const AdminCommand& command, const std::string& job, const std::string& canary,
                        const std::string& file) {
  bool is_rolled_back = false;
  const ExitCode code = with_admin(command, "model observe", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const Bytes text, read_input(file));
    const Result<std::vector<NamedScore>> scores = parse_named_scores(as_text(text));
    if (!scores) return scores.error().with_context(file);
    if (scores->empty()) return Error(ErrorCode::invalid_argument, file + " has no scores yet");
    uint64_t counted = 0, repeated = 0, late = 0;
    json shown;
    for (std::span<const NamedScore> left(*scores); !left.empty();) {
      const auto now = left.first(std::min(left.size(), kScoresARequest));
      left = left.subspan(now.size());
      json observations = json::array();
      for (const NamedScore& one : now) observations.push_back(observation_of(one));
      COT_ASSIGN(shown, admin.post(path_of(job, canary) + ":observe", {{"observations", std::move(observations)}}));
      counted += shown.value("counted", uint64_t{0});
      repeated += shown.value("repeated", uint64_t{0});
      late += shown.value("late", uint64_t{0});
    }
    is_rolled_back = shown.value("state", "") == "rolled_back";
    if (command.wants_json()) {
      shown.update({{"counted", counted}, {"repeated", repeated}, {"late", late}});
      print_json(shown);
      return {};
    }
    print_canary(shown);
    print_text("counted   " + std::to_string(counted) + " observations; " + std::to_string(repeated) +
               " were heard before, " + std::to_string(late) + " came too late\n");
    return {};
  });
  return code == ExitCode::ok && is_rolled_back ? ExitCode::failure : code;
}

ExitCode end_canary(const AdminCommand& command, const std::string& job, const std::string& canary) {
  return with_admin(command, "model end-canary", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const json shown, admin.post(path_of(job, canary) + ":end"));
    if (command.wants_json()) print_json(shown);
    else print_canary(shown);
    return {};
  });
}

}  // namespace coterie
