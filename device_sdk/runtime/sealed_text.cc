#include "device_sdk/runtime/sealed_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/text/concat.h"

namespace coterie {
namespace {

constexpr std::string_view kMagic = "COTSEAL";
constexpr uint8_t kVersion = 1;
constexpr size_t kSubjectAt = 8, kRandomAt = 40, kSizeAt = 56, kHeadBytes = 64;
constexpr size_t kRandomBytes = kSizeAt - kRandomAt;
constexpr size_t kPieceBytes = 65536;

void put_u64(uint64_t value, uint8_t* into) {
  for (int i = 0; i < 8; ++i) into[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get_u64(const uint8_t* from) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

std::array<uint8_t, kCipherNonceBytes> nonce_of(ByteView head, uint64_t piece) {
  static_assert(kRandomBytes + 8 == kCipherNonceBytes);
  std::array<uint8_t, kCipherNonceBytes> nonce;
  std::copy_n(head.data() + kRandomAt, kRandomBytes, nonce.begin());
  put_u64(piece, nonce.data() + kRandomBytes);
  return nonce;
}

Error malformed(std::string_view what) { return Error(ErrorCode::malformed, concat({"the encrypted text ", what})); }

}  // namespace

Sealer::Sealer(const AuthenticatedCipher& cipher, const Digest& subject, uint64_t text_bytes, Sink sink)
    : cipher_(cipher), sink_(std::move(sink)), left_(text_bytes), head_(kHeadBytes) {
  std::copy(kMagic.begin(), kMagic.end(), head_.begin());
  head_[kMagic.size()] = kVersion;
  std::copy(subject.bytes.begin(), subject.bytes.end(), head_.begin() + kSubjectAt);
  cipher.fill_random(std::span(head_).subspan(kRandomAt, kRandomBytes));
  put_u64(text_bytes, head_.data() + kSizeAt);
  piece_.reserve(std::min<uint64_t>(text_bytes, kPieceBytes) + kCipherTagBytes);
}

Status Sealer::write(ByteView text) {
  COT_ASSERT(text.size() <= left_);
  left_ -= text.size();
  while (!text.empty()) {
    const ByteView fits = text.first(std::min(text.size(), kPieceBytes - piece_.size()));
    piece_.insert(piece_.end(), fits.begin(), fits.end());
    text = text.subspan(fits.size());
    if (piece_.size() == kPieceBytes) COT_TRY(write_piece());
  }
  return {};
}

Status Sealer::finish() {
  COT_ASSERT(left_ == 0);
  return piece_.empty() ? Status() : write_piece();
}

Status Sealer::write_piece() {
  // Here, as a constructor could not say that the sink has failed.
  if (pieces_ == 0) COT_TRY(sink_(head_));
  const size_t size = piece_.size();
  piece_.resize(size + kCipherTagBytes);
  const std::span all(piece_);
  cipher_.seal(nonce_of(head_, pieces_), head_, all.first(size),
               std::span<uint8_t, kCipherTagBytes>(all.subspan(size)));
  pieces_ += 1;
  COT_TRY(sink_(piece_));
  piece_.clear();
  return {};
}

uint64_t sealed_bytes(uint64_t text_bytes) {
  const uint64_t pieces = (text_bytes + kPieceBytes - 1) / kPieceBytes;
  return kHeadBytes + text_bytes + pieces * kCipherTagBytes;
}

bool is_sealed(ByteView bytes) { return bytes.size() > kMagic.size() && as_text(bytes.first(kMagic.size())) == kMagic; }

Result<Bytes> open_sealed(Bytes sealed, const AuthenticatedCipher& cipher, const Digest& subject) {
  if (!is_sealed(sealed) || sealed.size() < kHeadBytes) return malformed("has no head");
  if (sealed[kMagic.size()] != kVersion) {
    return Error(ErrorCode::unsupported_version,
                 concat({"the encrypted text is of version ", sealed[kMagic.size()], ", not 1"}));
  }
  const Bytes head(sealed.begin(), sealed.begin() + kHeadBytes);
  const uint64_t text_bytes = get_u64(head.data() + kSizeAt);
  // The first comparison keeps the sum behind the second from overflowing.
  if (text_bytes > sealed.size() || sealed_bytes(text_bytes) != sealed.size()) {
    return malformed(concat({"has ", sealed.size(), " bytes, which is not what its head promises"}));
  }
  // The tags vouch for the subject as well, but they would call an honest mix-up a forgery.
  if (!std::equal(subject.bytes.begin(), subject.bytes.end(), head.begin() + kSubjectAt)) {
    return Error(ErrorCode::conflict, "the encrypted text is of another model");
  }
  size_t from = kHeadBytes, to = 0;
  for (uint64_t piece = 0; to < text_bytes; ++piece) {
    const size_t size = std::min<uint64_t>(text_bytes - to, kPieceBytes);
    const std::span text = std::span(sealed).subspan(from, size);
    const std::span<const uint8_t, kCipherTagBytes> tag(sealed.data() + from + size, kCipherTagBytes);
    if (!cipher.open(nonce_of(head, piece), head, text, tag)) {
      return Error(ErrorCode::permission_denied, "it was encrypted with another key, or forged");
    }
    // In place: a checkpoint is as large as the model's state, and a second copy might not fit.
    std::memmove(sealed.data() + to, text.data(), size);
    from += size + kCipherTagBytes;
    to += size;
  }
  sealed.resize(text_bytes);
  return sealed;
}

}  // namespace coterie
