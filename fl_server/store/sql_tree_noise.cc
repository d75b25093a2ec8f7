// Noise of a tree: the salts of earlier rounds, and who was counted too short a time ago.
#include "fl_server/store/sql_training_store.h"
#include "secure/dp/noise/noise_tree.h"

namespace coterie {
namespace {

constexpr uint64_t kDone = static_cast<uint64_t>(RoundState::done);

// Rounds before this one of the same job, which no device of it may be counted in.
#define COT_TOO_SOON "r.job = ? AND r.number > ? AND r.number < ? AND r.state = ?"

}  // namespace

Result<std::vector<DeviceId>> SqlTrainingStore::list_resting(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceId> devices;
  COT_ASSIGN(const std::optional<RoundRecord> round, read_round(key));
  if (!round) return devices;
  COT_ASSIGN(const JobRecord job, read_job(round->job));
  const RoundSettings& settings = job.spec.horizontal().rounds;
  if (settings.separation_min < 2) return devices;
  Statement rows = database_.prepare(
      "SELECT DISTINCT a.device FROM round r JOIN accept a ON a.round = r.id AND a.attempt = r.attempt "
      "WHERE " COT_TOO_SOON " ORDER BY a.device");
  rows << round->job.value() << settings.far_enough_before(round->number) << round->number << kDone;
  for (;;) {
    COT_ASSIGN(const bool more, rows.step());
    if (!more) return devices;
    devices.push_back(rows.device(0));
  }
}

// Inside the transaction of reserve_release: what the account of a tree counts on. Nodes draw nobody who rests
// (list_resting); here is looked again, at the rows themselves.
Status SqlTrainingStore::check_separation(const RoundRecord& round, const HorizontalSettings& settings) {
  if (!settings.privacy.has_tree_noise()) return {};
  const uint64_t far = settings.rounds.far_enough_before(round.number);
  const auto count = [&](Statement row) -> Result<uint64_t> {
    COT_ASSIGN(const bool found, row.step());
    return found ? row.u64(0) : 0;
  };
  Statement whole = database_.prepare("SELECT count(*) FROM round r WHERE " COT_TOO_SOON
                                      " AND r.updates = "
                                      "(SELECT count(*) FROM accept a WHERE a.round = r.id AND a.attempt = r.attempt)");
  whole << round.job.value() << far << round.number << kDone;
  COT_ASSIGN(const uint64_t known, count(std::move(whole)));
  if (known + 1 < round.number - far) {
    return Error(ErrorCode::data_loss,
                 "privacy: it is not known any more whom the rounds before count, so nobody can say that this one "
                 "counts others");
  }
  Statement both = database_.prepare(
      "SELECT count(*) FROM accept b WHERE b.round = ? AND b.attempt = ? AND b.device IN (SELECT a.device FROM round r "
      "JOIN accept a ON a.round = r.id AND a.attempt = r.attempt WHERE " COT_TOO_SOON ")");
  both << round.key.round.value() << round.key.attempt.value() << round.job.value() << far << round.number << kDone;
  COT_ASSIGN(const uint64_t too_soon, count(std::move(both)));
  if (too_soon == 0) return {};
  return Error(ErrorCode::data_loss, "privacy: this attempt counts devices too soon after a round that counts them (" +
                                         std::to_string(too_soon) + "); rounds.separation_min is " +
                                         std::to_string(settings.rounds.separation_min));
}

Result<std::vector<KeptNoise>> SqlTrainingStore::ended_noise(const RoundKey& key) {
  const std::lock_guard lock(mutex_);
  std::vector<KeptNoise> kept;
  COT_ASSIGN(const std::optional<RoundRecord> round, read_round(key));
  if (!round) return Error(ErrorCode::conflict, "privacy: there is no such attempt");
  COT_ASSIGN(const JobRecord job, read_job(round->job));
  if (!job.spec.horizontal().privacy.has_tree_noise()) return kept;
  for (const uint64_t node : nodes_ended_by(round->number)) {
    Statement row = database_.prepare(
        "SELECT r.id, r.attempt, s.salt FROM round r JOIN noise_salt s ON s.round = r.id AND s.attempt = r.attempt "
        "WHERE r.job = ? AND r.number = ? AND r.state = ?");
    row << round->job.value() << node << kDone;
    COT_ASSIGN(const bool found, row.step());
    if (!found) {
      return Error(ErrorCode::data_loss,
                   "privacy: the noise of round " + std::to_string(node) + " cannot be made again to be taken off");
    }
    kept.push_back({{RoundId(row.u64(0)), Attempt(row.u32(1))}, NoiseSalt(std::span<const uint8_t, 32>(row.blob(2)))});
  }
  return kept;
}

// Those of rounds that are done, between these two.
Status SqlTrainingStore::erase_kept_noise(const JobId& job, uint64_t after, uint64_t before) {
  Statement erase = database_.prepare(
      "DELETE FROM noise_salt WHERE (round, attempt) IN "
      "(SELECT r.id, r.attempt FROM round r WHERE r.job = ? AND r.number > ? AND r.number < ? AND r.state = ?)");
  erase << job.value() << after << before << kDone;
  return erase.run();
}

// Inside the transaction of commit_round, before the round is done: whose noise nobody needs from now on. With a
// tree that is what this round has taken off; at the job's end it is all there is.
Status SqlTrainingStore::end_noise(const JobRecord& job, const RoundKey& key) {
  const HorizontalSettings& settings = job.spec.horizontal();
  if (!settings.privacy.has_tree_noise()) return erase_salt(key);
  COT_ASSIGN(const std::optional<RoundRecord> round, read_round(key));
  COT_ASSERT(round.has_value());
  const bool goes_on = job.state == JobState::running || job.state == JobState::paused;
  if (goes_on && round->number < settings.rounds.count) {
    return erase_kept_noise(job.id, before_node(round->number), round->number);
  }
  COT_TRY(erase_kept_noise(job.id, 0, round->number));
  return erase_salt(key);
}

}  // namespace coterie
