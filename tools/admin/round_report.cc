#include "tools/admin/round_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fl_server/json/evaluated_heads_json.h"

namespace coterie {
namespace {

// JSON has no infinity and no NaN: such a loss is null, or missing.
std::optional<double> number_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

RoundReport parse_round(const nlohmann::json& json) {
  RoundReport round;
  round.number = json.at("number").get<uint64_t>();
  round.attempt = json.at("attempt").get<uint32_t>();
  round.state = json.at("state").get<std::string>();
  round.reason = json.value("reason", "");
  round.goal_count = json.at("goal_count").get<uint64_t>();
  round.selected = json.at("selected").get<uint64_t>();
  round.accepted = json.at("accepted").get<uint64_t>();
  round.seconds = number_in(json, "seconds").value_or(0);
  round.examples = json.value("examples", uint64_t{0});
  round.train_seconds = number_in(json, "train_seconds").value_or(0);
  round.train_loss = number_in(json, "train_loss");
  round.clip_norm = number_in(json, "clip_norm");
  round.proximal_mu = number_in(json, "proximal_mu");
  round.train_accuracy = number_in(json, "train_accuracy");
  if (const auto model = json.find("model"); model != json.end()) {
    round.model_version = model->at("version").get<uint64_t>();
    round.evaluation_loss = number_in(*model, "evaluation_loss");
    round.evaluation_accuracy = number_in(*model, "evaluation_accuracy");
    round.evaluation_mae = number_in(*model, "evaluation_mae");
    round.evaluation_r2 = number_in(*model, "evaluation_r2");
    round.evaluation_heads = evaluated_heads_in(*model);
    round.watch = watch_in(*model);
  }
  return round;
}

}  // namespace

std::optional<WatchOutcome> watch_in(const nlohmann::json& json) {
  const auto watch = json.find("watch");
  if (watch == json.end()) return std::nullopt;
  WatchOutcome outcome{.looked = watch->at("looked").get<double>(), .hits = {}, .error = watch->value("error", 0.0)};
  for (const nlohmann::json& hit : watch->at("hits")) {
    outcome.hits.push_back({hit.at("check").get<std::string>(), hit.value("layer", ""), hit.at("share").get<double>()});
  }
  return outcome;
}

Result<RoundsPage> parse_rounds(const nlohmann::json& json) {
  try {
    RoundsPage page;
    page.job_state = json.at("state").get<std::string>();
    for (const nlohmann::json& round : json.at("rounds")) page.rounds.push_back(parse_round(round));
    if (json.contains("next_before")) page.next_before = json.at("next_before").get<std::string>();
    if (const auto privacy = json.find("privacy"); privacy != json.end()) {
      page.epsilon_budget = number_in(*privacy, "epsilon_budget");
      page.epsilon = number_in(*privacy, "epsilon");
    }
    return page;
  } catch (const nlohmann::json::exception& error) {
    return Error(ErrorCode::malformed,
                 std::string("the server's list of rounds is not what was expected: ") + error.what());
  }
}

bool RoundLedger::reaches_back(const RoundsPage& page) const {
  return page.rounds.empty() || !page.next_before || page.rounds.back().number <= done_ + 1;
}

std::vector<RoundReport> RoundLedger::take_ended(const std::vector<RoundReport>& newest_first) {
  std::vector<RoundReport> news;
  for (auto round = newest_first.rbegin(); round != newest_first.rend(); ++round) {
    if (!round->has_ended() || round->number <= done_) continue;
    if (!told_.insert({round->number, round->attempt}).second) continue;
    news.push_back(*round);
  }
  for (const RoundReport& round : news) {
    if (round.state == "done") done_ = std::max(done_, round.number);
  }
  std::erase_if(told_, [this](const Key& key) { return key.first <= done_; });
  return news;
}

}  // namespace coterie
