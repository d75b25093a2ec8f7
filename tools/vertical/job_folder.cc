#include "tools/vertical/job_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/os/file.h"
#include "fl_server/json/json_reader.h"
#include "secure/crypto/random.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/signature.h"

namespace coterie {
namespace {

using namespace vertical;

constexpr std::string_view kJobFileSuffix = ".job", kSecretFileSuffix = ".dealer";
constexpr uint64_t kJobFileBytesMax = kJobPartiesMax << 13;

bool read_bytes(JsonReader& reader, const char* key, Bytes& value) {
  std::string text;
  reader.require(key);
  reader.read(key, text);
  Result<Bytes> bytes = from_base64url(text);
  if (!bytes) {
    reader.problem(key, "must be base64url");
    return false;
  }
  value = std::move(*bytes);
  return true;
}

WallTime read_time(JsonReader& reader, const char* key) {
  uint64_t ms = 0;
  reader.require(key);
  reader.read(key, ms);
  return wall_time_from_unix_ms(static_cast<int64_t>(ms));
}

void read_stages(JsonReader reader, StageRecords& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string name(job_stage_name(kJobStages[i]));
    if (!reader.has(name.c_str())) continue;
    JsonReader from = reader.object(name.c_str());
    StageRecord& stage = stages[i].emplace();
    stage.last.stage = kJobStages[i];
    stage.begun = read_time(from, "begun_unix_ms");
    stage.since = read_time(from, "since_unix_ms");
    stage.heard = read_time(from, "heard_unix_ms");
    from.read("units_since", stage.units_since);
    from.read("over", stage.last.is_over);
    from.read("units", stage.last.units);
    from.read("units_all", stage.last.units_all);
    from.read("sent_bytes", stage.last.sent_bytes);
    if (const Status status = check_stage_progress(stage.last); !status)
      from.problem("units", status.error().message());
    if (stage.heard < stage.since) from.problem("heard_unix_ms", "must not be before since_unix_ms");
    from.finish();
  }
  reader.finish();
}

nlohmann::ordered_json stages_json(const StageRecords& stages) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const std::optional<StageRecord>& stage : stages) {
    if (!stage) continue;
    json[job_stage_name(stage->last.stage)] = {{"begun_unix_ms", unix_ms(stage->begun)},
                                               {"since_unix_ms", unix_ms(stage->since)},
                                               {"heard_unix_ms", unix_ms(stage->heard)},
                                               {"units_since", stage->units_since},
                                               {"over", stage->last.is_over},
                                               {"units", stage->last.units},
                                               {"units_all", stage->last.units_all},
                                               {"sent_bytes", stage->last.sent_bytes}};
  }
  return json;
}

void read_party(JsonReader reader, PartyRecord& party) {
  reader.require("name");
  reader.read("name", party.name);
  reader.read("done", party.is_done);
  reader.read("paused", party.is_paused);
  reader.read("relayed_bytes", party.relayed_bytes);
  if (reader.has("stages")) read_stages(reader.object("stages"), party.stages);
  if (reader.has("approval")) {
    JsonReader from = reader.object("approval");
    size_t algorithm = 0;
    PartyApproval& approval = party.approval.emplace();
    from.require("algorithm");
    from.read_choice("algorithm", {"ed25519", "p256"}, algorithm);
    approval.algorithm = algorithm == 0 ? KeyAlgorithm::ed25519 : KeyAlgorithm::p256;
    read_bytes(from, "public_key", approval.public_key);
    read_bytes(from, "signature", approval.signature);
    from.finish();
  }
  reader.finish();
}

}  // namespace

std::string job_party_key(PartyIndex party) {
  return party < kJobPartiesMin ? party_role(party) + "_party" : "feature_party_" + std::to_string(party);
}

std::string write_job_record(const JobRecord& record) {
  nlohmann::ordered_json json = {{"job", to_hex(record.job)},
                                 {"manifest", record.manifest.hex()},
                                 {"state", job_state_name(record.state)},
                                 {"reason", record.reason},
                                 {"changed_unix_ms", unix_ms(record.changed)},
                                 {"kind", record.kind},
                                 {"leakage", record.leakage},
                                 {"paused_by_operator", record.is_paused_by_operator},
                                 {"submitted_by", job_party_key(record.submitted_by)}};
  for (PartyIndex i = 0; i < record.parties.size(); ++i) {
    const PartyRecord& party = record.parties[i];
    nlohmann::ordered_json& entry = json[job_party_key(i)];
    entry = {{"name", party.name},
             {"done", party.is_done},
             {"paused", party.is_paused},
             {"relayed_bytes", party.relayed_bytes},
             {"stages", stages_json(party.stages)}};
    if (!party.approval) continue;
    entry["approval"] = {{"algorithm", party.approval->algorithm == KeyAlgorithm::ed25519 ? "ed25519" : "p256"},
                         {"public_key", to_base64url(party.approval->public_key)},
                         {"signature", to_base64url(party.approval->signature)}};
  }
  return json.dump(2) + "\n";
}

Result<JobRecord> parse_job_record(std::string_view text) {
  Problems problems;
  const std::optional<nlohmann::json> json = parse_json(text, problems);
  if (!json) return Error(ErrorCode::malformed, listed(problems));
  JobRecord record;
  JsonReader reader(*json, "", problems);
  std::string job, state;
  uint64_t changed = 0;
  size_t submitted_by = 0;
  for (const char* key : {"job", "manifest", "state", "reason", "changed_unix_ms", "submitted_by"}) reader.require(key);
  reader.read("job", job);
  if (const Result<Bytes> bytes = from_hex(job); bytes && bytes->size() == record.job.size()) {
    std::ranges::copy(*bytes, record.job.begin());
  } else {
    reader.problem("job", "must be 32 hexadecimal digits");
  }
  reader.read("manifest", record.manifest);
  reader.read("state", state);
  if (const std::optional<JobState> known = job_state_from_name(state)) {
    record.state = *known;
  } else {
    reader.problem("state", "is no state");
  }
  reader.read("reason", record.reason);
  if (!record.reason.empty() && !is_job_reason(record.reason)) reader.problem("reason", "is no reason");
  reader.read("changed_unix_ms", changed);
  record.changed = wall_time_from_unix_ms(static_cast<int64_t>(changed));
  std::vector<std::string> keys;
  for (PartyIndex i = 0; i < kJobPartiesMax; ++i) {
    if (i >= kJobPartiesMin && !reader.has(job_party_key(i).c_str())) break;
    keys.push_back(job_party_key(i));
  }
  reader.read_choice("submitted_by", std::vector<std::string_view>(keys.begin(), keys.end()), submitted_by);
  record.submitted_by = static_cast<PartyIndex>(submitted_by);
  // These came later: an earlier version's file has none.
  reader.read("kind", record.kind);
  reader.read("leakage", record.leakage);
  reader.read("paused_by_operator", record.is_paused_by_operator);
  record.parties.resize(keys.size());
  JobTerms terms{
      .job = record.job, .manifest = record.manifest, .parties = {}, .kind = record.kind, .leakage = record.leakage};
  for (size_t i = 0; i < keys.size(); ++i) {
    read_party(reader.object(keys[i].c_str()), record.parties[i]);
    terms.parties.push_back(record.parties[i].name);
  }
  reader.finish();
  if (!problems.empty()) return Error(ErrorCode::invalid_argument, listed(problems));
  COT_TRY(check_terms(terms));
  for (const PartyRecord& party : record.parties) {
    if (party.approval &&
        !signature_is_valid(party.approval->algorithm, party.approval->public_key,
                            approval_message(record.job, record.manifest), party.approval->signature)) {
      return Error(ErrorCode::unauthenticated, "the approval of " + party.name + " is not signed by its key");
    }
  }
  const bool runs =
      record.state == JobState::approved || record.state == JobState::running || record.state == JobState::paused;
  const bool is_held_elsewhere = record.is_held() && !is_over(record.state) && record.state != JobState::paused;
  if (is_held_elsewhere || (runs && !record.is_approved()) ||
      (record.state == JobState::created && record.is_approved())) {
    return Error(ErrorCode::invalid_argument, "the state and the approvals do not fit");
  }
  return record;
}

std::string JobFolder::file_of(const VerticalJobId& job) const {
  return path_ + "/" + to_hex(job) + std::string(kJobFileSuffix);
}

Result<std::vector<JobRecord>> JobFolder::read_all() const {
  COT_TRY(os::make_directories(path_));
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(path_));
  std::vector<JobRecord> records;
  for (const std::string& name : names) {
    // What a killed write left behind has another name.
    if (!name.ends_with(kJobFileSuffix)) continue;
    COT_ASSIGN(const Bytes bytes, os::read_file(path_ + "/" + name, kJobFileBytesMax));
    Result<JobRecord> record = parse_job_record(as_text(bytes));
    if (!record) return Error(ErrorCode::data_loss, path_ + "/" + name + ": " + record.error().message());
    if (file_of(record->job) != path_ + "/" + name) {
      return Error(ErrorCode::data_loss, path_ + "/" + name + ": it holds another job");
    }
    records.push_back(std::move(*record));
  }
  COT_TRY(erase_old_secrets(names, records));
  return records;
}

// Secrets of jobs that are over or gone, and of writes that were cut off: a process that was killed has left them.
Status JobFolder::erase_old_secrets(const std::vector<std::string>& names,
                                    const std::vector<JobRecord>& records) const {
  for (const std::string& name : names) {
    if (name.find(kSecretFileSuffix) == name.npos) continue;
    const bool is_needed = std::ranges::any_of(records, [&](const JobRecord& record) {
      return !is_over(record.state) && secret_file_of(record.job) == path_ + "/" + name;
    });
    if (!is_needed) COT_TRY(os::erase_file(path_ + "/" + name));
  }
  return {};
}

Status JobFolder::put(const JobRecord& record) {
  COT_TRY(os::write_file_atomically(file_of(record.job), as_bytes(write_job_record(record))));
  return is_over(record.state) ? os::erase_file(secret_file_of(record.job)) : Status();
}

Status JobFolder::remove(const VerticalJobId& job) {
  COT_TRY(os::erase_file(secret_file_of(job)));
  return os::remove_file(file_of(job));
}

std::string JobFolder::secret_file_of(const VerticalJobId& job) const {
  return path_ + "/" + to_hex(job) + std::string(kSecretFileSuffix);
}

Result<Secret<32>> JobFolder::dealing_secret(const VerticalJobId& job) {
  const std::string file = secret_file_of(job);
  Secret<32> secret;
  if (!os::exists(file)) {
    fill_random(secret.mutable_bytes());
    // Readable by the owner alone, as all files that are made so.
    COT_TRY(os::write_file_atomically(file, secret.reveal()));
    return secret;
  }
  COT_ASSIGN(Bytes bytes, os::read_file(file, Secret<32>::kSize));
  if (bytes.size() != Secret<32>::kSize) return Error(ErrorCode::data_loss, file + ": it does not have 32 bytes");
  std::ranges::copy(bytes, secret.mutable_bytes().begin());
  wipe(bytes);
  return secret;
}

}  // namespace coterie
