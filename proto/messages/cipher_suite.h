// CipherSuite: the stream ciphers that masks are made with, by their numbers on the wire. secure/crypto/stream_cipher.h
// says what each is; a plan's rules name the one of its sessions.
#pragma once

#include <cstdint>

namespace coterie {

// 0 is never a suite: it is what rules without masks have.
enum class CipherSuite : uint8_t { aes256_ctr = 1, chacha20 = 2 };

}  // namespace coterie
