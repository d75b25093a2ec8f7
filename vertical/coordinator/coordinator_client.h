// What a party does at a coordinator: it asks for something, or it meets its peer there. Both dial out.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/coordinator/coordinator_wire.h"
#include "vertical/coordinator/job_survey.h"
#include "vertical/link/tls_link.h"

namespace coterie::vertical {

struct CoordinatorDoor {
  std::string host;  // a name or an address
  uint16_t port = 0;
  TlsIdentity tls;  // peer_name: the coordinator's
};

// One request, one answer. A refusal is an error with its reason (refusal.h).
Result<JobView> ask_coordinator(const CoordinatorDoor& door, const Request& request, const LinkPatience& patience);

// What an operator asks: all jobs, those behind one, or one.
Result<JobSurvey> survey_coordinator(const CoordinatorDoor& door, SurveyOf of, const VerticalJobId& job,
                                     const LinkPatience& patience);

// Waits until the other party has come too, then does the parties' own TLS inside. `peer` says who the other one must
// be; one of the two accepts. The coordinator and the other party each have the time of `patience`. `number`: the other
// party's, in a job of more than two; the links of such a job are opened in the order of (lower, higher number).
Result<std::unique_ptr<ByteStream>> meet_at_coordinator(const CoordinatorDoor& door, const VerticalJobId& job,
                                                        const Digest& manifest, const TlsIdentity& peer, bool accepts,
                                                        const LinkPatience& patience,
                                                        std::optional<PartyIndex> number = {});

// The matcher of a job of more than two parties (vertical/psi/blind_matcher.h), as the frames of a Link; waits until
// all parties have asked for it. The job must run.
Result<std::unique_ptr<ByteStream>> ask_matcher(const CoordinatorDoor& door, const VerticalJobId& job,
                                                const Digest& manifest, const LinkPatience& patience);

// The dealer's words for a regression of this shape (vertical/regression/dealing.h), as the frames of a Link; waits
// until the other party has asked for the same, too. The job must run.
struct RegressionDeal {
  RegressionShape shape;
  Digest session;           // as in Request
  uint32_t first_step = 0;  // likewise
  bool is_product = false;  // likewise
};
Result<std::unique_ptr<ByteStream>> ask_dealer(const CoordinatorDoor& door, const VerticalJobId& job,
                                               const Digest& manifest, const RegressionDeal& deal,
                                               const LinkPatience& patience);

// A signature over approval_message() by the private key in a PEM file. invalid_argument: unreadable, or neither P-256
// nor Ed25519.
Result<Bytes> sign_approval(const std::string& key_file, const VerticalJobId& job, const Digest& manifest);

}  // namespace coterie::vertical
