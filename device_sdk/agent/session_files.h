// SessionFiles: what a device must not forget of a session of secure aggregation, in the agent's state directory, so that an
// app that is killed goes on with the same keys, masks and answers, and never answers another question than before.
//
//   secagg.seed            what the session belongs to, and the seed of all its secrets; the owner's alone
//   secagg-<name>.cotf     each message of the server, from before it was acted on
//   secagg-told            how many of the device's messages the server has: an app that has time for one request a life goes on
//   secagg-<digest>.sig    what the device's key has signed: an ECDSA signature made again would be another one
//
// The seed goes first: what is left of the others is then worth nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/signature.h"

namespace coterie {

class SessionFiles {
 public:
  explicit SessionFiles(std::string directory) : directory_(std::move(directory)) {}

  // The seed that belongs to this context and, if it is given, to the update with this digest. Nothing if there is none.
  Result<std::optional<Secret<32>>> load_seed(const Digest& context, const std::optional<Digest>& update) const;
  // Removes what there is, and makes a fresh seed: durable when it returns.
  Result<Secret<32>> begin(const Digest& context, const Digest& update) const;

  Result<std::optional<Bytes>> load(const std::string& name) const;
  Status save(const std::string& name, ByteView bytes) const;

  // All of them.
  Status remove() const;

 private:
  std::string path(std::string_view name) const { return directory_ + "/" + std::string(name); }

  std::string directory_;
};

// Signs each message once, and remembers.
class RecordedSigner final : public Signer {
 public:
  // Both outlive it.
  RecordedSigner(const Signer& signer, const SessionFiles& files) : signer_(signer), files_(files) {}

  KeyAlgorithm algorithm() const override { return signer_.algorithm(); }
  const Bytes& public_key() const override { return signer_.public_key(); }
  Result<Bytes> sign(ByteView message) const override;

  // The last error of sign(): the device's own, whatever became of it.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  const Signer& signer_;
  const SessionFiles& files_;
  mutable std::optional<Error> failure_;
};

}  // namespace coterie
