// SessionLog: what a device must not forget of a session of secure aggregation, in one file of the state directory, so
// that an app that is killed goes on with the same keys, masks and answers, and never answers another question than
// before.
//
//   secagg.log    records, one behind the other: a byte that says what it is, the length of what it holds (4 bytes,
//                 little-endian), that, and the content digest of all of it
//     sealed seed what the session belongs to (digests of context and update), and the seed of all its secrets, sealed
//                 under the round's key (round_vault.h); comes first
//     seed        the same in the clear, as SDKs of before wrote it: read, and written no more
//     message     the number of one of the server's messages, and its frame: from before the answer to it leaves the
//                 device
//     signature   digest of a text, and what the device's key has signed it with: an ECDSA signature made again would
//                 be another one
//
// One file that grows, as a sync of it costs a quarter of what a file and its name cost. A log that is not whole (the
// machine lost its power in the middle of a record, the disk was full) is as good as damaged: that session is over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/os/file.h"
#include "device_sdk/agent/round_vault.h"
#include "secure/crypto/secret.h"
#include "secure/crypto/signature.h"

namespace coterie {

// What a log says of a session.
struct SessionRecords {
  Secret<32> seed;
  std::map<uint8_t, Bytes> messages;   // by number
  std::map<Digest, Bytes> signatures;  // by the digest of what is signed
};

class SessionLog {
 public:
  explicit SessionLog(std::string directory) : directory_(std::move(directory)), vault_(directory_) {}

  // The session that belongs to this context and, if it is given, to the update with this digest; the log goes on with
  // it. Nothing if there is none; data_loss if its log is damaged.
  Result<std::optional<SessionRecords>> load(const Digest& context, const std::optional<Digest>& update);
  // Removes what there is, and begins with a fresh seed.
  Result<SessionRecords> begin(const Digest& context, const Digest& update);

  // Each is safe from the app's end when it returns, and from the machine's after the next sync().
  Status append_message(uint8_t number, ByteView frame);
  Status append_signature(const Digest& text, ByteView signature);
  Status sync();

  Status remove() const;

 private:
  enum class Kind : uint8_t { seed = 1, message, signature, sealed_seed };

  std::string path() const;
  Result<std::optional<SessionRecords>> parse(ByteView log, const Digest& context,
                                              const std::optional<Digest>& update) const;
  Status append(Kind kind, ByteView a, ByteView b = {}, ByteView c = {});

  std::string directory_;
  RoundVault vault_;
  os::File file_;
  bool is_fresh_ = false;  // its name is not yet durable
};

// Signs each message once, and remembers.
class RecordedSigner final : public Signer {
 public:
  // Both outlive it.
  RecordedSigner(const Signer& signer, SessionLog& log) : signer_(signer), log_(log) {}

  KeyAlgorithm algorithm() const override { return signer_.algorithm(); }
  const Bytes& public_key() const override { return signer_.public_key(); }
  Result<Bytes> sign(ByteView message) const override;

  // Takes over the signatures that an earlier life of the process recorded.
  void remember(std::map<Digest, Bytes> signatures) { recorded_ = std::move(signatures); }
  // The last error of sign(): the device's own, whatever became of it.
  const std::optional<Error>& failure() const { return failure_; }

 private:
  const Signer& signer_;
  SessionLog& log_;
  mutable std::map<Digest, Bytes> recorded_;
  mutable std::optional<Error> failure_;
};

}  // namespace coterie
