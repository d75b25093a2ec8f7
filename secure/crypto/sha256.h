// SHA-256 (FIPS 180-4): one message by libcrypto (sha256_stream.h says when not), many equal-length messages side by
// side by our own vector code.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace coterie {

Digest sha256(ByteView message);
// SHA-256(prefix || message) without joining them.
Digest sha256(uint8_t prefix, ByteView message);

// out[i] = SHA-256(prefix || messages[i * message_bytes, (i + 1) * message_bytes)) for every i in [0, out.size()).
// Uses as many lanes as the CPU's vectors hold; where libcrypto has SHA instructions, libcrypto.
void sha256_many(uint8_t prefix, ByteView messages, size_t message_bytes, std::span<Digest> out);

// The portable path of sha256_many: the oracle of the vector code.
void sha256_many_reference(uint8_t prefix, ByteView messages, size_t message_bytes, std::span<Digest> out);

}  // namespace coterie
