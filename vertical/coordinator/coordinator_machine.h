// CoordinatorMachine: what a coordinator of vertical jobs does with what comes, as a pure machine. It decides who may
// ask for what, when a job runs, and how long anybody waits; a shell stores, answers and carries bytes as it says.
//
// A job's two parties submit, approve and join it. They are paired when both have approved the same manifest and both
// are there; if one is lost, the job is paused until both are there again. An operator looks at all jobs, pauses,
// resumes and cancels them, and approves none. A certificate that neither the manifest nor the operators name gets
// nothing of a job but a refusal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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
    ConnectionId label, feature;
  };
  struct Deal {
    ConnectionId label, feature;
    VerticalJobId job;
    RegressionShape shape;
    Digest session;
    uint32_t first_step;
    bool is_product;
  };

  std::vector<JobRecord> store;
  std::vector<VerticalJobId> remove;
  std::vector<Answer> answers;
  std::vector<Pair> pairs;           // behind their answers
  std::vector<Deal> deals;           // likewise: both connections get their dealing, of the job's and session's seeds
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
  // A party that waits for its peer, or is dealt to, has sent a byte.
  CoordinatorEffects spoke_early(ConnectionId connection, Now now);
  // A paired connection's party has sent so many bytes.
  void relayed(ConnectionId from, uint64_t bytes, Now now);
  // What the job's dealing is made of is no more as it was written, so that no deal() of it can be kept: the job has
  // failed ("dealer_lost").
  CoordinatorEffects dealer_lost(const VerticalJobId& job, Now now);
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

  struct Waiting {
    VerticalJobId job;
    PartyIndex party;
    Instant until;
  };
  // From the pairing until both parties have said how it ended.
  struct Run {
    std::array<std::optional<ConnectionId>, kJobParties> connections;
    std::array<std::optional<ConnectionId>, kJobParties> dealings;  // who asked for random numbers, and is here
    std::optional<Request> asked;                                   // the first one's deal
    bool is_dealt = false;                                          // both have asked: it happens once a run
    Instant until;  // without a byte, or without a report once both connections are gone
    std::array<std::array<bool, kJobStages.size()>, kJobParties> has_told{};  // a party of a stage, in this run
    bool is_connected() const { return connections[0] || connections[1]; }
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
  std::optional<ConnectionId> waiting_for(const VerticalJobId& job, PartyIndex party) const;
  // Both connections of parties that nothing keeps from running; neither waits any more.
  void pair(JobRecord& record, const std::array<ConnectionId, kJobParties>& connections, Now now,
            CoordinatorEffects& effects);
  // The run is over, and its connections are; the job goes on when both come back.
  void suspend(JobRecord& record, std::string reason, Now now, CoordinatorEffects& effects);
  void close_run(const VerticalJobId& job, CoordinatorEffects& effects);
  void forget_dealing(ConnectionId connection);
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
  std::map<ConnectionId, std::pair<VerticalJobId, PartyIndex>> paired_, dealings_;
  StepCheck step_check_;
};

}  // namespace coterie::vertical
