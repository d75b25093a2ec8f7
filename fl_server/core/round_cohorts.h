// RoundCohorts: the cohorts of one attempt of a round, each a session of secure aggregation of its own, whose sums are
// added up. Pure.
//
// Devices are placed as their adverts come: the first cohort is filled, then the next. So a cohort goes on as soon as
// it is full, and if devices are missing they are missing in one. With a draw they wait until all are there, or the
// time is up, and are placed at once; if devices are missing all cohorts are smaller, and fewer where they would be too
// small for a sum. A cohort that fails before the round is frozen has no
// update in the sum, and the round goes on without it; one that fails later takes the round's sum with it, as what it
// added cannot be taken off any more.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fl_server/core/cohort_machine.h"
#include "secure/secagg/cohort_draw.h"

namespace coterie {

struct RoundCohortsSettings {
  uint32_t cohort_count = 1;
  uint32_t adverts_goal = 0;    // of all cohorts, shared out evenly: devices that close the rosters
  uint32_t adverts_enough = 0;  // with which to go on if others are late; at most adverts_goal
  uint32_t adverts_least = 0;   // for so many a round's only cohort waits past its time; several wait for nobody
  CohortSettings cohort = {};   // of each, but for its own adverts_goal
  std::optional<secagg::CohortDraw> draw = {};  // none: placed as they come
};

class WaitingAdverts;

class RoundCohorts {
 public:
  // `ring_seeds`: one a cohort, as CohortMachine::make. invalid_argument if parameters are not valid.
  static Result<RoundCohorts> make(const secagg::SessionParameters& parameters, const RoundCohortsSettings& settings,
                                   std::span<const uint64_t> ring_seeds,
                                   const secagg::CertificateCheck& certificate_is_good, Instant now);

  RoundCohorts(RoundCohorts&&) noexcept;
  RoundCohorts& operator=(RoundCohorts&&) noexcept;
  ~RoundCohorts();

  // These are CohortMachine's, for the cohort that the device is in.
  Status receive(const DeviceId& device, const Bytes& public_key, const CohortMessage& message, Instant now);
  Result<CohortReply> ask(const DeviceId& device, CohortQuestion question, Instant now);
  Status input_arrived(const DeviceId& device, const MaskedInput& input, Instant now);
  Status input_accepted(const DeviceId& device, const MaskedInput& input, Instant now);

  // How many inputs will come at most, and how many updates there are: nothing until every cohort knows.
  std::optional<uint32_t> inputs_due() const;
  std::optional<uint32_t> updates_expected() const;

  // As CohortMachine's. Cohorts without any of these devices are left out.
  void freeze(const std::vector<DeviceId>& accepted, Instant now);

  void time_passed(Instant now);
  std::optional<Instant> next_deadline() const;

  // The masks can be taken off now: sessions() are for the one who does.
  bool is_ready() const;
  // Why there will be no sum.
  std::optional<Error> failure() const;
  // The cohorts in the sum; before the round is frozen, all that may be.
  std::vector<const secagg::Server*> sessions() const;
  // Why cohorts are missing in the sum: a reason for each that failed by itself.
  std::vector<Error> left_out() const;
  size_t device_count() const;  // whose adverts were taken
  // Grows whenever a cohort enters a phase, or fails.
  uint32_t progress() const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;

 private:
  struct Cohort {
    CohortMachine machine;
    bool is_left_out = false;
  };

  RoundCohorts(std::vector<Cohort> cohorts, const RoundCohortsSettings& settings, uint32_t survivors_min, Instant now);

  Result<CohortMachine*> cohort_of(const DeviceId& device);
  size_t next_to_fill() const;
  std::optional<uint32_t> total_of(std::optional<uint32_t> (CohortMachine::*what)() const) const;
  Status receive_advert(const DeviceId& device, const Bytes& public_key, const KeyAdvert& advert, Instant now);
  void shorten_wait(Instant now);
  void place_waiting(Instant now);

  std::vector<Cohort> cohorts_;  // one at least
  RoundCohortsSettings settings_;
  uint32_t survivors_min_;
  Instant began_;
  Instant place_at_;                         // those who wait
  std::unique_ptr<WaitingAdverts> waiting_;  // with a draw, until it is done
  std::map<DeviceId, size_t> placed_;        // whose adverts were taken
  bool is_frozen_ = false;
  std::optional<Error> failure_;  // of all together
  StepCheck step_check_;
};

}  // namespace coterie
