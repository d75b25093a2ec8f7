// Who we are to an S3 store: an access key's id, and its secret in locked memory.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.h"
#include "secure/crypto/secret.h"

namespace coterie::s3 {

inline constexpr size_t kAccessKeyIdBytesMax = 128;  // as AWS IAM has it
inline constexpr size_t kSecretKeyBytesMax = 128;    // AWS makes 40; others let the operator choose

class Credentials {
 public:
  // invalid_argument: empty, too long, or with blanks or other characters that no header can have.
  static Result<Credentials> make(std::string_view access_key_id, std::string_view secret_key) {
    const auto is_bad = [](std::string_view text, size_t bytes_max) {
      const auto is_graphic = [](char c) { return c > ' ' && c < '\x7f'; };
      return text.empty() || text.size() > bytes_max || !std::ranges::all_of(text, is_graphic);
    };
    if (is_bad(access_key_id, kAccessKeyIdBytesMax) || access_key_id.find_first_of("/,") != std::string_view::npos) {
      return Error(ErrorCode::invalid_argument,
                   "the access key id must have 1 to 128 visible ASCII characters but / and ,");
    }
    if (is_bad(secret_key, kSecretKeyBytesMax)) {
      return Error(ErrorCode::invalid_argument, "the secret key must have 1 to 128 visible ASCII characters");
    }
    return Credentials(access_key_id, secret_key);
  }

  const std::string& access_key_id() const { return access_key_id_; }
  // What the chain of keys begins with: "AWS4" and the secret.
  ByteView first_key() const { return ByteView(secret_.reveal()).first(secret_bytes_); }

 private:
  static constexpr std::string_view kBefore = "AWS4";

  Credentials(std::string_view id, std::string_view secret)
      : access_key_id_(id), secret_bytes_(kBefore.size() + secret.size()) {
    const auto into = secret_.mutable_bytes();
    std::ranges::copy(secret, std::ranges::copy(kBefore, into.begin()).out);
  }

  std::string access_key_id_;
  Secret<kBefore.size() + kSecretKeyBytesMax> secret_;
  size_t secret_bytes_;
};

}  // namespace coterie::s3
