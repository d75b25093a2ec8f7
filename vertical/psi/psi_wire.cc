#include "vertical/psi/psi_wire.h"

#include <algorithm>
#include <string>

namespace coterie::vertical {
namespace {

constexpr size_t kHelloBytes = 4 + 8 + 32;
constexpr size_t kOutcomeBytes = 8 + 32;
constexpr size_t kDeskBytes = 4 * 4 + 8;

uint64_t read_u64(ByteView bytes) { return read_u32(bytes) | uint64_t{read_u32(bytes.subspan(4))} << 32; }

void write_u64(std::span<uint8_t> bytes, uint64_t value) {
  write_u32(bytes, static_cast<uint32_t>(value));
  write_u32(bytes.subspan(4), static_cast<uint32_t>(value >> 32));
}

Status expect_size(const Message& message, size_t bytes) {
  if (message.payload.size() == bytes) return {};
  return Error(ErrorCode::malformed, std::string(psi_kind_name(message.kind)) + " must have " + std::to_string(bytes) +
                                         " bytes, has " + std::to_string(message.payload.size()));
}

Message message_of(PartyIndex peer, PsiKind kind, size_t bytes) {
  return Message{.peer = peer, .kind = static_cast<uint16_t>(kind), .payload = Bytes(bytes)};
}

}  // namespace

uint32_t read_u32(ByteView bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

void write_u32(std::span<uint8_t> bytes, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

std::string_view psi_kind_name(uint16_t kind) {
  switch (static_cast<PsiKind>(kind)) {
    case PsiKind::hello: return "hello";
    case PsiKind::masked: return "masked";
    case PsiKind::doubled: return "doubled";
    case PsiKind::matches: return "matches";
    case PsiKind::result: return "result";
    case PsiKind::desk: return "desk";
    case PsiKind::tags: return "tags";
  }
  return "unknown";
}

Message psi_message(PartyIndex peer, const PsiHello& hello) {
  Message message = message_of(peer, PsiKind::hello, kHelloBytes);
  const std::span<uint8_t> bytes(message.payload);
  write_u32(bytes, kPsiVersion);
  write_u64(bytes.subspan(4), hello.items);
  std::ranges::copy(hello.settings.bytes, bytes.subspan(12).begin());
  return message;
}

Message psi_message(PartyIndex peer, const PsiOutcome& outcome) {
  Message message = message_of(peer, PsiKind::result, kOutcomeBytes);
  write_u64(message.payload, outcome.count);
  std::ranges::copy(outcome.root.bytes, message.payload.begin() + 8);
  return message;
}

Message psi_message(PartyIndex peer, const PsiDesk& desk) {
  Message message = message_of(peer, PsiKind::desk, kDeskBytes);
  const std::span<uint8_t> bytes(message.payload);
  size_t at = 0;
  for (const uint32_t number : {kPsiVersion, desk.parties, desk.buckets, desk.tag_bytes}) {
    write_u32(bytes.subspan(at), number);
    at += 4;
  }
  write_u64(bytes.subspan(at), desk.items_max);
  return message;
}

Result<PsiDesk> read_psi_desk(const Message& message) {
  COT_TRY(expect_size(message, kDeskBytes));
  const ByteView bytes(message.payload);
  if (read_u32(bytes) != kPsiVersion) {
    return Error(ErrorCode::unsupported_version, "a party matches ids by version " + std::to_string(read_u32(bytes)) +
                                                     ", the matcher by version " + std::to_string(kPsiVersion));
  }
  return PsiDesk{.parties = read_u32(bytes.subspan(4)),
                 .buckets = read_u32(bytes.subspan(8)),
                 .tag_bytes = read_u32(bytes.subspan(12)),
                 .items_max = read_u64(bytes.subspan(16))};
}

Result<PsiHello> read_psi_hello(const Message& message) {
  // The version first: another one may have another size.
  if (message.payload.size() >= 4 && read_u32(message.payload) != kPsiVersion) {
    return Error(ErrorCode::unsupported_version, "the peer matches ids by version " +
                                                     std::to_string(read_u32(message.payload)) + ", we by version " +
                                                     std::to_string(kPsiVersion));
  }
  COT_TRY(expect_size(message, kHelloBytes));
  PsiHello hello;
  hello.items = read_u64(ByteView(message.payload).subspan(4));
  std::copy_n(message.payload.begin() + 12, 32, hello.settings.bytes.begin());
  return hello;
}

Result<PsiOutcome> read_psi_outcome(const Message& message) {
  COT_TRY(expect_size(message, kOutcomeBytes));
  PsiOutcome outcome;
  outcome.count = read_u64(message.payload);
  std::copy_n(message.payload.begin() + 8, 32, outcome.root.bytes.begin());
  return outcome;
}

Status expect_psi(const Message& message, PartyIndex peer, PsiKind kind) {
  const std::string expected(psi_kind_name(static_cast<uint16_t>(kind)));
  if (message.peer != peer) {
    return Error(ErrorCode::malformed, "expected " + expected + " of party " + std::to_string(peer) +
                                           ", a message of party " + std::to_string(message.peer) + " came");
  }
  if (message.payload.size() > kMessageBytesMax) {
    return Error(ErrorCode::too_large, "a message has at most " + std::to_string(kMessageBytesMax) +
                                           " bytes, this one has " + std::to_string(message.payload.size()));
  }
  if (message.kind != static_cast<uint16_t>(kind)) {
    return Error(ErrorCode::malformed, "expected " + expected + ", " + std::string(psi_kind_name(message.kind)) +
                                           " (kind " + std::to_string(message.kind) + ") came");
  }
  return {};
}

SliceWriter::SliceWriter(PsiKind kind, uint32_t bucket, uint32_t total, size_t entry_bytes)
    : kind_(kind), bucket_(bucket), total_(total), entry_bytes_(entry_bytes) {}

Message SliceWriter::begin(PartyIndex peer) const {
  // A slice: bucket (4 bytes) | entries in all (4) | place of the first (4) | entries, entry_bytes each; little-endian.
  const size_t entries = std::min<size_t>(total_ - sent_, (kMessageBytesMax - kSliceBytes) / entry_bytes_);
  Message message = message_of(peer, kind_, kSliceBytes + entries * entry_bytes_);
  const std::span<uint8_t> bytes(message.payload);
  write_u32(bytes, bucket_);
  write_u32(bytes.subspan(4), total_);
  write_u32(bytes.subspan(8), sent_);
  return message;
}

SliceReader::SliceReader(PsiKind kind, uint32_t bucket, uint64_t total_max, size_t entry_bytes)
    : kind_(kind), bucket_(bucket), total_max_(total_max), entry_bytes_(entry_bytes) {}

Result<ByteView> SliceReader::take(const Message& message, PartyIndex peer) {
  COT_TRY(expect_psi(message, peer, kind_));
  const ByteView bytes(message.payload);
  const std::string name(psi_kind_name(message.kind));
  if (bytes.size() < 12 || (bytes.size() - 12) % entry_bytes_ != 0) {
    return Error(ErrorCode::malformed, name + " must have 12 bytes and entries of " + std::to_string(entry_bytes_) +
                                           ", has " + std::to_string(bytes.size()) + " bytes");
  }
  const uint32_t bucket = read_u32(bytes), total = read_u32(bytes.subspan(4)), first = read_u32(bytes.subspan(8));
  // Slices come in their order on one connection, so anything else is an error of the peer and no loss.
  if (bucket != bucket_ || first != received_ || (is_known_ && total != total_)) {
    return Error(ErrorCode::malformed, name + ": expected bucket " + std::to_string(bucket_) + " from entry " +
                                           std::to_string(received_) + " on, bucket " + std::to_string(bucket) +
                                           " from entry " + std::to_string(first) + " on (of " + std::to_string(total) +
                                           ") came");
  }
  if (total > total_max_) {
    return Error(ErrorCode::too_large, name + ": bucket " + std::to_string(bucket) + " may have " +
                                           std::to_string(total_max_) + " entries, is to have " +
                                           std::to_string(total));
  }
  const size_t entries = (bytes.size() - 12) / entry_bytes_;
  // Only an empty list has an empty message: others would go on for ever.
  if (entries > total - received_ || (entries == 0 && total != 0)) {
    return Error(ErrorCode::malformed, name + ": bucket " + std::to_string(bucket) + " has " + std::to_string(total) +
                                           " entries, " + std::to_string(entries) + " came behind " +
                                           std::to_string(received_));
  }
  is_known_ = true;
  total_ = total;
  received_ += static_cast<uint32_t>(entries);
  return bytes.subspan(12);
}

}  // namespace coterie::vertical
