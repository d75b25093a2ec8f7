#include "secure/crypto/slow_hash.h"

#include <sodium.h>

#include <array>
#include <charconv>

#include "secure/crypto/sodium.h"

namespace coterie {
namespace {

// The decimal number behind `key` ("m=") at the front of `text`, which then begins behind it and one
// separator; 0 if there is none.
size_t take_number(std::string_view& text, std::string_view key) {
  if (!text.starts_with(key)) return 0;
  text.remove_prefix(key.size());
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size()) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return number;
}

bool is_affordable(std::string_view hash) {
  constexpr std::string_view kBegin = "$argon2id$v=19$";
  if (hash.size() >= crypto_pwhash_STRBYTES || !hash.starts_with(kBegin)) return false;
  hash.remove_prefix(kBegin.size());
  const size_t kibibytes = take_number(hash, "m=");
  const size_t passes = take_number(hash, "t=");
  return kibibytes > 0 && kibibytes <= kSlowHashMemoryBytes / 1024 && passes > 0 && passes <= kSlowHashPasses;
}

}  // namespace

std::string slow_hash(std::string_view secret) {
  ensure_sodium();
  std::array<char, crypto_pwhash_STRBYTES> text{};
  const int failed = crypto_pwhash_str_alg(text.data(), secret.data(), secret.size(), kSlowHashPasses,
                                           kSlowHashMemoryBytes, crypto_pwhash_ALG_ARGON2ID13);
  return failed != 0 ? std::string() : std::string(text.data());
}

bool slow_hash_matches(std::string_view hash, std::string_view secret) {
  ensure_sodium();
  if (!is_affordable(hash)) return false;
  const std::string terminated(hash);
  return crypto_pwhash_str_verify(terminated.c_str(), secret.data(), secret.size()) == 0;
}

}  // namespace coterie
