// SessionOracle: sees what every honest device does and every sum that is released, and says what must not be.
//
//   wrong         a sum is not the plain sum of exactly its survivors' updates; or honest parties alone ended with lost
//                 data
//   both_kinds    one honest device handed out shares of both secrets of another, in one session
//   opened_twice  holders of both secrets of an honest device, the server's accomplices among them, reach the threshold
//   two_sets      honest devices confirmed or opened two survivor sets of one session (complete graphs), or one device
//                 did
//   small         a device opened a set of fewer survivors than the session's least, or without itself
//   false_roster  an honest device masked among identities that nobody enrolled, or with keys that are not their
//                 owner's
//   failed        nothing went wrong, and yet there is no sum of everybody
//   stuck         a session or a device came to no end
//   recovered, lowered, ground   of plans: plan_writer.h
//
// It knows no threshold but that of a complete graph, 2 n / 3 + 1, which it says itself.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/simulation/sessions/session_options.h"

namespace coterie::simulation {

struct SessionVerdict {
  uint64_t sessions = 0;
  uint64_t sums = 0;      // sessions that ended with one
  uint64_t hostile = 0;   // sessions with a hostile server
  uint64_t lies = 0;      // messages of a hostile server that were not as they should be
  uint64_t openings = 0;  // devices that opened their shares
  uint64_t faults = 0;    // honest devices that ended a session because of what they were told
  uint64_t crashes = 0;
  uint64_t wrong = 0;
  uint64_t both_kinds = 0;
  uint64_t opened_twice = 0;
  uint64_t two_sets = 0;
  uint64_t small = 0;
  uint64_t false_roster = 0;
  uint64_t failed = 0;
  uint64_t stuck = 0;
  uint64_t campaigns = 0;    // servers that wrote plans (plan_writer.h)
  uint64_t plans = 0;        // offered to devices
  uint64_t refusals = 0;     // of them
  uint64_t opened_sums = 0;  // by such servers
  uint64_t recovered = 0;
  uint64_t lowered = 0;
  uint64_t ground = 0;
  uint64_t events = 0;
  uint64_t trace = 0;  // hash of what happened: equal seeds, equal traces
  std::string first_problem;

  uint64_t problems() const {
    return wrong + both_kinds + opened_twice + two_sets + small + false_roster + failed + stuck + recovered + lowered +
           ground;
  }
  bool clean() const { return problems() == 0; }
  SessionVerdict& operator+=(const SessionVerdict& other);
};

class SessionOracle {
 public:
  explicit SessionOracle(const SessionOptions& options) : options_(options) {}

  // ---- What there is
  void enrolled(const Bytes& public_key, bool is_honest) { identities_[public_key] = is_honest; }
  void advertised(const KeyAdvert& advert) { adverts_[advert.identity.public_key].push_back(advert); }

  // ---- What honest devices do, when it can no longer be taken back
  void masked(const Digest& session, const RosterView& view);
  void confirmed(uint32_t who, const ConfirmRequest& request);
  void opened(uint32_t who, const UnmaskRequest& request, const Unmasking& unmasking);

  // ---- What an honest server does
  using Updates = std::map<uint32_t, std::vector<uint64_t>>;  // by device
  void released(const std::vector<uint64_t>& sum, const Updates& survivors);
  void given_up(const Error& error);

  // After the last event.
  void finish();

  SessionVerdict& verdict() { return verdict_; }
  void problem(uint64_t SessionVerdict::*kind, const std::string& what);
  void trace(uint64_t value);
  void trace(std::string_view text);

 private:
  using Members = std::vector<uint32_t>;
  struct Session {
    uint32_t size = 0;
    bool is_complete = false;                         // and its whole roster was seen
    std::set<uint32_t> corrupt;                       // places
    std::set<Members> sets;                           // that honest devices opened
    std::map<uint32_t, std::set<Members>> confirmed;  // by who
    std::map<uint32_t, std::array<std::set<uint32_t>, 2>>
        out;  // by owner: who handed out shares of its seed, of its key
  };

  void two_sets(const std::string& what) { problem(&SessionVerdict::two_sets, what); }

  SessionOptions options_;
  std::map<Bytes, bool> identities_;
  std::map<Bytes, std::vector<KeyAdvert>> adverts_;
  std::map<Digest, Session> sessions_;
  SessionVerdict verdict_;
};

}  // namespace coterie::simulation
