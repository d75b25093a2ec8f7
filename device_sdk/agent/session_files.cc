#include "device_sdk/agent/session_files.h"

#include "base/os/file.h"
#include "proto/codec/limits.h"
#include "secure/crypto/digest.h"
#include "secure/crypto/random.h"

namespace coterie {
namespace {

constexpr std::string_view kSeedName = "secagg.seed";
constexpr std::string_view kPrefix = "secagg";  // of all the names
constexpr size_t kDigestBytes = sizeof(Digest::bytes);
constexpr size_t kSeedFileBytes = 2 * kDigestBytes + 32;  // context, update, seed
constexpr uint64_t kFileBytesMax = limits::kRosterHeaderBytesMax + 64;  // the largest message's frame

}  // namespace

Result<std::optional<Secret<32>>> SessionFiles::load_seed(const Digest& context, const std::optional<Digest>& update) const {
  if (!os::exists(path(kSeedName))) return std::optional<Secret<32>>();
  COT_ASSIGN(Bytes bytes, os::read_file(path(kSeedName), kFileBytesMax));
  std::optional<Secret<32>> seed;
  const auto has = [&](size_t at, const Digest& digest) {
    return std::equal(digest.bytes.begin(), digest.bytes.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
  };
  if (bytes.size() == kSeedFileBytes && has(0, context) && (!update || has(kDigestBytes, *update))) {
    seed.emplace(std::span<const uint8_t, 32>(ByteView(bytes).last<32>()));
  }
  wipe(bytes);
  return seed;
}

Result<Secret<32>> SessionFiles::begin(const Digest& context, const Digest& update) const {
  COT_TRY(remove());
  Secret<32> seed;
  fill_random(seed.mutable_bytes());
  Bytes bytes;
  bytes.reserve(kSeedFileBytes);  // so that no copy of the seed is left behind
  for (const ByteView part : {context.view(), update.view(), ByteView(seed.reveal())}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  const Status written = os::write_file_atomically(path(kSeedName), bytes);
  wipe(bytes);
  COT_TRY(written);
  return seed;
}

Result<std::optional<Bytes>> SessionFiles::load(const std::string& name) const {
  if (!os::exists(path(name))) return std::optional<Bytes>();
  COT_ASSIGN(Bytes bytes, os::read_file(path(name), kFileBytesMax));
  return std::optional<Bytes>(std::move(bytes));
}

Status SessionFiles::save(const std::string& name, ByteView bytes) const {
  return os::write_file_atomically(path(name), bytes);
}

Status SessionFiles::remove() const {
  if (os::exists(path(kSeedName))) {
    COT_TRY(os::remove_file(path(kSeedName)));
    COT_TRY(os::sync_directory(directory_));
  }
  COT_ASSIGN(const std::vector<std::string> names, os::list_directory(directory_));
  for (const std::string& name : names) {
    if (name.starts_with(kPrefix)) COT_TRY(os::remove_file(path(name)));
  }
  return {};
}

Result<Bytes> RecordedSigner::sign(ByteView message) const {
  const auto sign = [&]() -> Result<Bytes> {
    const std::string name = "secagg-" + content_digest(message).hex() + ".sig";
    COT_ASSIGN(std::optional<Bytes> recorded, files_.load(name));
    if (recorded) return std::move(*recorded);
    COT_ASSIGN(Bytes signature, signer_.sign(message));
    COT_TRY(files_.save(name, signature));
    return signature;
  };
  Result<Bytes> signature = sign();
  failure_.reset();
  if (!signature) failure_ = signature.error();
  return signature;
}

}  // namespace coterie
