// A coordinator over loopback, on a thread of its own, and whom its authority has certified.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "secure/crypto/sha256.h"
#include "tests/support/matchers.h"
#include "tests/unit/vertical_coordinator/party_files.h"
#include "vertical/coordinator/coordinator_client.h"
#include "vertical/coordinator/coordinator_server.h"

namespace coterie::vertical::test {

class MemoryStore final : public JobStore {
 public:
  Status put(const JobRecord& record) override {
    if (is_broken) return Error(ErrorCode::storage_full, "no room");
    records[record.job] = record;
    return {};
  }
  Status remove(const VerticalJobId& job) override {
    records.erase(job);
    return {};
  }
  Result<Secret<32>> dealing_secret(const VerticalJobId& job) override {
    if (is_secret_damaged) return Error(ErrorCode::data_loss, "J.dealer: it does not have 32 bytes");
    Secret<32> secret;
    secret.mutable_bytes()[0] = job[0];
    return secret;
  }
  std::vector<JobRecord> all() const {
    std::vector<JobRecord> list;
    for (const auto& [job, record] : records) list.push_back(record);
    return list;
  }

  std::map<VerticalJobId, JobRecord> records;
  bool is_broken = false, is_secret_damaged = false;
};

// Any text is a manifest; the first letter is the job.
inline Result<JobTerms> read_loopback_terms(std::string_view text) {
  if (text.empty()) return Error(ErrorCode::malformed, "no manifest");
  JobTerms terms{.job = {static_cast<uint8_t>(text[0])}, .manifest = sha256(as_bytes(text)), .parties = {}};
  terms.parties = {"label", "feature"};
  terms.kind = "vertical_trees";
  terms.leakage = {"L1", "L3", "L4"};
  return terms;
}

// Its members are for whoever derives from it: a test's fixture.
class LiveCoordinator {
 protected:
  void start() {
    for (const char* name : {"label", "feature", "stranger", "operator"}) {
      if (!identities_.contains(name)) identities_.emplace(name, files_.identity(name, "coordinator"));
    }
    Result<std::unique_ptr<CoordinatorServer>> server =
        CoordinatorServer::open({.host = "127.0.0.1", .port = 0}, files_.identity("coordinator", ""), limits_,
                                CoordinatorMachine(limits_, read_loopback_terms, store_.all(), {"operator"}), store_);
    ASSERT_OK(server);
    server_ = std::move(*server);
    stop_ = false;
    thread_ = std::thread([this] { ended_ = server_->run(stop_); });
  }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    server_.reset();
  }

  CoordinatorDoor door(const std::string& name) const {
    return {.host = "127.0.0.1", .port = server_->port(), .tls = identities_.at(name)};
  }
  Result<JobView> ask(const std::string& name, Request request) {
    return ask_coordinator(door(name), request, LinkPatience());
  }
  Result<JobView> approve(const std::string& name) {
    const Result<Bytes> signature = sign_approval(door(name).tls.key_file, kJob, manifest_);
    EXPECT_TRUE(signature);
    return ask(name, {.kind = RequestKind::approve, .job = kJob, .digest = manifest_, .signature = *signature});
  }
  void submit_and_approve() {
    ASSERT_OK(ask("label", {.kind = RequestKind::submit, .manifest = kManifest, .job = {}}));
    ASSERT_OK(approve("label"));
    ASSERT_OK(approve("feature"));
  }
  Result<std::unique_ptr<ByteStream>> meet(const std::string& self, const std::string& peer,
                                           const LinkPatience& patience = {}) {
    TlsIdentity inner = door(self).tls;
    inner.peer_name = peer;
    return meet_at_coordinator(door(self), kJob, manifest_, inner, self == "label", patience);
  }
  Request about(RequestKind kind) const { return {.kind = kind, .job = kJob, .digest = manifest_}; }

  static constexpr VerticalJobId kJob{'J'};
  const std::string kManifest = "J manifest";
  const Digest manifest_ = sha256(as_bytes(kManifest));
  PartyFiles files_;
  MemoryStore store_;
  CoordinatorLimits limits_;
  std::unique_ptr<CoordinatorServer> server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  Status ended_;
  std::map<std::string, TlsIdentity> identities_;
};

}  // namespace coterie::vertical::test
