// A coordinator's machine, and somebody who asks it for things as both parties and as a stranger.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "secure/crypto/signature.h"
#include "tests/support/matchers.h"
#include "vertical/coordinator/coordinator_machine.h"

namespace coterie::vertical::test {

// A manifest of these tests: job byte, digest byte, label party's name, a space, feature parties' names, likewise.
inline Result<JobTerms> read_terms(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == text.npos || space < 3) return Error(ErrorCode::malformed, "no manifest");
  JobTerms terms;
  terms.job[0] = static_cast<uint8_t>(text[0]);
  terms.manifest.bytes[0] = static_cast<uint8_t>(text[1]);
  terms.parties.clear();
  std::istringstream names{std::string(text.substr(2))};
  for (std::string name; std::getline(names, name, ' ');) terms.parties.push_back(name);
  terms.kind = "vertical_trees";
  terms.leakage = {"L1", "L3", "L4"};
  return terms;
}

class CoordinatorMachineTest : public ::testing::Test {
 protected:
  struct Somebody {
    std::unique_ptr<Signer> signer;
    PeerIdentity identity;
  };
  static Somebody somebody(const std::vector<std::string>& names) {
    Somebody made{.signer = *make_signer(KeyAlgorithm::p256, generate_secret(KeyAlgorithm::p256)), .identity = {}};
    made.identity = {.names = names, .algorithm = KeyAlgorithm::p256, .public_key = made.signer->public_key()};
    return made;
  }

  // What is asked for on a connection of its own, and what is heard: an error with the refusal's reason, or the job.
  // Nothing while it waits.
  std::optional<Result<JobView>> ask(const Somebody& who, const std::optional<Request>& request) {
    machine_.opened(++connection_, now_);
    effects_ = machine_.asked(connection_, who.identity, request, now_);
    machine_.check();
    return heard(connection_);
  }
  std::optional<Result<JobView>> heard(ConnectionId by) const {
    for (const auto& answer : effects_.answers) {
      if (answer.to != by) continue;
      const std::span<const uint8_t, kCoordinatorHeaderBytes> header(answer.bytes.data(), kCoordinatorHeaderBytes);
      return read_answer(header, ByteView(answer.bytes).subspan(kCoordinatorHeaderBytes));
    }
    return std::nullopt;
  }
  std::string_view refusal(const Somebody& who, const std::optional<Request>& request) {
    const auto answer = ask(who, request);
    if (!answer) return "waits";
    return *answer ? "accepted" : answer->error().reason();
  }

  Request submit(char job = 'J', char digest = 'D') const {
    return {.kind = RequestKind::submit, .manifest = std::string{job, digest} + "label feature", .job = {}};
  }
  static Digest digest(char first = 'D') {
    Digest made;
    made.bytes[0] = static_cast<uint8_t>(first);
    return made;
  }
  static Request about(RequestKind kind, char job = 'J') {
    return {.kind = kind, .job = {static_cast<uint8_t>(job)}, .digest = digest()};
  }
  static Request approval(const Somebody& who, char job = 'J', char of = 'D') {
    Request request = about(RequestKind::approve, job);
    request.digest = digest(of);
    request.signature = *who.signer->sign(approval_message(request.job, request.digest));
    return request;
  }
  static Request report(bool is_done) {
    Request request = about(RequestKind::report);
    request.is_done = is_done;
    if (!is_done) request.reason = "peer_silent";
    return request;
  }
  void approve_all(char job = 'J') {
    EXPECT_EQ(refusal(label_, submit(job)), "accepted");
    EXPECT_EQ(refusal(label_, approval(label_, job)), "accepted");
    EXPECT_EQ(refusal(feature_, approval(feature_, job)), "accepted");
  }
  // Both come; the connections of label and feature party.
  std::pair<ConnectionId, ConnectionId> run(char job = 'J') {
    EXPECT_EQ(refusal(feature_, about(RequestKind::join, job)), "waits");
    EXPECT_EQ(refusal(label_, about(RequestKind::join, job)), "accepted");
    EXPECT_EQ(effects_.pairs.size(), 1u);
    return {effects_.pairs[0].first, effects_.pairs[0].second};
  }
  const JobRecord& job(char id = 'J') const { return *machine_.find({static_cast<uint8_t>(id)}); }
  void pass(Millis time) {
    now_.instant += time;
    now_.wall += time;
    effects_ = machine_.advance(now_);
    machine_.check();
  }

  static CoordinatorLimits small() {
    return {.asking_max = 2, .waiting_max = 1, .pairs_max = 1, .jobs_max = 3, .party_jobs_max = 2};
  }

  Now now_{.instant = Instant(Millis(1000)), .wall = wall_time_from_unix_ms(1'000'000)};
  CoordinatorMachine machine_{small(), read_terms, {}, {"operator"}};
  CoordinatorEffects effects_;
  ConnectionId connection_ = 0;
  Somebody label_ = somebody({"label"}), feature_ = somebody({"x", "feature"}), stranger_ = somebody({"stranger"}),
           operator_ = somebody({"operator"});
};

}  // namespace coterie::vertical::test
