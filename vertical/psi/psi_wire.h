// The messages of the matching, as bytes. All numbers are little-endian.
//
//   hello    version u32, items u64, digest of the settings (32)       both
//   masked   slice, elements (32 each)                                 both, in their secret order
//   doubled  slice, tags (psi_tag_bytes each)                          feature party, in the label party's order
//   matches  slice, place at the feature party u32, at the label u32   label party, ascending by tag
//   result   count u64, root of the tags (32)                          both
//
// Between two parties the root of a bucket's tags is the digest (secure/crypto/digest.h) of the root of the buckets
// before it, of the first one 32 zeros, and its matched tags, ascending.
//
// In a ring of more parties (ring_matching.h) hello and result go to all, masked to the party behind, and
//
//   desk     version, parties, buckets, bytes of a tag (u32 each), items of the largest set u64     to the matcher
//   tags     slice, tags of the list that has gone around                                           to the matcher
//   matches  slice, place u32, ascending by tag              of the matcher, and back from party to party
//
// A slice says what of a bucket's list follows: bucket u32, entries of the whole list u32, first entry here u32. A list
// without entries is one message.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/result.h"
#include "vertical/stage/stage.h"

namespace coterie::vertical {

constexpr uint32_t kPsiVersion = 2;

enum class PsiKind : uint16_t { hello = 1, masked = 2, doubled = 3, matches = 4, result = 5, desk = 6, tags = 7 };
std::string_view psi_kind_name(uint16_t kind);

struct PsiHello {
  uint64_t items = 0;
  Digest settings;
};
struct PsiOutcome {
  uint64_t count = 0;
  Digest root;
  friend bool operator==(const PsiOutcome&, const PsiOutcome&) = default;
};

// In a ring (ring_matching.h): what a party tells the matcher before its first tags, and all parties alike.
struct PsiDesk {
  uint32_t parties = 0, buckets = 0, tag_bytes = 0;
  uint64_t items_max = 0;  // of the largest set
  friend bool operator==(const PsiDesk&, const PsiDesk&) = default;
};

Message psi_message(PartyIndex peer, const PsiDesk& desk);
Result<PsiDesk> read_psi_desk(const Message& message);
Message psi_message(PartyIndex peer, const PsiHello& hello);
Message psi_message(PartyIndex peer, const PsiOutcome& outcome);
// unsupported_version, or malformed.
Result<PsiHello> read_psi_hello(const Message& message);
Result<PsiOutcome> read_psi_outcome(const Message& message);

// malformed, with both kinds' names, unless the message is of this kind, of this peer, and within kMessageBytesMax.
Status expect_psi(const Message& message, PartyIndex peer, PsiKind kind);

// Sends a bucket's list in as many messages as it takes.
class SliceWriter {
 public:
  SliceWriter(PsiKind kind, uint32_t bucket, uint32_t total, size_t entry_bytes);
  bool done() const { return done_; }
  // The next message: `write(entry, bytes)` fills each of its entries.
  template <typename Write>
  Message next(PartyIndex peer, Write write) {
    return next_of_all(peer, [&](uint32_t first, std::span<uint8_t> bytes) {
      for (size_t at = 0; at < bytes.size(); at += entry_bytes_) write(first++, bytes.subspan(at, entry_bytes_));
    });
  }
  // The same, where `write(first entry, bytes)` fills all of a message's entries.
  template <typename Write>
  Message next_of_all(PartyIndex peer, Write write) {
    Message message = begin(peer);
    const std::span<uint8_t> bytes = std::span(message.payload).subspan(kSliceBytes);
    write(sent_, bytes);
    sent_ += static_cast<uint32_t>(bytes.size() / entry_bytes_);
    done_ = sent_ == total_;
    return message;
  }

 private:
  static constexpr size_t kSliceBytes = 12;
  Message begin(PartyIndex peer) const;

  PsiKind kind_;
  uint32_t bucket_, total_;
  size_t entry_bytes_;
  uint32_t sent_ = 0;
  bool done_ = false;
};

// Receives a bucket's list: each message must go on where the one before it ended.
class SliceReader {
 public:
  // `total_max`: entries the whole list may have; named in errors as `what`.
  SliceReader(PsiKind kind, uint32_t bucket, uint64_t total_max, size_t entry_bytes);
  bool done() const { return is_known_ && received_ == total_; }
  uint32_t total() const { return total_; }
  // The message's entries, in order; valid as long as the message.
  Result<ByteView> take(const Message& message, PartyIndex peer);

 private:
  PsiKind kind_;
  uint32_t bucket_;
  uint64_t total_max_;
  size_t entry_bytes_;
  bool is_known_ = false;
  uint32_t total_ = 0, received_ = 0;
};

uint32_t read_u32(ByteView bytes);
void write_u32(std::span<uint8_t> bytes, uint32_t value);

}  // namespace coterie::vertical
