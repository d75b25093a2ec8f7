// Secrets in files: made on first use, mode 0600, never logged.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "secure/crypto/mac.h"
#include "secure/crypto/signature.h"
#include "secure/crypto/xchacha20_poly1305.h"

namespace coterie {

// The 32 bytes in `path`, or fresh ones written there if it does not exist.
Result<MacKey> load_or_create_mac_key(const std::string& path);

// The 32 bytes in `path`, which is not made: a fresh key opens nothing. invalid_argument (another size), not_found.
Result<CipherKey> load_cipher_key(const std::string& path);

// The private key in `path` (first byte: algorithm, rest: stored form), or a fresh one of `algorithm` written there.
Result<std::unique_ptr<Signer>> load_or_create_signer(const std::string& path, KeyAlgorithm algorithm);

// The private key in `path`, which is not made: who asks for it has an identity already, and a fresh one
// would be another. not_found, data_loss (no key file).
Result<std::unique_ptr<Signer>> load_signer(const std::string& path);

// A fresh private key of `algorithm`, durably in `path`, which must not exist: of two that make it at once,
// one fails. conflict (there is a file, or a link; it is left alone), not_found (no such directory),
// storage_full.
Result<std::unique_ptr<Signer>> create_signer(const std::string& path, KeyAlgorithm algorithm);

// The same with this private key, in its stored form, in the place of a fresh one. For development, where devices are
// to be the same in each run: whoever knows what the key was made of has it, too.
Result<std::unique_ptr<Signer>> create_signer(const std::string& path, KeyAlgorithm algorithm, ByteView secret);

// The token in `path` (one line of text), or a fresh one written there.
Result<std::string> load_or_create_token(const std::string& path);

}  // namespace coterie
