#include "vertical/link/link.h"

#include <algorithm>
#include <optional>
#include <string>

namespace coterie::vertical {
namespace {

constexpr std::array<uint8_t, 4> kMagic{'C', 'T', 'V', kLinkVersion};
constexpr uint16_t kHelloKind = 1;
constexpr size_t kHelloBytes = 4 + 16 + 32 + 4;

Error refused(const std::string& what, std::string_view reason) {
  return Error(ErrorCode::refused, "link: " + what, reason);
}

std::vector<uint8_t> write_hello(const LinkHello& hello) {
  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.insert(bytes.end(), hello.job.begin(), hello.job.end());
  bytes.insert(bytes.end(), hello.manifest.bytes.begin(), hello.manifest.bytes.end());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(hello.party >> shift));
  return bytes;
}

}  // namespace

Status Link::agree(const LinkHello& own, PartyIndex peer) {
  // Both say hello before they read: neither has to be the first.
  COT_TRY(send(StageId::hello, {.peer = peer, .kind = kHelloKind, .payload = write_hello(own)}));
  COT_ASSIGN(const Message message, receive(StageId::hello, peer));
  const ByteView bytes = message.payload;
  if (bytes.size() < kMagic.size() || !std::ranges::equal(bytes.first(3), std::span(kMagic).first(3))) {
    return Error(ErrorCode::malformed, "link: the first frame is no hello");
  }
  // Before the size: a later version may have another hello.
  if (bytes[3] != kLinkVersion) {
    return Error(ErrorCode::unsupported_version, "link: the peer speaks version " + std::to_string(bytes[3]) +
                                                     ", this program version " + std::to_string(kLinkVersion));
  }
  if (message.kind != kHelloKind || bytes.size() != kHelloBytes) {
    return Error(ErrorCode::malformed, "link: a hello of kind " + std::to_string(message.kind) + " with " +
                                           std::to_string(bytes.size()) + " bytes came, expected kind 1 with " +
                                           std::to_string(kHelloBytes));
  }
  if (!std::ranges::equal(bytes.subspan(4, 16), own.job)) {
    return refused("the peer is here for job " + to_hex(bytes.subspan(4, 16)) + ", this party for " + to_hex(own.job),
                   "job_differs");
  }
  if (!std::ranges::equal(bytes.subspan(20, 32), own.manifest.view())) {
    return refused("the peer approved the manifest " + to_hex(bytes.subspan(20, 32)) + ", this party " +
                       own.manifest.hex() + "; compare the two files",
                   "manifest_differs");
  }
  uint32_t party = 0;
  for (size_t i = 0; i < 4; ++i) party |= uint32_t{bytes[52 + i]} << (8 * i);
  // The certificate says which organisation it is; this says which part of the job it means to play.
  if (party != peer) {
    return refused("the peer says that it is party " + std::to_string(party) + ", expected " + std::to_string(peer),
                   "party_differs");
  }
  return {};
}

Status Link::run(Stage& stage, StageId id, PartyIndex peer) {
  while (!stage.done()) {
    // All that the stage has to say leaves before this end waits. Otherwise both could wait for each other.
    while (std::optional<Message> message = stage.next()) COT_TRY(send(id, *message));
    if (stage.done()) break;
    COT_ASSIGN(const Message message, receive(id, peer));
    if (Status status = stage.receive(message); !status) return status.error().with_context(stage_name(id));
  }
  return {};
}

Status Link::run(OrderedStage& stage, StageId id, PartyIndex peer, Link& other) {
  while (!stage.done()) {
    while (std::optional<Message> message = stage.next()) COT_TRY(send(id, *message));
    if (stage.done()) break;
    const PartyIndex from = stage.awaits();
    COT_ASSIGN(const Message message, from == peer ? receive(id, peer) : other.receive(id, from));
    if (Status status = stage.receive(message); !status) return status.error().with_context(stage_name(id));
  }
  return {};
}

Status Link::run(OrderedStage& stage, StageId id, const std::map<PartyIndex, Link*>& links) {
  const auto link_to = [&links](PartyIndex peer) {
    return must_find(links, peer, "a stage speaks with the parties that its job has");
  };
  while (!stage.done()) {
    while (std::optional<Message> message = stage.next()) COT_TRY(link_to(message->peer)->send(id, *message));
    if (stage.done()) break;
    const PartyIndex from = stage.awaits();
    COT_ASSIGN(const Message message, link_to(from)->receive(id, from));
    if (Status status = stage.receive(message); !status) return status.error().with_context(stage_name(id));
  }
  return {};
}

void Link::say_alive() {
  const std::unique_lock lock(*io_, std::try_to_lock);
  if (!lock || !says_alive_ || !sound_) return;
  sound_ = write_frame(StageId::alive, {});
}

void Link::say_alive_no_more() {
  const std::lock_guard lock(*io_);
  says_alive_ = false;
}

Status Link::send(StageId stage, const Message& message) {
  const std::lock_guard lock(*io_);
  if (sound_) sound_ = write_frame(stage, message);
  if (!sound_) return sound_.error().with_context(stage_name(stage));
  bytes_.sent += kFrameHeaderBytes + message.payload.size();
  return {};
}

Status Link::write_frame(StageId stage, const Message& message) {
  COT_ASSERT(message.payload.size() <= kMessageBytesMax);
  const auto header = write_frame_header({.stage = stage,
                                          .kind = message.kind,
                                          .length = static_cast<uint32_t>(message.payload.size()),
                                          .sequence = sent_++});
  // One write: two would be two packets where the payload is small.
  Bytes frame(header.begin(), header.end());
  frame.insert(frame.end(), message.payload.begin(), message.payload.end());
  return stream_->write_all(frame);
}

// The header of the next message, behind all that says alive.
Result<FrameHeader> Link::read_header(StageId stage) {
  for (;;) {
    std::array<uint8_t, kFrameHeaderBytes> bytes;
    if (Status status = stream_->read_exact(bytes); !status) return status.error().with_context(stage_name(stage));
    const bool is_alive = frame_stage(bytes) == StageId::alive;
    COT_ASSIGN(const FrameHeader header, read_frame_header(bytes, is_alive ? StageId::alive : stage, received_));
    ++received_;
    if (!is_alive) return header;
    if (header.length != 0) {
      return Error(ErrorCode::malformed,
                   "link: a frame that says alive holds " + std::to_string(header.length) + " bytes", "frame_length");
    }
  }
}

Result<Message> Link::receive(StageId stage, PartyIndex peer) {
  const std::lock_guard lock(*io_);
  if (!sound_) return sound_.error().with_context(stage_name(stage));
  COT_ASSIGN(const FrameHeader header, read_header(stage));
  Message message{.peer = peer, .kind = header.kind, .payload = std::vector<uint8_t>(header.length)};
  if (Status status = stream_->read_exact(message.payload); !status) {
    return status.error().with_context(stage_name(stage));
  }
  bytes_.received += kFrameHeaderBytes + header.length;
  return message;
}

}  // namespace coterie::vertical
