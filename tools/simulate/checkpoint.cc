#include "tools/simulate/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "fl_server/json/evaluated_heads_json.h"
#include "fl_server/json/json_reader.h"
#include "proto/messages/staleness.h"
#include "secure/crypto/digest.h"
#include "tools/simulate/cohort_trainer.h"
#include "tools/simulate/simulation.h"

namespace coterie {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "coterie.simulate.checkpoint.v1";
constexpr const char* kName = "checkpoint.json";
constexpr std::string_view kStatePrefix = "state-";  // of all other files: what else is in the folder stays
constexpr uint64_t kHeadBytesMax = 1 << 28;
constexpr uint64_t kFileBytesMax = 1ull << 36;
constexpr uint32_t kRanksMax = 1 << 16;
// That checkpoint.json always has.
constexpr const char* kKeys[] = {"schema",  "identity", "rounds_done",   "examples_median", "version",
                                 "model",   "deltas",   "shares",        "states",          "drawn",
                                 "counted", "lost",     "late",          "surplus",         "virtual_seconds",
                                 "seconds", "attempts", "rounds_trained"};

// As RankedCohort deals out devices that keep a state.
bool is_own(uint32_t device, const Ranks& ranks) { return device % ranks.count() == ranks.rank(); }

// A word for whom the vectors are of, a word for their length, the vectors. A state is in the file of one rank.
Bytes encode_states(const DeviceStates& states, const Ranks& ranks) {
  Bytes bytes;
  const auto append = [&bytes](const void* data, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  states.for_each([&](uint32_t device, const std::vector<float>& state) {
    if (!is_own(device, ranks)) return;
    const auto size = static_cast<uint32_t>(state.size());
    append(&device, sizeof device);
    append(&size, sizeof size);
    append(state.data(), state.size() * sizeof(float));
  });
  return bytes;
}

// What the states of a checkpoint have to be.
struct StateRules {
  uint32_t devices;
  uint64_t values;              // of a state
  std::vector<bool> seen = {};  // which devices have one
};

// Takes what is this rank's, and looks at everybody's.
Status decode_states(const Bytes& bytes, const Ranks& ranks, StateRules& rules, DeviceStates& states) {
  rules.seen.resize(rules.devices);
  for (size_t at = 0; at < bytes.size();) {
    uint32_t head[2];
    if (bytes.size() - at < sizeof head) return Error(ErrorCode::malformed, "a state of a device ends early");
    std::memcpy(head, &bytes[at], sizeof head);
    at += sizeof head;
    if ((bytes.size() - at) / sizeof(float) < head[1]) {
      return Error(ErrorCode::malformed, "the state of device " + std::to_string(head[0]) + " ends early");
    }
    if (head[0] >= rules.devices || rules.seen[head[0]]) {
      return Error(ErrorCode::malformed, "device " + std::to_string(head[0]) + " must be below " +
                                             std::to_string(rules.devices) + ", and have one state");
    }
    if (head[1] != rules.values) {
      return Error(ErrorCode::malformed, "the state of device " + std::to_string(head[0]) + " must have " +
                                             std::to_string(rules.values) + " values, has " + std::to_string(head[1]));
    }
    rules.seen[head[0]] = true;
    if (is_own(head[0], ranks)) {
      std::vector<float> state(head[1]);
      if (!state.empty()) std::memcpy(state.data(), &bytes[at], state.size() * sizeof(float));
      states.stage(head[0], std::move(state));
    }
    at += size_t{head[1]} * sizeof(float);
  }
  states.commit();
  return {};
}

ByteView bytes_of(const CountedShares& shares) {
  const std::vector<uint32_t>& counted = shares.counted();
  return {reinterpret_cast<const uint8_t*>(counted.data()), counted.size() * sizeof(uint32_t)};
}

Result<CountedShares> shares_in(const Bytes& bytes) {
  if (bytes.size() % sizeof(uint32_t) != 0) return Error(ErrorCode::malformed, "the counts of devices end early");
  std::vector<uint32_t> counted(bytes.size() / sizeof(uint32_t));
  if (!counted.empty()) std::memcpy(counted.data(), bytes.data(), bytes.size());
  return CountedShares(std::move(counted));
}

void put(Json& json, const char* key, std::optional<double> value) {
  if (value && std::isfinite(*value)) json[key] = *value;
}

void get(JsonReader& reader, const char* key, std::optional<double>& value) {
  if (!reader.has(key)) return;
  double read = 0;
  reader.read(key, read);
  value = read;
}

Json json_of(const RoundReport& report) {
  Json json = {{"number", report.number},
               {"attempt", report.attempt},
               {"state", report.state},
               {"reason", report.reason},
               {"selected", report.selected},
               {"accepted", report.accepted},
               {"goal_count", report.goal_count},
               {"seconds", report.seconds},
               {"examples", report.examples},
               {"train_seconds", report.train_seconds},
               {"model_version", report.model_version}};
  put(json, "train_loss", report.train_loss);
  put(json, "train_accuracy", report.train_accuracy);
  put(json, "evaluation_loss", report.evaluation_loss);
  put(json, "evaluation_accuracy", report.evaluation_accuracy);
  put(json, "evaluation_mae", report.evaluation_mae);
  put(json, "evaluation_r2", report.evaluation_r2);
  put(json, "proximal_mu", report.proximal_mu);
  if (!report.evaluation_heads.empty()) json["evaluation_heads"] = to_json(report.evaluation_heads);
  return json;
}

RoundReport report_in(const nlohmann::json& json, const std::string& pointer, Problems& problems) {
  RoundReport report;
  JsonReader reader(json, pointer, problems);
  reader.read("number", report.number);
  reader.read("attempt", report.attempt);
  reader.read("state", report.state);
  reader.read("reason", report.reason);
  reader.read("selected", report.selected);
  reader.read("accepted", report.accepted);
  reader.read("goal_count", report.goal_count);
  reader.read("seconds", report.seconds);
  reader.read("examples", report.examples);
  reader.read("train_seconds", report.train_seconds);
  reader.read("model_version", report.model_version);
  get(reader, "train_loss", report.train_loss);
  get(reader, "train_accuracy", report.train_accuracy);
  get(reader, "evaluation_loss", report.evaluation_loss);
  get(reader, "evaluation_accuracy", report.evaluation_accuracy);
  get(reader, "evaluation_mae", report.evaluation_mae);
  get(reader, "evaluation_r2", report.evaluation_r2);
  get(reader, "proximal_mu", report.proximal_mu);
  for (JsonReader& one : reader.objects("evaluation_heads")) {
    EvaluatedHead& head = report.evaluation_heads.emplace_back();
    one.require("output");
    one.read("output", head.output);
    get(one, "loss", head.loss);
    get(one, "accuracy", head.accuracy);
    get(one, "mae", head.mae);
    one.finish();
  }
  reader.finish();
  return report;
}

// The elements of the array that `head` has under `key`.
std::vector<nlohmann::json> elements(const nlohmann::json& head, const char* key, Problems& problems) {
  const auto found = head.find(key);
  if (found == head.end() || !found->is_array()) {
    problems.push_back({std::string("/") + key, "must be an array"});
    return {};
  }
  return {found->begin(), found->end()};
}

}  // namespace

std::string Checkpoint::path_of(const Digest& digest) const {
  return path_of(std::string(kStatePrefix) + digest.hex());
}

Result<bool> Checkpoint::is_there() const {
  COT_TRY(os::make_directories(directory_));
  return os::exists(path_of(kName));
}

Result<Digest> Checkpoint::put(ByteView bytes) const {
  const Digest digest = content_digest(bytes);
  if (!os::exists(path_of(digest))) COT_TRY(os::write_file_atomically(path_of(digest), bytes));
  return digest;
}

Result<Bytes> Checkpoint::get(const Digest& digest) const {
  Result<Bytes> bytes = os::read_file(path_of(digest), kFileBytesMax);
  if (!bytes) return bytes.error().with_context("checkpoint");
  if (content_digest(*bytes) == digest) return bytes;
  return Error(ErrorCode::data_loss, path_of(digest) + " has other bytes than its name says");
}

Status Checkpoint::remove_others(const std::vector<Digest>& named) const {
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory_));
  for (const std::string& name : names) {
    if (!name.starts_with(kStatePrefix)) continue;
    const Result<Digest> digest = Digest::from_hex(name.substr(kStatePrefix.size()));
    if (digest && std::ranges::find(named, *digest) == named.end()) COT_TRY(os::remove_file(path_of(name)));
  }
  return {};
}

Status Checkpoint::write(const Simulation& simulation, const CohortTrainer& trainer, const SimulationStory& story) {
  // Each rank's file first: the digests are added up, so that all are written when rank 0 names them.
  constexpr size_t kDigestWords = sizeof(Digest) / sizeof(uint64_t);
  std::vector<uint64_t> words(ranks_->count() * kDigestWords);
  COT_ASSIGN(const Digest own, put(encode_states(trainer.states(), *ranks_)));
  std::memcpy(&words[ranks_->rank() * kDigestWords], own.bytes.data(), sizeof(Digest));
  COT_TRY(ranks_->add_up(words));
  if (ranks_->rank() != 0) return {};
  std::vector<Digest> named;
  const SimulationPosition position = simulation.position();
  Json states = Json::array(), attempts = Json::array(), deltas = Json::array(), older = Json::array();
  for (uint32_t rank = 0; rank < ranks_->count(); ++rank) {
    Digest digest;
    std::memcpy(digest.bytes.data(), &words[rank * kDigestWords], sizeof(Digest));
    named.push_back(digest);
    states.push_back(digest.hex());
  }
  for (const RoundReport& report : story.attempts) attempts.push_back(json_of(report));
  for (const DeltaFile& delta : position.base.deltas) {
    deltas.push_back({{"base", delta.base.hex()}, {"file", delta.file.hex()}, {"bytes", delta.bytes}});
  }
  for (const auto& [version, digest] : position.older) {
    older.push_back({{"version", version}, {"model", digest.hex()}});
  }
  Json head = {{"schema", kSchema},
               {"identity", identity_.hex()},
               {"rounds_done", position.rounds_done},
               {"examples_median", position.examples_median},
               {"version", position.base.version.value()},
               {"model", position.base.digest.hex()}};
  for (const auto& [key, digest] :
       {std::pair("optimizer_state", position.base.optimizer_state), std::pair("exact", position.base.exact)}) {
    if (digest) head[key] = digest->hex();
  }
  if (const std::optional<AdaptiveMu>& mu = position.base.adaptive_mu; mu) {
    head["adaptive_mu"] = {{"mu", mu->mu}, {"falls", mu->falls}, {"loss", position.base.evaluation_loss.value_or(0)}};
  }
  for (const Digest& digest : files_of(position)) {
    COT_ASSIGN(const Bytes bytes, simulation.file(digest));
    COT_TRY(put(bytes));
    named.push_back(digest);
  }
  COT_ASSIGN(const Digest shares, put(bytes_of(story.shares)));
  named.push_back(shares);
  head["deltas"] = deltas;
  if (simulation.buffered()) head["older"] = older;
  head["shares"] = shares.hex();
  head["states"] = states;
  head["drawn"] = story.drawn;
  head["counted"] = story.counted;
  head["lost"] = story.lost;
  head["late"] = story.late;
  head["surplus"] = story.surplus;
  head["virtual_seconds"] = story.virtual_seconds;
  head["seconds"] = story.seconds;
  head["rounds_trained"] = story.rounds_trained;
  head["attempts"] = attempts;
  COT_TRY(os::write_file_atomically(path_of(kName), as_bytes(head.dump(1) + "\n")));
  return remove_others(named);
}

Result<SimulationStory> Checkpoint::go_on(Simulation& simulation, CohortTrainer& trainer) const {
  COT_ASSIGN(const Bytes text, os::read_file(path_of(kName), kHeadBytesMax));
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(as_text(text), problems);
  if (!json) return Error(ErrorCode::malformed, path_of(kName) + ": " + listed(problems));
  std::string schema;
  Digest identity;
  SimulationPosition position;
  SimulationStory story;
  Digest shares;
  uint64_t version = 0;
  JsonReader reader(*json, "", problems);
  for (const char* key : kKeys) reader.require(key);
  reader.read("schema", schema);
  reader.read("identity", identity);
  reader.read("rounds_done", position.rounds_done);
  reader.read("examples_median", position.examples_median);
  reader.read("version", version);
  reader.read("model", position.base.digest);
  reader.read("optimizer_state", position.base.optimizer_state);
  reader.read("exact", position.base.exact);
  reader.read("shares", shares);
  reader.read("drawn", story.drawn);
  reader.read("counted", story.counted);
  reader.read("lost", story.lost);
  reader.read("late", story.late);
  reader.read("surplus", story.surplus);
  reader.read("virtual_seconds", story.virtual_seconds);
  reader.read("seconds", story.seconds);
  if (reader.has("adaptive_mu")) {
    JsonReader own = reader.object("adaptive_mu");
    AdaptiveMu mu;
    double loss = 0;
    for (const char* key : {"mu", "falls", "loss"}) own.require(key);
    own.read("mu", mu.mu);
    own.read("falls", mu.falls);
    own.read("loss", loss);
    own.finish();
    position.base.adaptive_mu = mu;
    position.base.evaluation_loss = loss;
  }
  position.base.version = ModelVersion(version);
  const auto each = [&](const char* key, const auto& take) {
    size_t index = 0;
    for (const nlohmann::json& element : elements(*json, key, problems)) {
      take(element, std::string("/") + key + "/" + std::to_string(index++));
    }
  };
  if (!json->is_object() || schema != kSchema) {
    return Error(ErrorCode::malformed, path_of(kName) + ": /schema must be " + kSchema);
  }
  if (!problems.empty()) return Error(ErrorCode::malformed, path_of(kName) + ": " + listed(problems));
  if (identity != identity_) {
    return Error(ErrorCode::conflict, directory_ +
                                          " has the checkpoint of another simulation: job, seed, devices, data "
                                          "and trace have to be the same");
  }
  if (position.rounds_done > simulation.rounds()) {
    reader.problem("rounds_done",
                   "must be at most " + std::to_string(simulation.rounds()) + ", as many as the job has");
  }
  if (story.virtual_seconds < 0) reader.problem("virtual_seconds", "must be at least 0");
  if (story.seconds < 0) reader.problem("seconds", "must be at least 0");
  each("attempts", [&](const nlohmann::json& element, const std::string& pointer) {
    story.attempts.push_back(report_in(element, pointer, problems));
  });
  each("deltas", [&](const nlohmann::json& element, const std::string& pointer) {
    DeltaFile delta;
    JsonReader item(element, pointer, problems);
    item.read("base", delta.base);
    item.read("file", delta.file);
    item.read("bytes", delta.bytes);
    position.base.deltas.push_back(delta);
  });
  if (json->contains("older")) {
    each("older", [&](const nlohmann::json& element, const std::string& pointer) {
      uint64_t from = 0;
      Digest digest;
      JsonReader item(element, pointer, problems);
      item.require("version");
      item.require("model");
      item.read("version", from);
      item.read("model", digest);
      if (position.older.size() >= kStalenessMax) problems.push_back({pointer, "is one too many"});
      else if (!position.older.emplace(from, digest).second) problems.push_back({pointer, "is there twice"});
    });
  }
  each("rounds_trained", [&](const nlohmann::json& element, const std::string& pointer) {
    if (!element.is_number_unsigned() || element.get<uint64_t>() > UINT32_MAX) {
      problems.push_back({pointer, "must be an integer in [0, 4294967295]"});
    } else {
      story.rounds_trained.push_back(element.get<uint32_t>());
    }
  });
  std::vector<Digest> states;
  each("states", [&](const nlohmann::json& element, const std::string& pointer) {
    const Result<Digest> digest = Digest::from_hex(element.is_string() ? element.get<std::string>() : "");
    if (!digest || states.size() >= kRanksMax) problems.push_back({pointer, "must be a digest"});
    else states.push_back(*digest);
  });
  if (!problems.empty()) return Error(ErrorCode::malformed, path_of(kName) + ": " + listed(problems));
  std::vector<Bytes> files;
  for (const Digest& digest : files_of(position)) {
    COT_ASSIGN(files.emplace_back(), get(digest));
  }
  COT_ASSIGN(const Bytes counted, get(shares));
  COT_ASSIGN(story.shares, shares_in(counted));
  COT_TRY(simulation.go_on(position, files));
  StateRules rules{simulation.devices(), simulation.state_values()};
  std::ranges::sort(states);  // ranks whose devices have no state yet have the same file
  states.erase(std::ranges::unique(states).begin(), states.end());
  for (const Digest& digest : states) {
    COT_ASSIGN(const Bytes bytes, get(digest));
    const Status decoded = decode_states(bytes, *ranks_, rules, trainer.states());
    if (!decoded) return decoded.error().with_context(path_of(digest));
  }
  return story;
}

}  // namespace coterie
