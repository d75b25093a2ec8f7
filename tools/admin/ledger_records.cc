#include "tools/admin/ledger_records.h"

#include <array>
#include <nlohmann/json.hpp>

#include "fl_server/json/json_reader.h"

namespace coterie {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"reserve", "commit", "voided"};  // LedgerKind's order
constexpr std::array<std::string_view, 3> kMechanisms = {"skellam", "discrete_gaussian", "tree"};

Error malformed(const Problems& problems) {
  return Error(ErrorCode::malformed, "privacy ledger: " + problems.front().pointer + " " + problems.front().detail);
}

struct ExportedRecord {
  LedgerRecord record;
  std::string population;  // empty: not named
};

Result<ExportedRecord> record_from(const nlohmann::json& json, size_t index) {
  Problems problems;
  JsonReader reader(json, "/records/" + std::to_string(index), problems);
  ExportedRecord read;
  LedgerRecord& record = read.record;
  LedgerRelease& release = record.release;
  std::string job, time;
  uint64_t round = 0, unix_ms = 0;
  uint32_t attempt = 0;
  size_t kind = 0, mechanism = 0;
  Digest digest;
  reader.read("seq", record.seq);
  reader.read("previous", record.previous);
  reader.read("job", job);
  reader.read("population", read.population);
  reader.read("round", round);
  reader.read("attempt", attempt);
  reader.read_choice("kind", kKinds, kind);
  reader.read_choice("mechanism", kMechanisms, mechanism);
  reader.read("variance", release.variance);
  reader.read("l1_sensitivity", release.l1_sensitivity);
  reader.read("l2_sensitivity", release.l2_sensitivity);
  reader.read("total_variation", release.total_variation);
  reader.read("delta", record.delta);
  reader.read("contributors", record.contributors);
  reader.read("noise_commitment", record.noise_commitment);
  reader.read("time", time);  // the same in words
  reader.read("unix_ms", unix_ms);
  reader.read("digest", digest);
  if (!problems.empty()) return malformed(problems);
  record.job = JobId(job);
  record.round = {RoundId(round), Attempt(attempt)};
  record.kind = static_cast<LedgerKind>(kind + 1);
  release.mechanism = static_cast<LedgerMechanism>(mechanism + 1);
  record.time = wall_time_from_unix_ms(static_cast<int64_t>(unix_ms));
  if (digest_of(record) != digest) {
    return Error(ErrorCode::data_loss,
                 "privacy ledger: record " + std::to_string(record.seq) + " is not what its digest says");
  }
  return read;
}

}  // namespace

Result<LedgerExport> read_ledger_export(const nlohmann::json& answer) {
  if (!answer.is_object() || !answer.value("records", nlohmann::json()).is_array()) {
    return Error(ErrorCode::malformed, "privacy ledger: no answer of /admin/v1/ledger");
  }
  LedgerExport out;
  const nlohmann::json& records = answer.at("records");
  for (size_t i = 0; i < records.size(); ++i) {
    COT_ASSIGN(const ExportedRecord read, record_from(records[i], i));
    COT_TRY(out.ledger.append(read.record));
    out.has_populations = out.has_populations && !read.population.empty();
    if (out.has_populations) out.logs.append(read.record, Population(read.population));
  }
  if (!out.has_populations) out.logs = PopulationLogs();
  Problems problems;
  const nlohmann::json head = answer.value("head", nlohmann::json::object());
  JsonReader reader(head, "/head", problems);
  uint64_t seq = 0;
  Digest digest;
  reader.read("seq", seq);
  reader.read("digest", digest);
  if (!problems.empty()) return malformed(problems);
  COT_TRY(out.ledger.verify_extends(seq, digest));
  return out;
}

}  // namespace coterie
