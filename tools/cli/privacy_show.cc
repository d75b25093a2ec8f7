#include "tools/cli/privacy_show.h"

#include <nlohmann/json.hpp>

#include "tools/cli/privacy_budget.h"
#include "tools/cli/report.h"
#include "tools/cli/table.h"

namespace coterie {
namespace {

std::string line(const char* title, const std::string& text) {
  return title + std::string(12 - std::string_view(title).size(), ' ') + printable(text) + "\n";
}

}  // namespace

std::string privacy_text(const nlohmann::json& job) {
  const auto at = [&](const char* pointer) { return cell_of(job, pointer); };
  const nlohmann::json& privacy = job.at("privacy");
  std::string text = line("job", at("/id") + ", " + at("/spec/name"));
  const bool is_bounded = privacy.value("/epsilon"_json_pointer, nlohmann::json()).is_number();
  text += line("epsilon", (is_bounded ? at("/privacy/epsilon") : std::string("none: nothing is protected")) +
                              " at delta " + at("/privacy/delta") + ", by accountant " + at("/privacy/accountant"));
  std::string budget = at("/privacy/epsilon_budget");
  if (is_bounded) {
    const double left = privacy.value("epsilon_budget", 0.0) - privacy.value("epsilon", 0.0);
    budget += ", left " + format_fixed(left, 6);
  }
  text += line("budget", budget);
  text += line("releases", at("/privacy/releases") + ", of which reserved only " + at("/privacy/releases_open"));
  text += line("noise", "multiplier " + at("/spec/privacy/noise_multiplier") + ", clip " + at("/spec/update/clip_l2") +
                            (job.contains("clip_norm") ? " and now " + at("/clip_norm") : std::string()) + ", " +
                            at("/spec/rounds/goal_count") + " updates a round");
  text += line("ledger", at("/privacy/ledger/records") + " records, head " + at("/privacy/ledger/head"));
  for (const nlohmann::json& population : privacy.value("populations", nlohmann::json::array())) {
    text += line("population", population_words(population));
  }
  if (privacy.contains("stop")) text += line("stop", at("/privacy/stop"));
  text += "\nif all of this is true:\n";
  for (const nlohmann::json& words : privacy.value("assumptions", nlohmann::json::array())) {
    text += "  " + printable(words.is_string() ? words.get<std::string>() : words.dump()) + "\n";
  }
  return text;
}

ExitCode show_privacy(const AdminCommand& command, const std::string& job) {
  return with_admin(command, "privacy show", [&](AdminClient& admin) -> Status {
    COT_ASSIGN(const nlohmann::json answer, admin.get("jobs/" + path_segment(job)));
    if (!answer.contains("privacy") || !answer["privacy"].is_object()) {
      return Error(ErrorCode::conflict, "job " + printable(job) + " has no noise: its models promise nothing");
    }
    if (command.wants_json()) print_json(answer["privacy"]);
    else print_text(privacy_text(answer));
    return {};
  });
}

}  // namespace coterie
