// AggregationSession: a device's part of one round with secure aggregation (secure/secagg/client.h) over the device
// API, one request a call. The conversation: docs/PROTOCOL.md.
//
//   advert -> [slot -> choice] -> view -> shares -> inbox -> masked update -> [confirm request -> confirmation] ->
//   unmask request -> unmasking
//
// Before the masked update leaves, the device notes that it may have: exchange() says `masks` first, and sends when
// called again. Before the unmasking leaves, its opening is counted: `opens`, likewise.
//
// What it says and what it asks next travel in one request.
// Each message of the server is durable before anything that follows from it leaves the device (session_log.h); a
// session that is opened again takes them in once more and goes on with the last answer. The server may have had it:
// the same bytes are fine.
//
// A session that a late update joins (buffered rounds, ADR 127) has that update by its weight as its own. The log is
// bound to those bytes, so that no two weights ever go behind one mask.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "device_sdk/agent/device_api.h"
#include "device_sdk/agent/round_vault.h"
#include "device_sdk/agent/session_log.h"
#include "proto/messages/plan.h"
#include "secure/secagg/client.h"

namespace coterie {

struct AggregationSetup {
  DeviceId device;
  Assignment assignment;
  Plan plan;                       // with a level; the assignment's, or of the round that a late update was made for
  std::string directory;           // the agent's state directory
  std::string update_file;         // the sealed update's name in it; removed when the server has the masked one
  const Signer* signer = nullptr;  // the device's enrolled key; outlives the session
  Bytes certificate;               // of that key
  secagg::CertificateCheck certificate_is_good;
  bool has_opened = false;           // the opening was counted in an earlier life
  bool has_masked = false;           // the masked update may have left in an earlier life, whatever the log says
  std::optional<float> weight = {};  // of a late update (late_update.h); none: it is the round's own
};

class AggregationSession {
 public:
  using Answered = decltype(AggregationAnswered::outcome);

  // An error is the device's own (its disk, its key store): open again later. A Failure: this device has no part in the
  // session, because its update is gone or what the disk has of the session is no good. With has_masked or has_opened
  // no session begins anew: a log that is gone is no sign that nothing has left.
  static Result<Outcome<std::unique_ptr<AggregationSession>>> open(AggregationSetup setup);

  // The next request. An error is the device's own: the session must be opened again. A Failure that cannot be tried
  // again ends the session, whether the server's or a message that breaks a rule: then the error's reason is a
  // secagg::Fault. done: the unmasking has arrived; or the round was closed when the update had. is_left_out: the
  // session has ended before the masked update could leave, or the server says for certain that it does not count it.
  Result<AggregationAnswered> exchange(DeviceApi& api);

 private:
  enum class Stage : uint8_t { tell, ask, upload };  // tell: and ask, if something is awaited
  using ServerMessage = std::variant<RosterSlot, RosterView, ShareInbox, ConfirmRequest, UnmaskRequest>;

  explicit AggregationSession(AggregationSetup setup);

  Result<Bytes> stored_update() const;
  std::string update_path() const { return setup_.directory + "/" + setup_.update_file; }
  static Result<ServerMessage> decode(ByteView frame);
  Status begin(Secret<32> seed);
  Status replay(const SessionRecords& records);
  Status act(const ServerMessage& message);
  void tell(Bytes answer, std::optional<size_t> then);
  Result<Answered> next_exchange(DeviceApi& api);
  bool ends_without_update(const Failure& failure) const;
  Result<Answered> tell_server(DeviceApi& api);
  Result<Answered> ask_server(DeviceApi& api);
  Result<Answered> take(std::variant<Bytes, RetryWindow, Failure> answer);
  Result<Answered> upload(DeviceApi& api);
  // What a failed step on a message means: the end of the session, unless our own key store or disk failed.
  Result<Failure> failure_of(const Error& error) const;

  AggregationSetup setup_;
  RoundVault vault_;
  SessionLog log_;
  RecordedSigner signer_;
  std::optional<Digest> update_;  // the stored update's digest; none if it is gone
  std::optional<secagg::Client> client_;
  std::optional<secagg::Masking> masking_;  // from the inbox to the receipt

  Stage stage_ = Stage::tell;
  Bytes answer_;                    // tell: what
  std::optional<size_t> awaited_;   // of ServerMessage; tell: then, ask: now; none: then it is done
  std::optional<RosterSlot> slot_;  // holders are drawn for one roster alone
  bool has_masked_ = false;         // the masked update may have left
  bool is_noted_ = false;           // that
  bool is_not_counted_ = false;     // the server says so, for certain
  bool has_receipt_ = false;
  bool is_counted_ = false;  // the opening
};

}  // namespace coterie
