#include "fl_server/fleet/fleet_text.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "proto/codec/codec.h"
#include "scheduler/selection/selection_registry.h"

namespace coterie {
namespace {

using nlohmann::json;

constexpr size_t kTextBytesMax = 64 << 20;
constexpr double kFloatMax = 1e30;

// "7.2": round 7, attempt 2
std::string name_of(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

Error unreadable(const std::string& what) { return Error(ErrorCode::data_loss, "fleet: " + what); }

// Takes JSON apart; the first thing that is wrong stays.
class Reader {
 public:
  template <typename T>
  T number(const json& object, const char* key, T absent = {}) {
    const auto found = object.find(key);
    if (found == object.end()) return absent;
    if constexpr (std::is_floating_point_v<T>) {
      if (found->is_number()) return found->template get<T>();
    } else if (found->is_number_unsigned() && found->template get<uint64_t>() <= std::numeric_limits<T>::max()) {
      return found->template get<T>();
    }
    return wrong<T>(key);
  }
  bool flag(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return false;
    return found->is_boolean() ? found->get<bool>() : wrong<bool>(key);
  }
  std::string text(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    return found->is_string() ? found->get<std::string>() : wrong<std::string>(key);
  }
  // So many numbers; none, where there are others.
  std::vector<float> floats(const json& object, const char* key, size_t count) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_array() || found->size() != count) return {};
    std::vector<float> values;
    // The bound is checked before the conversion: a double beyond float32 has none that C++ defines.
    for (const json& value : *found) {
      if (!value.is_number() || std::abs(value.get<double>()) > kFloatMax) return {};
      values.push_back(value.get<float>());
    }
    return values;
  }
  Bytes bytes(const json& object, const char* key) {
    const Result<Bytes> decoded = from_base64url(text(object, key));
    return decoded ? *decoded : wrong<Bytes>(key);
  }
  RoundKey round_key(std::string_view name) {
    uint64_t round = 0;
    uint32_t attempt = 0;
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos) return wrong<RoundKey>("round");
    const char* const end = name.data() + name.size();
    const auto first = std::from_chars(name.data(), name.data() + dot, round);
    const auto second = std::from_chars(name.data() + dot + 1, end, attempt);
    if (first.ec != std::errc() || first.ptr != name.data() + dot || second.ec != std::errc() || second.ptr != end) {
      return wrong<RoundKey>("round");
    }
    return {RoundId(round), Attempt(attempt)};
  }
  // An object whose values are numbers.
  template <typename Value, typename Key>
  void counts(const json& object, const char* key, std::map<Key, Value>& counts,
              std::function<Key(const std::string&)> key_of) {
    const auto found = object.find(key);
    if (found == object.end()) return;
    if (!found->is_object()) return (void)wrong<int>(key);
    for (const auto& [name, value] : found->items()) {
      if (!value.is_number_unsigned() || value.template get<uint64_t>() > std::numeric_limits<Value>::max()) {
        return (void)wrong<int>(key);
      }
      counts.emplace(key_of(name), value.template get<Value>());
    }
  }
  template <typename Value>
  void by_round(const json& object, const char* key, std::map<RoundKey, Value>& by_round) {
    counts<Value, RoundKey>(object, key, by_round, [this](const std::string& name) { return round_key(name); });
  }
  void by_population(const json& object, const char* key, std::map<Population, uint64_t>& by_population) {
    counts<uint64_t, Population>(object, key, by_population, [](const std::string& name) { return Population(name); });
  }
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  template <typename T>
  T wrong(const char* key) {
    if (!problem_) problem_ = std::string("a text of this fleet has a strange ") + key;
    return T{};
  }
  std::optional<std::string> problem_;
};

template <typename Value>
json by_round(const std::map<RoundKey, Value>& values) {
  json object = json::object();
  for (const auto& [key, value] : values) object[name_of(key)] = value;
  return object;
}

json by_population(const std::map<Population, uint64_t>& values) {
  json object = json::object();
  for (const auto& [population, value] : values) object[population.value()] = value;
  return object;
}

Result<json> parsed(std::string_view text) {
  if (text.size() > kTextBytesMax) return unreadable("a text of " + std::to_string(text.size()) + " bytes");
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_object()) return unreadable("a text is no JSON object");
  return document;
}

}  // namespace

std::string to_text(const NodeReport& report) {
  return json{{"url", report.url},
              {"serves", report.serves},
              {"draining", report.draining},
              {"load",
               {{"bytes", report.load.bytes},
                {"connections", report.load.connections},
                {"waiters", report.load.waiters},
                {"queue_delay", report.load.queue_delay}}},
              {"waiting", by_population(report.waiting)},
              {"steered", by_population(report.steered)},
              {"issued", by_round(report.issued)},
              {"lacking", by_round(report.lacking)},
              {"accepted", by_round(report.accepted)}}
      // Bytes that are no UTF-8 are replaced. By default dump() throws, and one strange name would silence the node.
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<NodeReport> node_report_from_text(std::string_view text) {
  COT_ASSIGN(const json document, parsed(text));
  Reader reader;
  NodeReport report;
  report.url = reader.text(document, "url");
  report.serves = reader.flag(document, "serves");
  report.draining = reader.flag(document, "draining");
  if (const auto load = document.find("load"); load != document.end() && load->is_object()) {
    report.load = {.bytes = reader.number<double>(*load, "bytes"),
                   .connections = reader.number<double>(*load, "connections"),
                   .waiters = reader.number<double>(*load, "waiters"),
                   .queue_delay = reader.number<double>(*load, "queue_delay")};
  }
  reader.by_population(document, "waiting", report.waiting);
  reader.by_population(document, "steered", report.steered);
  reader.by_round(document, "issued", report.issued);
  reader.by_round(document, "lacking", report.lacking);
  reader.by_round(document, "accepted", report.accepted);
  if (reader.problem()) return unreadable(*reader.problem());
  return report;
}

namespace {

json to_json(const RoundNotice& round, const std::map<RoundKey, TicketShares>& shares) {
  Assignment assignment = round.assignment;
  assignment.ticket = {0};  // an assignment without a ticket is none; a node puts in each device's own
  const auto share = shares.find(round.key);
  json entry = {{"job", round.job.value()},
                {"population", round.population.value()},
                {"round", name_of(round.key)},
                {"number", round.number},
                {"state", to_string(round.state)},
                {"weight", round.weight},
                {"ticket_count", round.ticket_count},
                {"goal_count", round.goal_count},
                {"assignment", to_base64url(encode(assignment))},
                {"plan", to_base64url(encode(round.plan))},
                {"shares", share == shares.end() ? TicketShares() : share->second}};
  if (round.extensions > 0) entry["extensions"] = round.extensions;
  if (round.updates_due) entry["updates_due"] = *round.updates_due;
  if (round.keeps_updates) entry["keeps_updates"] = true;
  if (!round.selection.is_uniform()) {
    entry["selection"] = round.selection.rule->name;
    entry["selection_values"] = round.selection.values;
  }
  return entry;
}

// A rule that this server does not know, as its leader is newer, is the uniform draw.
SelectionSettings selection_from(Reader& reader, const json& entry) {
  const SelectionRule* rule = find_selection(reader.text(entry, "selection"));
  if (rule == nullptr) return {};
  SelectionSettings selection = SelectionSettings::of(rule->name);
  const std::vector<float> values = reader.floats(entry, "selection_values", selection.values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (rule->settings[i].range.admits(values[i])) selection.values[i] = values[i];
  }
  return selection;
}

Result<RoundState> state_from(const std::string& name) {
  // No device has anything to do with a round in another state, so that the board never has one.
  for (const RoundState known : {RoundState::collecting, RoundState::frozen, RoundState::finalizing}) {
    if (name == to_string(known)) return known;
  }
  return unreadable("the board has a round in state " + name);
}

// What a device would learn from its assignment and the plan that it names.
Status read_promise(Reader& reader, const json& entry, const PlanOf& plan_of, RoundNotice& round) {
  const Bytes frame = reader.bytes(entry, "assignment");
  if (reader.problem()) return unreadable(*reader.problem());
  Result<Assignment> assignment = decode_assignment(frame);
  if (!assignment) return unreadable(assignment.error().message());
  round.assignment = std::move(*assignment);
  round.assignment.ticket.clear();
  if (round.assignment.round != round.key || round.assignment.job != round.job) {
    return unreadable("the board has a round with the assignment of another");
  }
  if (!entry.contains("plan")) {
    COT_ASSIGN(round.plan, plan_of(round.assignment));
    return {};
  }
  const Bytes bytes = reader.bytes(entry, "plan");
  if (reader.problem()) return unreadable(*reader.problem());
  Result<Plan> plan = decode_plan(bytes);
  if (!plan) return unreadable(plan.error().message());
  round.plan = std::move(*plan);
  return {};
}

Result<RoundNotice> round_from(Reader& reader, const json& entry, const PlanOf& plan_of) {
  if (!entry.is_object()) return unreadable("the board has a round that is no object");
  RoundNotice round{.job = JobId(reader.text(entry, "job")),
                    .population = Population(reader.text(entry, "population")),
                    .key = reader.round_key(reader.text(entry, "round")),
                    .number = reader.number<uint64_t>(entry, "number"),
                    .assignment = {},
                    .plan = {},
                    .weight = reader.number<uint32_t>(entry, "weight", 1),
                    .ticket_count = reader.number<uint32_t>(entry, "ticket_count"),
                    .extensions = reader.number<uint32_t>(entry, "extensions"),
                    .goal_count = reader.number<uint32_t>(entry, "goal_count"),
                    .keeps_updates = reader.flag(entry, "keeps_updates"),
                    .selection = selection_from(reader, entry)};
  COT_ASSIGN(round.state, state_from(reader.text(entry, "state")));
  if (entry.contains("updates_due")) round.updates_due = reader.number<uint64_t>(entry, "updates_due");
  COT_TRY(read_promise(reader, entry, plan_of, round));
  return round;
}

}  // namespace

std::string to_text(const PostedBoard& board) {
  json rounds = json::array();
  for (const RoundNotice& round : board.rounds) rounds.push_back(to_json(round, board.shares));
  return json{{"owner_url", board.owner_url},
              {"rounds", rounds},
              {"nodes", board.nodes},
              {"steered", by_population(board.steered)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PostedBoard> board_from_text(std::string_view text, const PlanOf& plan_of) {
  PostedBoard board;
  if (text.empty()) return board;  // nobody has led yet
  COT_ASSIGN(const json document, parsed(text));
  Reader reader;
  board.owner_url = reader.text(document, "owner_url");
  board.nodes = reader.number<uint32_t>(document, "nodes");
  reader.by_population(document, "steered", board.steered);
  const auto rounds = document.find("rounds");
  if (rounds == document.end() || !rounds->is_array()) return unreadable("the board has no rounds");
  for (const json& entry : *rounds) {
    COT_ASSIGN(RoundNotice round, round_from(reader, entry, plan_of));
    reader.counts<uint32_t, std::string>(entry, "shares", board.shares[round.key],
                                         [](const std::string& name) { return name; });
    board.rounds.push_back(std::move(round));
  }
  if (reader.problem()) return unreadable(*reader.problem());
  return board;
}

}  // namespace coterie
