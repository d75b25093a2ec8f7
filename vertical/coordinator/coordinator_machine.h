// CoordinatorMachine: what a coordinator of vertical jobs does with what comes, as a pure machine. It decides who may
// ask for what, when a job runs, and how long anybody waits; a shell stores, answers and carries bytes as it says.
//
// A job's parties submit, approve and join it. They are paired when all have approved the same manifest and all are
// there; if one is lost, the job is paused until all are there again. More than two parties open a link for each pair,
// in the order of the pairs' numbers, and one to the matcher of their ids (vertical/psi/ring_matching.h). An operator
// looks at all jobs, pauses, resumes and cancels them, and approves none. A certificate that neither the manifest nor
// the operators name gets nothing of a job but a refusal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/result.h"
#include "base/time.h"
#include "vertical/coordinator/coordinator_limits.h"
#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/coordinator/job_record.h"
#include "vertical/coordinator/refusal.h"

namespace coterie::vertical {

using ConnectionId = uint64_t;

// Who is at the other end, from the certificate of its handshake.
struct PeerIdentity {
  std::vector<std::string> names;         // DNS names
  std::optional<KeyAlgorithm> algorithm;  // none: a key that approves nothing
  Bytes public_key;
};

// To be done in this order. What is stored is durable before anybody is answered.
struct CoordinatorEffects {
  struct Answer {
    ConnectionId to;
    Bytes bytes;
    bool is_last;  // the connection closes behind it; the machine has forgotten it
  };
  struct Pair {
    ConnectionId first, second;  // in the parties' order
  };
  struct Deal {
    ConnectionId label, feature;
    VerticalJobId job;
    RegressionShape shape;
    Digest session;
    uint32_t first_step;
    bool is_product;
  };

  struct Matching {
    VerticalJobId job;
    std::vector<ConnectionId> parties;  // by their numbers
  };

  std::vector<JobRecord> store;
  std::vector<VerticalJobId> remove;
  std::vector<Answer> answers;
  std::vector<Pair> pairs;           // behind their answers
  std::vector<Deal> deals;           // likewise: both connections get their dealing, of the job's and session's seeds
  std::vector<Matching> matchings;   // likewise: each connection's frames go to one BlindMatcher, which answers
  std::vector<ConnectionId> closes;  // without a word; the machine has forgotten them
};

class CoordinatorMachine {
 public:
  // Pure, like the machine: the terms of a manifest, or why it is none.
  using ManifestReader = std::function<Result<JobTerms>(std::string_view manifest)>;

  // `records` as they were stored. Limits as check_limits() wants them. `operators`: names in their certificates.
  CoordinatorMachine(const CoordinatorLimits& limits, ManifestReader reader, std::vector<JobRecord> records,
                     std::vector<std::string> operators = {});

  // Before anything else: what ran when the last coordinator ended is paused ("coordinator_lost").
  CoordinatorEffects begin(Now now);

  // A connection came in: it must ask in time. Ids only grow. Where all places are taken, whoever has had one the
  // longest without a question makes room: somebody who only dials keeps nobody out.
  CoordinatorEffects opened(ConnectionId connection, Now now);
  // It asks, after its handshake; nullopt for bytes that are no request.
  CoordinatorEffects asked(ConnectionId connection, const PeerIdentity& peer, const std::optional<Request>& request,
                           Now now);
  // A party that waits for its peer or its matcher, or is dealt to, has sent a byte.
  CoordinatorEffects spoke_early(ConnectionId connection, Now now);
  // The party of a paired connection, or of one to the matcher, has sent so many bytes.
  void relayed(ConnectionId from, uint64_t bytes, Now now);
  // What the job's dealing is made of is no more as it was written, so that no deal() of it can be kept: the job has
  // failed ("dealer_lost").
  CoordinatorEffects dealer_lost(const VerticalJobId& job, Now now);
  // The job's parties told its matcher what no matching has: the job has failed, by this reason.
  CoordinatorEffects matching_failed(const VerticalJobId& job, std::string reason, Now now);
  // A connection is gone, and nothing of it is left to carry. Unknown ones are nobody's.
  CoordinatorEffects closed(ConnectionId connection, Now now);
  // Ends what has had its time.
  CoordinatorEffects advance(Now now);
  std::optional<Instant> next_deadline() const;

  const JobRecord* find(const VerticalJobId& job) const;
  size_t jobs() const { return jobs_.size(); }
  size_t asking() const { return asking_.size(); }
  size_t waiting() const { return waiting_.size(); }
  // Asserts the invariants, each a named sentence.
  void check() const;

 private:
  // Invariants that are looked up in more than one place.
  static constexpr const char* kPairHasRun = "a pair belongs to a run";
  static constexpr const char* kPairHasJob = "a pair belongs to a job";
  static constexpr const char* kRunHasJob = "a run is of a job that runs";
  static constexpr const char* kLostHasJob = "a job that is to go on is known, and paused by nobody";

  // A party's end of a link.
  struct LinkEnd {
    PartyIndex party = 0, peer = 0;
    LinkEnd opposite() const { return {.party = peer, .peer = party}; }
    friend auto operator<=>(const LinkEnd&, const LinkEnd&) = default;
  };
  struct Waiting {
    VerticalJobId job;
    LinkEnd end;
    Instant until;
  };
  // From the pairing until all parties have said how it ended.
  struct Run {
    std::map<LinkEnd, ConnectionId> connections;                       // that are here
    std::set<LinkEnd> opened;                                          // in this run, here or not
    std::map<PartyIndex, ConnectionId> matchers;                       // who asked for the matcher, and is here
    bool is_matched = false;                                           // all have asked: it happens once a run
    std::array<std::optional<ConnectionId>, kJobPartiesMin> dealings;  // who asked for random numbers, and is here
    std::optional<Request> asked;                                      // the first one's deal
    bool is_dealt = false;                                             // both have asked: it happens once a run
    Instant until;  // without a byte, or without a report once all connections are gone
    std::vector<std::array<bool, kJobStages.size()>> has_told;  // a party of a stage, in this run
    bool is_connected() const { return !connections.empty(); }
    bool has_lost_link() const { return connections.size() < opened.size(); }
  };

  CoordinatorEffects decide(ConnectionId connection, const PeerIdentity& peer, const std::optional<Request>& request,
                            Now now);
  CoordinatorEffects refuse(ConnectionId connection, Refusal refusal) const;
  CoordinatorEffects answer(ConnectionId connection, const JobRecord& record) const;
  CoordinatorEffects submit(ConnectionId connection, const PeerIdentity& peer, const std::string& manifest, Now now);
  CoordinatorEffects approve(ConnectionId connection, PartyIndex party, const PeerIdentity& peer,
                             const Request& request, JobRecord& record, Now now);
  CoordinatorEffects join(ConnectionId connection, PartyIndex party, const Request& request, JobRecord& record,
                          Now now);
  CoordinatorEffects join_matching(ConnectionId connection, PartyIndex party, JobRecord& record);
  CoordinatorEffects deal(ConnectionId connection, PartyIndex party, const Request& request, JobRecord& record);
  CoordinatorEffects report(ConnectionId connection, PartyIndex party, const Request& request, JobRecord& record,
                            Now now);
  CoordinatorEffects progress(ConnectionId connection, PartyIndex party, const Request& request, JobRecord& record,
                              Now now);
  bool is_operator(const PeerIdentity& peer) const;
  CoordinatorEffects survey(ConnectionId connection, const PeerIdentity& peer, const Request& request) const;
  // What an operator asks of a job.
  CoordinatorEffects steer(ConnectionId connection, RequestKind kind, JobRecord& record, Now now);
  CoordinatorEffects cancel(ConnectionId connection, std::string reason, JobRecord& record, Now now);
  // `is_paused`: whose pause it is, a field of the record.
  CoordinatorEffects pause(ConnectionId connection, bool& is_paused, JobRecord& record, Now now);
  CoordinatorEffects resume(ConnectionId connection, bool& is_paused, JobRecord& record, Now now);
  std::optional<ConnectionId> waiting_for(const VerticalJobId& job, LinkEnd end) const;
  // With which link a party comes: a run begins when all wait with theirs.
  static LinkEnd first_link(PartyIndex party) { return {.party = party, .peer = party == 0 ? PartyIndex{1} : 0}; }
  // Who waits with its first link, by party; nothing if somebody is missing.
  std::optional<std::vector<ConnectionId>> all_waiting(const JobRecord& record) const;
  // All parties wait, and nothing keeps them from running.
  void start(JobRecord& record, Now now, CoordinatorEffects& effects);
  // `first` and its opposite end both wait; neither does any more.
  void pair(const JobRecord& record, LinkEnd first, Now now, CoordinatorEffects& effects);
  CoordinatorEffects fail(const VerticalJobId& job, std::string reason, Now now);
  // The run is over, and its connections are; the job goes on when all come back.
  void suspend(JobRecord& record, std::string reason, Now now, CoordinatorEffects& effects);
  void close_run(const VerticalJobId& job, CoordinatorEffects& effects);
  void forget_dealing(ConnectionId connection);
  void forget_matching(ConnectionId connection);
  // Ends the job, and all that is connected for it.
  void end(JobRecord& record, JobState state, std::string reason, Now now, CoordinatorEffects& effects);
  size_t running() const;
  // The end of a step.
  CoordinatorEffects checked(CoordinatorEffects effects);

  CoordinatorLimits limits_;
  ManifestReader reader_;
  std::vector<std::string> operators_;
  std::map<VerticalJobId, JobRecord> jobs_;
  std::map<ConnectionId, Instant> asking_;  // until when
  std::map<ConnectionId, Waiting> waiting_;
  std::map<VerticalJobId, Run> runs_;
  std::map<VerticalJobId, Instant> lost_;  // has run, and is to run again: until when both may stay away
  std::map<ConnectionId, std::pair<VerticalJobId, LinkEnd>> paired_;
  std::map<ConnectionId, std::pair<VerticalJobId, PartyIndex>> dealings_, matchers_;
  StepCheck step_check_;
};

}  // namespace coterie::vertical
