// Link: two parties' messages over one connection, and the agreement at its begin.
//
// Not thread-safe but for say_alive(). Parties take turns in all stages that there are; a stage in which both send more
// than the network holds at the same time would end with timed_out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/link/byte_stream.h"
#include "vertical/link/frame.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr uint32_t kLinkVersion = 4;

// What both parties must mean before any byte of their data moves.
struct LinkHello {
  std::array<uint8_t, 16> job{};
  Digest manifest;       // of all settings that both agreed on
  PartyIndex party = 0;  // who says this
};

struct LinkBytes {
  uint64_t sent = 0, received = 0;  // messages with their headers; what TLS adds is not counted, nor what says alive
};

class Link {
 public:
  explicit Link(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // Says ours, and reads the hello of party `peer`. Both do so before either judges, so that both learn of a mismatch:
  // `refused` with the reason "job_differs", "manifest_differs" or "party_differs"; unsupported_version.
  Status agree(const LinkHello& own, PartyIndex peer);

  // Runs a stage to its end. The stage's error, or the connection's, with the stage's name.
  Status run(Stage& stage, StageId id, PartyIndex peer);

  // The same for a stage with two peers; the other one is at the end of `other`, and says nothing but what the stage
  // waits for. Messages to it are not sent: there is no such stage.
  Status run(OrderedStage& stage, StageId id, PartyIndex peer, Link& other);

  // The same for a stage with several peers, each at the end of its own link: messages go to and come from the one that
  // the stage names.
  static Status run(OrderedStage& stage, StageId id, const std::map<PartyIndex, Link*>& links);

  // Tells the peer that this party is there, though it computes, or waits for another peer. Nothing if a call of run()
  // is at this link just now: it moves bytes itself, or waits for a peer that is not waiting. From any thread. What
  // goes wrong, the next call on the link says.
  void say_alive();
  // Before the last message: a peer that has it may be gone, and would answer more with an end of the connection.
  void say_alive_no_more();

  const LinkBytes& bytes() const { return bytes_; }

 private:
  Status write_frame(StageId stage, const Message& message);  // precondition: io_ is held
  Status send(StageId stage, const Message& message);
  Result<Message> receive(StageId stage, PartyIndex peer);
  Result<FrameHeader> read_header(StageId stage);

  std::unique_ptr<ByteStream> stream_;
  std::unique_ptr<std::mutex> io_ = std::make_unique<std::mutex>();  // for the stream and what is sent
  Status sound_;  // of the stream: after an error it is not used again
  bool says_alive_ = true;
  uint64_t sent_ = 0, received_ = 0;  // frames
  LinkBytes bytes_;
};

}  // namespace coterie::vertical
