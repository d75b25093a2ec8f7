// The store's records and answers as text: what two stores are compared by, and what a failure shows.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fl_server/json/job_json.h"
#include "fl_server/store/training_store.h"

namespace coterie::test {

inline std::string text(bool value) { return value ? "true" : "false"; }
inline std::string text(uint64_t value) { return std::to_string(value); }
inline std::string text(const LedgerHead& head) { return std::to_string(head.records) + ":" + head.head.hex(); }
inline std::string text(const DeviceId& id) { return id.hex(); }
inline std::string text(const RoundKey& key) {
  return std::to_string(key.round.value()) + "." + std::to_string(key.attempt.value());
}

inline std::string text(const RoundTotals& t) {
  std::ostringstream out;
  out << "[" << t.updates << " " << t.weight << " " << t.examples << " " << t.loss_sum << " " << t.correct << " "
      << t.train_ms << "]";
  return out.str();
}

inline std::string text(const JobRecord& job) {
  std::ostringstream out;
  out << "job " << job.id.value() << " " << to_string(job.state) << " \"" << job.reason << "\" plan " << job.plan.hex()
      << " " << job.plan_bytes << " values " << job.value_count << "/" << job.trained_value_count << " done "
      << job.rounds_done << " created " << unix_ms(job.created) << " revision " << job.revision << " "
      << job_settings_to_json_text(job.spec);
  return out.str();
}

inline std::string text(const ModelRecord& model) {
  std::ostringstream out;
  out << "model " << model.job.value() << " " << model.version.value() << " " << model.digest.hex() << " "
      << model.bytes << " state " << (model.optimizer_state ? model.optimizer_state->hex() : "-") << " loss "
      << (model.evaluation_loss ? std::to_string(*model.evaluation_loss) : "-") << " accuracy "
      << (model.evaluation_accuracy ? std::to_string(*model.evaluation_accuracy) : "-") << " created "
      << unix_ms(model.created) << " exact " << (model.exact ? model.exact->hex() : "-");
  for (const DeltaFile& delta : model.deltas) {
    out << " delta " << delta.base.hex() << " " << delta.file.hex() << " " << delta.bytes;
  }
  return out.str();
}

inline std::string text(const ModelRelease& release) {
  return std::to_string(release.seq) + ":" + std::to_string(release.version.value()) + " " +
         std::to_string(unix_ms(release.time));
}
inline std::string text(const std::optional<ModelRelease>& release) { return release ? text(*release) : "none"; }

inline std::string text(const std::map<JobId, ModelRelease>& releases) {
  std::string lines;
  for (const auto& [job, release] : releases) lines += job.value() + " " + text(release) + "\n";
  return lines;
}

inline std::string text(const RoundRecord& round) {
  std::ostringstream out;
  out << "round " << text(round.key) << " of " << round.job.value() << " number " << round.number << " "
      << to_string(round.state) << " \"" << round.reason << "\" base " << round.base.value() << " "
      << round.base_model.hex() << " " << round.base_model_bytes << " selected " << round.selected << " "
      << text(round.totals) << " opened " << unix_ms(round.opened) << " closed " << unix_ms(round.closed) << " ledger "
      << round.ledger.records << " " << round.ledger.head.hex();
  return out.str();
}

inline std::string text(const JobProgress& progress) {
  return text(progress.job) + "\n" + text(progress.head) + "\n" +
         (progress.latest ? text(*progress.latest) : "no round") + "\naccepted " + std::to_string(progress.accepted) +
         (progress.privacy_stop.empty() ? "" : "\n" + progress.privacy_stop);
}

inline std::string text(const PartialRecord& partial) {
  return "partial " + partial.id + " of " + text(partial.key) + " " + text(partial.totals) + " " + partial.blob.hex();
}

inline std::string text(const BatchOutcome& outcome) {
  struct Visitor {
    std::string operator()(const BatchDone&) const { return "done"; }
    std::string operator()(const BatchClosed&) const { return "closed"; }
    std::string operator()(const BatchConflict& conflict) const {
      std::string line = "conflict";
      for (const DeviceId& device : conflict.accepted_before) line += " " + device.hex();
      return line;
    }
    std::string operator()(const BatchFailed& failed) const { return "failed: " + std::string(failed.error.name()); }
    std::string operator()(const BatchUnknown& unknown) const {
      return "unknown: " + std::string(unknown.error.name());
    }
  };
  return std::visit(Visitor{}, outcome);
}

inline std::string text(const NoiseSalt& salt) { return to_hex(salt.reveal()); }
inline std::string text(const LedgerRecord& record) {
  return "record " + std::to_string(record.seq) + " " + digest_of(record).hex();
}
inline std::string text(const JobPrivacy& privacy) {
  return "spent " + std::to_string(privacy.spent.releases) + " open " + std::to_string(privacy.spent.open_reserves) +
         " epsilon " + std::to_string(privacy.spent.account.epsilon) + " \"" + privacy.stop + "\" head " +
         std::to_string(privacy.ledger_records) + " " + privacy.ledger_head.hex();
}

template <typename T>
std::string text(const std::vector<T>& items) {
  std::string lines;
  for (const T& item : items) lines += text(item) + "\n";
  return lines;
}

inline std::string text(const Status& status) { return status ? "ok" : "error: " + std::string(status.error().name()); }

// Errors by their code: the sentences are each store's own.
template <typename T>
std::string text(const Result<T>& result) {
  return result ? text(*result) : "error: " + std::string(result.error().name());
}

}  // namespace coterie::test
