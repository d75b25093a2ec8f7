// The plan of one attempt of a round: the job's, with the round's terms, and with the heads of the privacy ledger and
// of the population's log in it from before the round, so that devices notice a ledger that was rolled back or is
// another one.
#pragma once

#include <optional>

#include "fl_server/store/blob_store.h"
#include "proto/messages/population_log.h"
#include "scheduler/job/round_terms.h"
#include "secure/crypto/signature.h"

namespace coterie {

struct RoundPlan {
  Digest digest;
  uint32_t bytes = 0;
  friend bool operator==(const RoundPlan&, const RoundPlan&) = default;
};

// Stores the plan whose digest is `job_plan`, with these terms and this head, and with what it asks where that is not
// the job's (round_question below). The same ones give the same plan, also
// after a restart and on another server: Ed25519 signs the same text with the same bytes. data_loss if the job's plan
// is no plan; errors of the store.
Result<RoundPlan> put_round_plan(BlobStore& blobs, const Digest& job_plan, const RoundTerms& terms,
                                 const std::optional<SignedLogHead>& log,
                                 const std::optional<AnalyticsRules>& question = {});

// What a round from this version of the job's table asks, where each round asks anew (scheduler/job/round_question.h);
// none: what the job's plan says. data_loss if the table is none of the job's; errors of the store.
Result<std::optional<AnalyticsRules>> round_question(BlobStore& blobs, const HorizontalSettings& settings,
                                                     ModelVersion version, const Digest& table);

// The head of the population's log, signed; none if it has no record.
Result<std::optional<SignedLogHead>> sign_log(const Population& population, const LogHead& head, const Signer& signer);

}  // namespace coterie
