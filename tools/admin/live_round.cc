#include "tools/admin/live_round.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace coterie {
namespace {

using nlohmann::json;

struct Kind {
  std::string_view name;
  const char* state = nullptr;  // that the round of `live` is in from now on
};

constexpr Kind kOfTheRound[] = {{"round"},
                                {"updates_accepted"},
                                {"round_collecting", "collecting"},
                                {"round_frozen", "frozen"},
                                {"round_finalizing", "finalizing"}};
constexpr std::string_view kToAskAbout[] = {"round_opened",  "round_done", "round_failed",  "job_state_changed",
                                            "job_completed", "job_failed", "events_missed", "over"};

// Whether `json` is of the round in `live`, or both say that there is none.
bool is_of(const json& json, const std::optional<RoundReport>& live) {
  if (!json.contains("round")) return !live;
  return live && live->number == json.at("round").get<uint64_t>() &&
         live->attempt == json.at("attempt").get<uint32_t>();
}

}  // namespace

Result<bool> bring_up_to_date(std::optional<RoundReport>& live, const SentEvent& event) {
  if (std::ranges::find(kToAskAbout, event.kind) != std::end(kToAskAbout)) return false;
  const auto* kind = std::ranges::find(kOfTheRound, event.kind, &Kind::name);
  if (kind == std::end(kOfTheRound)) return true;
  try {
    const json said = json::parse(event.data);
    if (!is_of(said, live)) return false;
    if (!live) return true;
    live->state = kind->state != nullptr ? kind->state : said.value("state", live->state);
    live->selected = said.value("selected", live->selected);
    live->accepted = said.value("accepted", live->accepted);
    return true;
  } catch (const json::exception& error) {
    return Error(ErrorCode::malformed,
                 "the server's event " + event.kind + " is not what was expected: " + error.what());
  }
}

}  // namespace coterie
