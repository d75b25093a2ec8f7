#include "secure/identity/key_file.h"

#include "base/os/crash_point.h"
#include "base/os/file.h"
#include "secure/crypto/random.h"
#include "secure/identity/bearer_token.h"

namespace coterie {
namespace {

constexpr uint64_t kKeyFileBytesMax = 4096;

Error damaged(const std::string& path) {
  return Error(ErrorCode::data_loss, path + " is not a key file; restore it from a backup, or remove it to start anew");
}

// The file's bytes, or those of `make` after they are durably written.
template <typename Make>
Result<Bytes> load_or_create(const std::string& path, Make make) {
  // A key is never made in the place of one that is there and damaged: what it signed would be lost without a word.
  if (os::exists(path)) return os::read_file(path, kKeyFileBytesMax);
  Bytes bytes = make();
  COT_TRY(os::write_file_atomically(path, bytes, &os::crash::key_file));
  return bytes;
}

// As a key file has it: the algorithm, then the stored form.
Bytes signer_bytes(KeyAlgorithm algorithm, Bytes secret) {
  secret.insert(secret.begin(), static_cast<uint8_t>(algorithm));
  return secret;
}
Bytes fresh_signer_bytes(KeyAlgorithm algorithm) { return signer_bytes(algorithm, generate_secret(algorithm)); }

// Makes a signer of the bytes of a key file, and wipes them.
Result<std::unique_ptr<Signer>> signer_of(Bytes bytes, const std::string& path) {
  if (bytes.size() < 2) return damaged(path);
  auto signer = make_signer(static_cast<KeyAlgorithm>(bytes[0]), ByteView(bytes).subspan(1));
  wipe(bytes);
  if (!signer) return damaged(path);
  return signer;
}

// Not by way of a temporary: a rename would replace what somebody else has made meanwhile.
Status create_file(const std::string& path, ByteView bytes) {
  Result<os::File> file = os::File::create(path);
  if (!file && file.error().code() == ErrorCode::conflict) {
    return Error(ErrorCode::conflict, path + " is there already; a key is never overwritten");
  }
  if (!file) return file.error();
  Status done = file->write_all(bytes);
  if (done) done = file->sync();
  if (done) done = os::sync_directory(os::parent_directory(path));
  if (!done) (void)os::remove_file(path);  // it is ours, and perhaps half a key
  return done;
}

Result<std::unique_ptr<Signer>> create_signer_of(Bytes bytes, const std::string& path) {
  if (const Status created = create_file(path, bytes); !created) {
    wipe(bytes);
    return created.error();
  }
  return signer_of(std::move(bytes), path);
}

}  // namespace

Result<MacKey> load_or_create_mac_key(const std::string& path) {
  COT_ASSIGN(Bytes bytes, load_or_create(path, [] { return random_bytes(32); }));
  if (bytes.size() != 32) return damaged(path);
  MacKey key{std::span<const uint8_t, 32>(bytes)};
  wipe(bytes);
  return key;
}

Result<CipherKey> load_cipher_key(const std::string& path) {
  COT_ASSIGN(Bytes bytes, os::read_file(path, kKeyFileBytesMax));
  if (bytes.size() != CipherKey::kSize) {
    wipe(bytes);
    return Error(ErrorCode::invalid_argument,
                 path + ": a key is a file of 32 bytes, this one has " + std::to_string(bytes.size()));
  }
  CipherKey key{std::span<const uint8_t, CipherKey::kSize>(bytes)};
  wipe(bytes);
  return key;
}

Result<std::unique_ptr<Signer>> load_or_create_signer(const std::string& path, KeyAlgorithm algorithm) {
  COT_TRY(can_make_keys(algorithm));
  COT_ASSIGN(Bytes bytes, load_or_create(path, [algorithm] { return fresh_signer_bytes(algorithm); }));
  return signer_of(std::move(bytes), path);
}

Result<std::unique_ptr<Signer>> load_signer(const std::string& path) {
  COT_ASSIGN(Bytes bytes, os::read_file(path, kKeyFileBytesMax));
  return signer_of(std::move(bytes), path);
}

Result<std::unique_ptr<Signer>> create_signer(const std::string& path, KeyAlgorithm algorithm) {
  COT_TRY(can_make_keys(algorithm));
  return create_signer_of(fresh_signer_bytes(algorithm), path);
}

Result<std::unique_ptr<Signer>> create_signer(const std::string& path, KeyAlgorithm algorithm, ByteView secret) {
  return create_signer_of(signer_bytes(algorithm, Bytes(secret.begin(), secret.end())), path);
}

Result<std::string> load_or_create_token(const std::string& path) {
  COT_ASSIGN(const Bytes bytes, load_or_create(path, [] {
               const std::string token = generate_token() + "\n";
               return Bytes(token.begin(), token.end());
             }));
  std::string token(as_text(bytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r' || token.back() == ' ')) token.pop_back();
  if (token.empty()) return damaged(path);
  return token;
}

}  // namespace coterie
