// What the finalizer asks of a database, answered from one round in memory: its one partial sum and whose updates it
// holds; and a ledger that releases nothing, as jobs with noise are refused before (tools/simulate/simulate.h).
#pragma once

#include <string>
#include <vector>

#include "fl_server/store/accept_store.h"
#include "fl_server/store/ledger_store.h"

namespace coterie {

class OnePartial final : public AcceptStore {
 public:
  OnePartial(PartialRecord partial, std::vector<DeviceId> devices)
      : partial_(std::move(partial)), devices_(std::move(devices)) {}

  BatchOutcome accept_batch(const PartialRecord&, const std::vector<AcceptRow>&) override { return BatchClosed{}; }
  Result<uint64_t> count_accepted(const RoundKey& key) override {
    return key == partial_.key ? partial_.totals.updates : 0;
  }
  Result<std::vector<DeviceId>> list_accepted(const RoundKey& key) override {
    return key == partial_.key ? devices_ : std::vector<DeviceId>();
  }
  Result<std::vector<DeviceId>> list_resting(const RoundKey&) override { return no_names(); }
  Result<bool> is_accepted(const RoundKey&, const DeviceId&) override { return no_names(); }
  Result<UpdateFate> look_up(const RoundKey&, const DeviceId&) override { return no_names(); }
  Result<std::vector<PartialRecord>> list_partials(const RoundKey& key) override {
    return key == partial_.key ? std::vector{partial_} : std::vector<PartialRecord>();
  }
  Result<std::vector<PartialRecord>> list_finished_partials(size_t) override { return std::vector<PartialRecord>(); }
  Status forget_partials(const std::vector<std::string>&) override { return {}; }

 private:
  static Error no_names() { return Error(ErrorCode::unavailable, "simulated devices have no identities"); }
  PartialRecord partial_;
  std::vector<DeviceId> devices_;
};

class NoLedger final : public LedgerStore {
 public:
  Result<NoiseSalt> reserve_release(const RoundKey&, const NoiseSalt&, WallTime) override { return none(); }
  Result<std::vector<KeptNoise>> ended_noise(const RoundKey&) override { return none(); }
  Result<JobPrivacy> job_privacy(const JobId&) override { return none(); }
  Result<std::vector<LedgerRecord>> list_ledger(uint64_t, size_t) override { return std::vector<LedgerRecord>(); }
  Result<LedgerHead> ledger_head() override { return LedgerHead{}; }
  Result<LogHead> log_head(const Population&, uint64_t) override { return LogHead{}; }
  Result<LogProof> prove_log(const Population&, uint64_t, uint64_t) override { return none(); }
  Result<Population> ledger_population(const JobId&) override { return none(); }
  Status set_population_budget(const Population&, const std::optional<PrivacyBudget>&) override { return none(); }
  Result<std::vector<PopulationPrivacy>> list_population_privacy(double) override {
    return std::vector<PopulationPrivacy>();
  }
  Result<std::string> why_no_job(const JobRecord&, const Digest&) override { return std::string(); }

 private:
  static Error none() { return Error(ErrorCode::conflict, "a simulation has no privacy ledger"); }
};

}  // namespace coterie
