// Oracle: sees everything, and says what must not be.
//
// Device i adds 1 to coordinate i, so a committed sum shows who was counted, and a 2 is a replay.
//   lost      a device was told "accepted", its round is done, and it is not in the sum; or the attempt has failed,
//             which masked ones may; or a masked sum that has all its shares is not its devices' though one leader had
//             all its sessions; or a leader begins sessions for an attempt of which it has seen accept rows
//   doubled   a coordinate of a committed sum is more than 1
//   phantom   an accept row without a contribution, or the reverse; or a device goes on from a state that has an update
//             in it which no sum has
// In buffered rounds a training that two rounds count is doubled, too, and one that its device threw away is lost.
//   stuck     the job did not come to its end although faults had stopped long before
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"

namespace coterie::simulation {

struct Verdict {
  uint64_t rounds = 0;
  uint64_t masked = 0;      // of these, with secure aggregation
  uint64_t stale_sums = 0;  // attempts lost to a batch of an earlier leader's sessions
  uint64_t crashes = 0;
  uint64_t leaders = 0;  // times that somebody began to lead
  uint64_t retries = 0;  // attempts that failed and were made again
  uint64_t conflicts = 0;
  uint64_t joined = 0;  // updates that a later round counts
  uint64_t lost = 0;
  uint64_t doubled = 0;
  uint64_t phantom = 0;
  uint64_t stuck = 0;
  uint64_t misaccounted = 0;  // what is told of the devices that asked is not so
  uint64_t asked = 0;         // devices, in rounds that are done, as their nodes have told
  uint64_t events = 0;
  uint64_t trace = 0;  // hash of what happened: equal seeds, equal traces
  std::string first_problem;

  bool clean() const { return lost + doubled + phantom + stuck + misaccounted == 0; }
  Verdict& operator+=(const Verdict& other);
};

// One that a device has ended: of the attempt that asked for it, and the device's how-manieth. A server that has not
// heard of an update may ask for another one of the same attempt.
struct Training {
  RoundKey round;
  uint64_t number = 0;
  friend auto operator<=>(const Training&, const Training&) = default;
};

class Oracle {
 public:
  // `is_masked`: rounds aggregate securely, so that accepted updates are lost with the sessions of their attempt, and
  // receipts of an attempt that failed stand for nothing.
  explicit Oracle(bool is_masked) : is_masked_(is_masked) {}

  // A device has the receipt, or a node has sent it.
  void acknowledged(const RoundKey& key, uint32_t device);
  // A round is done with this sum (already divided by the fixed-point unit) and these accept rows.
  void committed(const RoundKey& key, const std::vector<uint64_t>& counts, const std::set<uint32_t>& accepted);

  // The update of this training is in a sum of `key`, perhaps to be given up.
  void added(const RoundKey& key, uint32_t device, const Training& training);
  // A device goes on to other work, without a receipt for this training.
  void thrown_away(uint32_t device, const Training& training);

  // A leader begins sessions for an attempt. `over_rows`: it has seen accept rows of it, whose masks nobody can take
  // off.
  void sessions_began(const RoundKey& key, bool over_rows);
  // A sum whose sessions have all their shares was not its devices'. A second leader of an attempt may come to that: it
  // counts no rows and begins, while a batch of the first one's sessions is still on its way to the store.
  void sum_mismatched(const RoundKey& key, const std::string& why);

  // A device trains in this attempt, going on from the state `before`: the content of the one that it makes.
  Digest state_made(uint32_t device, const RoundKey& key, const std::optional<Digest>& before);
  // A device goes on from this state: all the attempts that made it have counted the device. But for masked ones that
  // were lost with their receipts, where the device was not in the next attempt and so never heard of it.
  void trains_from(uint32_t device, const Digest& state);

  // An attempt has failed, with so many accept rows.
  void failed(const RoundKey& key, uint64_t rows);

  Verdict& verdict() { return verdict_; }
  void problem(uint64_t Verdict::*kind, const std::string& what);
  void trace(uint64_t value);

 private:
  struct Round {
    std::set<uint32_t> acknowledged;
    bool done = false;
    uint32_t sessions = 0;
    std::set<uint32_t> counted;
    std::map<uint32_t, Training> trainings = {};  // by device
  };
  bool is_masked_;
  std::map<RoundKey, Round> rounds_;
  std::map<Digest, std::vector<RoundKey>> states_;  // made in which attempts, one after the other
  std::set<std::pair<uint32_t, Training>> counted_trainings_;
  Verdict verdict_;
};

}  // namespace coterie::simulation
