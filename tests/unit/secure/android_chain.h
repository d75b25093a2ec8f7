// Chains of certificates as Android's key attestation makes them, with roots of the test's own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "secure/identity/android_key_description.h"

namespace coterie::test {

// A KeyDescription as DER, of what a test says.
struct DescriptionText {
  uint8_t attestation_level = 1, key_level = 1;
  Bytes challenge = Bytes(32, 9);
  std::optional<uint8_t> origin = 0;
  bool has_root_of_trust = true, is_locked = true;
  uint8_t boot_state = 0;
  std::vector<std::string> packages = {"org.example.app"};
  std::vector<Bytes> digests = {Bytes(32, 3)};
  bool hardware_says_in_software = false;  // origin and rootOfTrust stand in the list of the software
};
Bytes der_of(const DescriptionText& text);
// One element: `tag` with its class and form, and its length in as few bytes as can be.
Bytes der(uint8_t tag, const Bytes& content);
Bytes operator+(Bytes left, const Bytes& right);

struct ChainOptions {
  WallTime now;
  Bytes extension;
  bool extension_in_issuer = false, extension_twice = false, has_extension = true;
  bool issuer_is_authority = true;
  bool key_is_rsa = false;
  bool has_ended = false;  // the issuer's certificate
  bool is_signed_with_sha1 = false;
};

struct AndroidChain {
  std::string root_pem;
  Bytes chain;                // the key's certificate, its issuer's, the root's
  Bytes public_key;           // of the first: a point
  Bytes secret;               // of that key: its scalar
  std::string issuer_serial;  // hexadecimal
};

AndroidChain make_android_chain(const ChainOptions& options);

}  // namespace coterie::test
