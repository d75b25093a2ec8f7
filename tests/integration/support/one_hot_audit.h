// OneHotAudit: devices whose updates are one-hot, so that a model tells who was counted, and how often. They note their
// receipts; in the end whoever holds one must be in the sum, and nobody twice. (Janus tests its aggregator so.)
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tests/integration/support/admin.h"
#include "tests/integration/support/raw_device.h"

namespace coterie::integration {

// Also a door that is shut while there is no server.
class OneHotAudit {
 public:
  void acknowledged(const RoundKey& key, uint32_t device);
  // At most a few seconds: after the last round there are none to wait for.
  void wait_for_receipts(uint64_t more);
  void set_open(bool open);
  // Returns false when there is nothing left to do.
  bool wait_until_open();
  // Devices keep what they trained on a model of this version, or a later one, to themselves until release(): a job
  // cannot be over before its test has disturbed it as often as it must.
  void hold_from(ModelVersion version);
  void release();
  // Returns when an update to that version may leave.
  void wait_until_released(ModelVersion version);
  // A device's pause: that long, or until the audit is over.
  void rest(Millis pause);
  void finish();

  uint64_t receipts() const;

  // All rounds of the job are done, whoever holds a receipt is in them, and nobody twice.
  void check(Admin& admin, const std::string& job, uint64_t rounds, uint32_t devices) const;
  // The same of the rounds that are done so far; returns how many. Receipts of the round that goes on stand for nothing
  // yet, and no attempt has failed with a receipt.
  uint64_t check_done(Admin& admin, const std::string& job, uint32_t devices) const;
  // The same of a masked job, whose devices send value_in(). A receipt stands for nothing where its attempt is lost, as
  // its session is then; where the attempt is done, its device is in the sum. Each lane of the sum is compared with
  // what those devices sent in this attempt, those of no device with zero: a mask that is left would show, and so would
  // an update of another attempt, or one that is there twice.
  uint64_t check_masked(Admin& admin, const std::string& job, uint32_t devices) const;
  // Checks a job with noise, in whose models nobody can be seen: as many count as hold receipts, or more, and the
  // privacy ledger has each of its rounds that are done once, with as many contributors. Returns how many are done.
  uint64_t check_ledger(Admin& admin, const std::string& job) const;
  // Checks a job whose rounds share noise: its tree is in the ledger once, no attempt failed with a receipt, and two
  // rounds with receipts of the same device are at least `separation` apart. Returns how many rounds are done.
  uint64_t check_tree(Admin& admin, const std::string& job, uint64_t separation) const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RoundKey, std::set<uint32_t>> receipts_;
  uint64_t count_ = 0;
  std::optional<ModelVersion> held_;
  bool open_ = true;
  bool finished_ = false;
};

// Takes part in rounds as device `index` until the audit is over, whatever happens to the server.
void take_part(RawDevice& device, uint32_t index, size_t value_count, OneHotAudit& audit);

// What device `index` has at its place in that attempt of a masked job: in (0.5, 1], and not the same in the next one.
float value_in(const RoundKey& key, uint32_t index);
// The same as take_part(), of a masked job.
void take_masked_parts(RawDevice& device, uint32_t index, size_t value_count, OneHotAudit& audit);

}  // namespace coterie::integration
