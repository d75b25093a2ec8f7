// CohortMachine: the devices that add up their updates behind masks in one attempt of a round, from the server's side.
// Pure.
//
// It is what secagg::Server leaves open: which message is whose, when a phase has waited long enough, and what a round
// must know. Devices ask and are told "not yet" until a phase ends. A phase ends when all devices that it waits for
// have answered, when those that have not are not worth the wait (phase_patience.h; the plan is to lose dropout_share
// of the whole roster, in all phases together), or after phase_max.
//
//   advertising   until adverts_goal devices, or its time, which begins again for fewer than adverts_least. Fewer than
//                 the session's least: failed
//   masking       until the masked updates have come, and are durably accepted; then until freeze(), which is the
//                 round's
//   unmasking     until everybody asked has answered, or the time is up and there are shares enough
#pragma once

#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "fl_server/core/phase_patience.h"
#include "secure/secagg/server.h"

namespace coterie {

struct CohortSettings {
  uint32_t adverts_goal = 0;       // devices that close the roster
  uint32_t adverts_least = 0;      // without which it stays open past its time; at most adverts_goal
  Millis advertising_max{60'000};  // training is before it, so devices come at different times
  Millis phase_max{30'000};        // of each other phase: a message there and one back
  double dropout_share = 0;        // that is planned for
  Millis patience_min{25};         // of each phase: a scheduler's or a disk's moods
};

using CohortMessage = std::variant<KeyAdvert, HolderChoice, SealedShares, Confirmation, Unmasking>;
enum class CohortQuestion : uint8_t { roster, share_inbox, confirm_request, unmask_request };
struct NotYet {
  uint32_t cohort_size;
};  // ask again: the more devices there are, the later
using CohortReply = std::variant<NotYet, RosterSlot, RosterView, ShareInbox, ConfirmRequest, UnmaskRequest>;

class CohortMachine {
 public:
  using Phase = secagg::Server::Phase;

  static Result<CohortMachine> make(const secagg::SessionParameters& parameters, const CohortSettings& settings,
                                    uint64_t ring_seed, secagg::CertificateCheck certificate_is_good, Instant now);

  // `device` and its key are who signed the request. An error is for that device; the cohort goes on. round_closed once
  // the cohort has failed, or goes on without this device.
  Status receive(const DeviceId& device, const Bytes& public_key, const CohortMessage& message, Instant now);
  Result<CohortReply> ask(const DeviceId& device, CohortQuestion question, Instant now);

  // This header has come, with good lanes: whether they may be added. The same once the lanes are accepted, durably.
  Status input_arrived(const DeviceId& device, const MaskedInput& input, Instant now);
  Status input_accepted(const DeviceId& device, const MaskedInput& input, Instant now);
  // How many inputs will come at most, as far as is known; nothing before the phase masking.
  std::optional<uint32_t> inputs_due() const;
  // How many updates there are: known once all who were not given up are accepted.
  std::optional<uint32_t> updates_expected() const { return updates_expected_; }

  // The round is frozen with the updates of these devices: all whose input was accepted, or the cohort has failed.
  void freeze(const std::vector<DeviceId>& accepted, Instant now);

  // Advertising takes no longer than this; no effect on other phases.
  void advertise_until(Instant end);
  void time_passed(Instant now);
  std::optional<Instant> next_deadline() const;

  // The masks can be taken off now: session().opening() is for the one who does.
  bool is_ready() const { return is_ready_; }
  const std::optional<Error>& failure() const { return failure_; }
  const secagg::Server& session() const { return server_; }

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h). Every public call that is
  // told the time is a step.
  void check() const;

 private:
  CohortMachine(secagg::Server server, const CohortSettings& settings, uint32_t survivors_min, Instant now)
      : settings_(settings),
        survivors_min_(survivors_min),
        server_(std::move(server)),
        phase_began_(now),
        deadline_(now + settings.advertising_max) {}

  Status check_sender(const DeviceId& device, const CohortMessage& message) const;
  Result<uint32_t> place_of(const DeviceId& device) const;
  Status check_input(const DeviceId& device, const MaskedInput& input) const;
  Result<CohortReply> answer(uint32_t place, CohortQuestion question) const;
  uint32_t expected() const;  // answers, in this phase
  uint32_t answered() const;
  PhasePatience patience() const;
  void advance(Instant now);
  void end_due_phases(Instant now);
  bool waits_for_least(Instant now) const;
  void begin_phase(Instant now);
  void shorten_wait(Instant now);
  Status close_phase();
  void fail(Error error);
  void check_inputs() const;
  void check_time() const;

  CohortSettings settings_;
  uint32_t survivors_min_;
  secagg::Server server_;
  std::map<DeviceId, Bytes> keys_;  // of those who advertised
  std::set<uint32_t> arrived_;      // whose inputs have come
  bool is_closed_to_inputs_ = false, is_frozen_ = false, is_ready_ = false;
  std::optional<uint32_t> updates_expected_;
  std::optional<Error> failure_;
  Instant phase_began_;
  std::optional<Instant> deadline_;  // of this phase
  uint32_t waited_at_ = 0;           // answers when it was last looked at how long to wait for the others
  StepCheck step_check_;
};

}  // namespace coterie
