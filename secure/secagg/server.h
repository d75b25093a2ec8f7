// Server: the server's side of one session of secure aggregation. Pure: no clock, no entropy but the ring's seed; the
// same messages give the same state, in whatever order those of one phase come, so that whoever keeps the messages can
// make the state again.
//
//   advertising -> [choosing, drawn graphs] -> sharing -> masking -> [confirming, active] -> unmasking
//
// receive() takes a device's message: malformed or foreign ones are refused with a Fault (fault.h) as reason and change
// nothing; the same message again is fine; another one of the same device in the same phase is equivocation, and the
// first counts. close_...() end a phase, when the caller thinks that enough devices have answered or the time is up; an
// error there means that no sum can come of this session. Devices are dropped by not being heard: there is nothing to
// tell it.
//
// The masked updates themselves never come here: the caller adds them up (mod 2^ring_bits, in any order and any number
// of parts), and takes away from the sum what open() gives (opening.h). One set of survivors is frozen in a session's
// life, and each device is asked for one kind of share of another: there is no call for a second.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/result.h"
#include "proto/messages/secagg.h"
#include "secure/secagg/advert.h"
#include "secure/secagg/graph.h"
#include "secure/secagg/opening.h"
#include "secure/secagg/roster.h"
#include "secure/secagg/session.h"

namespace coterie::secagg {

class Server {
 public:
  enum class Phase : uint8_t { advertising, choosing, sharing, masking, confirming, unmasking };

  // `ring_seed` lays out a ring: random, and secret until the roster is closed. invalid_argument if parameters are not
  // valid.
  static Result<Server> make(const SessionParameters& parameters, uint64_t ring_seed,
                             CertificateCheck certificate_is_good);

  Phase phase() const { return phase_; }
  uint32_t size() const { return static_cast<uint32_t>(roster_.size()); }  // of the roster: adverts so far, or all
  const GraphShape& shape() const { return shape_; }                       // from close_adverts() on
  const Digest& session() const { return session_; }                       // from close_adverts() on

  Status receive(const KeyAdvert& advert);
  Status close_adverts();  // cohort_size
  // The place of the device with this public key; nothing if it is not in the roster.
  std::optional<uint32_t> device_of(const Bytes& public_key) const;

  RosterSlot slot(uint32_t device) const;
  Status receive(const HolderChoice& choice);
  bool has_chosen(uint32_t device) const { return roster_[device].choice.has_value(); }
  Status close_choices();  // too_few_survivors

  RosterView view(uint32_t device) const;  // from the phase sharing on
  Status receive(const SealedShares& shares);
  Status close_shares();  // too_few_survivors

  bool is_present(uint32_t device) const { return present_[device]; }  // has shared, and enough of its holders have
  Result<ShareInbox> inbox(uint32_t device) const;                     // not_a_neighbour if it is not present
  // What receive() would say: whether it is worth while to read the lanes.
  Status check(const MaskedInput& input) const;
  // The lanes must be checked against the header, and safe, before.
  Status receive(const MaskedInput& input);
  bool has_input(uint32_t device) const { return roster_[device].input.has_value(); }
  Status close_inputs();  // freezes the survivors; too_few_survivors, below_threshold

  const std::vector<uint32_t>& survivors() const { return survivors_; }
  Result<ConfirmRequest> confirm_request(uint32_t device) const;
  Status receive(const Confirmation& confirmation);
  Status close_confirmations();  // too_few_confirmations

  bool is_asked(uint32_t device) const { return asked_[device]; }  // to unmask
  Result<UnmaskRequest> unmask_request(uint32_t device) const;
  Status receive(const Unmasking& unmasking);
  // Whether there are shares enough to open all that must be: more help against bad ones.
  bool can_open() const { return opening_ != nullptr && opening_->is_complete(); }
  const Opening& opening() const { return *opening_; }  // from the phase unmasking on

  // How many have answered in this phase.
  uint32_t answered() const;
  uint32_t expected() const;

  // Fails, with a sentence, if what must be true between two messages is not (base/assert.h). CohortMachine calls it.
  void check() const;

 private:
  struct Member {
    KeyAdvert advert;
    std::optional<HolderChoice> choice;
    std::optional<SealedShares> shares;
    std::optional<MaskedInput> input;
    std::optional<Confirmation> confirmation;
    std::optional<Unmasking> unmasking;
  };

  Server(const SessionParameters& parameters, uint64_t ring_seed, CertificateCheck certificate_is_good)
      : parameters_(parameters), ring_seed_(ring_seed), certificate_is_good_(std::move(certificate_is_good)) {}

  Status require(Phase phase) const;
  Status check_sender(Phase phase, const Digest& session, uint32_t device) const;
  Status check_kinds(const Unmasking& unmasking) const;
  void lay_out_ring();
  uint32_t alive_holders(uint32_t device, const std::vector<bool>& alive) const;
  Status begin_unmasking();
  void check_member(uint32_t device) const;
  void check_survivors() const;

  SessionParameters parameters_;
  uint64_t ring_seed_;
  CertificateCheck certificate_is_good_;

  Phase phase_ = Phase::advertising;
  std::vector<Member> roster_;  // from close_adverts() on in order of mask keys
  std::map<Bytes, uint32_t> by_public_key_;
  std::set<Key32> keys_;  // of both purposes, of all
  GraphShape shape_;
  Digest session_;
  std::optional<RosterTree> tree_;
  std::optional<Graph> graph_;
  std::vector<bool> present_, survived_, asked_;
  std::vector<uint32_t> survivors_;
  std::unique_ptr<Opening> opening_;
};

}  // namespace coterie::secagg
