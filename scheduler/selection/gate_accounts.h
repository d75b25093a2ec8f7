// GateAccounts: what became of each device that asked in an attempt at a round, one gate each (device_gate.h), so that
// the gates' counts sum to the devices that asked. Pure; a part of CheckinDesk.
//
// A device asks in an attempt when it waits, or checks in, while the attempt collects. It is then at one gate; events
// move it on, never back: who has a ticket is never again one that was not drawn, and who is counted stays counted.
// Nothing is noted of devices that did not ask here: one that was counted before its attempt was heard of here, or that
// sends an update with a ticket of another node, is in the account of whoever gave it the ticket.
//
// What is remembered of single devices is their id and their gate, in memory alone: while their attempt is served here,
// then for kLinger at most, as late updates and refusals come behind a round's end, and for kDevicesMax devices. What
// leaves are counts. Whoever comes when no more are remembered is counted by each check-in (DeviceGate::unremembered).
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/selection/told_gates.h"

namespace coterie {

class GateAccounts {
 public:
  static constexpr size_t kDevicesMax = 200'000;
  static constexpr Millis kTellEvery{1'000};
  static constexpr Millis kLinger{1'200'000};  // a device tells of a plan that it refused after 5 to 10 minutes

  explicit GateAccounts(size_t devices_max = kDevicesMax) : devices_max_(devices_max) {}

  // What follows is by this time; it never goes back.
  void time_is(Instant now) { now_ = std::max(now_, now); }
  // An attempt collects: its account is opened, or goes on.
  void begin(const RoundKey& key);
  // A device is at this gate, if it can have come there from the one that it was at. A gate without a ticket, a ticket
  // and `joined` open an entry; others need one.
  void note(const RoundKey& key, const DeviceId& device, GateCode code);
  // A device that waited does no more.
  void left(const RoundKey& key, const DeviceId& device, DeviceGate gate);
  // A ticket came back: its device is gone.
  void ticket_came_back(const RoundKey& key, const DeviceId& device);
  // The attempt gives no more tickets: whoever waited came too late for one.
  void closed(const RoundKey& key);
  // It is not served any more.
  void ended(const RoundKey& key);

  // What has changed, once it is due: an attempt that goes on is told of once in kTellEvery, one that has ended at
  // once. Whoever was long enough ended is forgotten.
  std::vector<ToldGates> take_due();
  std::optional<Instant> next_deadline() const;

  // Fails, with a sentence, if what must be true between two steps is not (base/assert.h).
  void check() const;
  size_t remembered() const { return remembered_; }

 private:
  struct Account {
    std::unordered_map<DeviceId, GateCode> devices;
    uint64_t asked = 0;
    uint64_t unremembered = 0;  // of those
    GateCounts counts;
    std::optional<Instant> tell_at;   // none: nothing has changed
    std::optional<Instant> ended_at;  // none: it is served
  };

  Account* find(const RoundKey& key);
  void enter(Account& account, const DeviceId& device, GateCode code);
  void move(Account& account, GateCode& from, GateCode to);
  void changed(Account& account);
  void make_room();

  size_t devices_max_;
  Instant now_{};
  std::map<RoundKey, Account> accounts_;
  size_t remembered_ = 0;
};

}  // namespace coterie
