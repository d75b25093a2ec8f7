// SimCohorts: the sessions of secure aggregation of the attempts that one simulated scheduler leads: RoundCohorts, told
// and asked as RoundScheduler does it, on virtual time. They are lost with the life of their scheduler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fl_server/core/round_cohorts.h"
#include "fl_server/finalize/sum_masks.h"
#include "scheduler/round/round_machine.h"
#include "tests/simulation/sessions/server_port.h"
#include "tests/simulation/world.h"

namespace coterie::simulation {

// Who hears what the sessions come to. A call may come back to SimCohorts.
class CohortListener {
 public:
  virtual ~CohortListener() = default;
  virtual void updates_expected(const RoundKey& key, uint64_t total) = 0;
  virtual void updates_due(const RoundKey& key, uint64_t total) = 0;
  virtual void attempt_lost(const RoundKey& key, const std::string& reason) = 0;
  // The masks of the attempt that finalize() was called for can be taken off, or the error says why not.
  virtual void opened(uint64_t serial, const FinalizeRound& request, Result<std::shared_ptr<SumMasks>> masks) = 0;
};

class SimCohorts {
 public:
  SimCohorts(World& world, CohortListener& listener) : world_(world), listener_(listener) {}

  bool has(const RoundKey& key) const { return live_.contains(key); }
  // An attempt begins to collect. invalid_argument: there is no such session.
  Status begin(const RoundNotice& notice, const AttemptRules& rules);
  void end(const RoundKey& key);

  // ---- Devices. What they ask is held for a while.
  void exchange(const RoundKey& key, const DeviceId& device, const Bytes& public_key,
                const std::optional<CohortMessage>& told, std::optional<CohortQuestion> asked, Reply reply);
  Status arrived(const RoundKey& key, const DeviceId& device, const MaskedInput& input);

  // ---- The round. `accepted` are devices with rows in the store.
  void accepted(const RoundKey& key, const std::vector<DeviceId>& accepted);
  // The store has frozen the round.
  void freeze(const RoundKey& key, const std::vector<DeviceId>& accepted);
  void finalize(uint64_t serial, const FinalizeRound& request, const std::vector<DeviceId>& accepted);

  void time_passed();
  std::optional<Instant> next_deadline() const;

 private:
  struct Question {
    DeviceId device;
    CohortQuestion what;
    Instant until;
    Reply reply;
  };
  struct Live {
    RoundCohorts machine;
    secagg::SessionParameters parameters;
    std::map<DeviceId, MaskedInput> inputs = {};  // that were welcome
    std::set<DeviceId> accepted = {};
    std::optional<std::pair<uint64_t, FinalizeRound>> finalize = {};
    std::vector<Question> held = {};
    bool is_frozen = false;  // in the store
    std::optional<uint32_t> told_due = {};
    bool told_expected = false;
  };
  void after(const RoundKey& key);
  void answer_held(Live& live);

  World& world_;
  CohortListener& listener_;
  std::map<RoundKey, std::shared_ptr<Live>> live_;
};

}  // namespace coterie::simulation
