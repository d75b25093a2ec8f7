#include "device_sdk/agent/round_vault.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/os/file.h"
#include "secure/crypto/random.h"
#include "secure/crypto/xchacha20_poly1305.h"
#include "secure/identity/key_file.h"

namespace coterie {
namespace {

constexpr std::array<uint8_t, 8> kMark = {'C', 'O', 'T', 's', 'e', 'a', 'l', '1'};
constexpr size_t kSealBytes = kCipherNonceBytes + kCipherTagBytes;
constexpr size_t kTrailerBytes = kSealBytes + kMark.size();

// Its name is durable with the next file of the directory that is made so: before anything sealed has to be. A key that
// is none is replaced: what was sealed with it is lost either way, and a device would stand still for ever. One that
// cannot be read now is left alone.
Result<CipherKey> load_or_create_key(const std::string& path) {
  Result<CipherKey> there = load_cipher_key(path);
  // Zeros are what an erase leaves that came no farther.
  if (there && std::ranges::any_of(there->reveal(), [](uint8_t byte) { return byte != 0; })) return there;
  const bool is_none = there || there.error().code() == ErrorCode::not_found ||
                       there.error().code() == ErrorCode::invalid_argument;  // another size
  if (!is_none) return there.error();
  CipherKey key;
  fill_random(key.mutable_bytes());
  COT_TRY(os::write_file_atomically(path, key.reveal(), os::Durability::content));
  return key;
}

Error does_not_open(const std::string& what) {
  return Error(ErrorCode::data_loss, what + " does not open: it was changed, or the key of its round is erased");
}

}  // namespace

Status RoundVault::write_file(const std::string& name, Bytes content) const {
  COT_ASSIGN(CipherKey key, load_or_create_key(path(key_name_)));
  std::array<uint8_t, kCipherNonceBytes> nonce;
  std::array<uint8_t, kCipherTagBytes> tag;
  // A key seals many files, and a file may be written again: with 24 random bytes no nonce comes twice.
  fill_random(nonce);
  // The name is authenticated, too: one sealed file in another's place does not open.
  make_xchacha20_poly1305(std::move(key))->seal(nonce, as_bytes(name), content, tag);
  COT_ASSIGN(os::AtomicFile file, os::AtomicFile::create(path(name)));
  COT_TRY(file.write(content));
  COT_TRY(file.write(nonce));
  COT_TRY(file.write(tag));
  COT_TRY(file.write(kMark));
  return file.commit(os::Durability::content);
}

Result<Bytes> RoundVault::read_file(const std::string& name, uint64_t bytes_max) const {
  COT_ASSIGN(Bytes content, os::read_file(path(name), bytes_max + kTrailerBytes));
  // Versions before this one sealed nothing. What they left is read as it lies.
  if (content.size() < kTrailerBytes || !std::ranges::equal(ByteView(content).last(kMark.size()), kMark)) {
    return content;
  }
  Result<CipherKey> key = load_cipher_key(path(key_name_));
  // The key is not made here: a new one opens nothing that was sealed before.
  if (!key) return does_not_open(path(name));
  const std::span<uint8_t> all(content);
  const size_t text_bytes = content.size() - kTrailerBytes;
  const bool is_whole =
      make_xchacha20_poly1305(std::move(*key))
          ->open(
              std::span<const uint8_t, kCipherNonceBytes>(all.subspan(text_bytes, kCipherNonceBytes)), as_bytes(name),
              all.first(text_bytes),
              std::span<const uint8_t, kCipherTagBytes>(all.subspan(text_bytes + kCipherNonceBytes, kCipherTagBytes)));
  if (!is_whole) return does_not_open(path(name));
  content.resize(text_bytes);
  return content;
}

Result<std::shared_ptr<const AuthenticatedCipher>> RoundVault::cipher() const {
  COT_ASSIGN(CipherKey key, load_or_create_key(path(key_name_)));
  return std::shared_ptr<const AuthenticatedCipher>(make_xchacha20_poly1305(std::move(key)));
}

Result<Bytes> RoundVault::seal(ByteView context, ByteView text) const {
  COT_ASSIGN(const CipherKey key, load_or_create_key(path(key_name_)));
  Bytes sealed(text.size() + kSealBytes);
  const std::span<uint8_t> all(sealed);
  fill_random(all.first(kCipherNonceBytes));
  seal_xchacha20_poly1305(key, std::span<const uint8_t, kCipherNonceBytes>(all.first(kCipherNonceBytes)), context, text,
                          all.subspan(kCipherNonceBytes));
  return sealed;
}

Status RoundVault::open(ByteView context, ByteView sealed, std::span<uint8_t> text) const {
  const Result<CipherKey> key = load_cipher_key(path(key_name_));
  const bool is_whole =
      key && sealed.size() == text.size() + kSealBytes &&
      open_xchacha20_poly1305(*key, std::span<const uint8_t, kCipherNonceBytes>(sealed.first(kCipherNonceBytes)),
                              context, sealed.subspan(kCipherNonceBytes), text);
  if (is_whole) return {};
  std::ranges::fill(text, uint8_t{0});
  return does_not_open("a secret of the round");
}

Status RoundVault::erase() const { return os::erase_file(path(key_name_)); }

}  // namespace coterie
