/* What this machine gives a coterie_tiny, in the place of a board's network stack and crypto. */
#pragma once

#include "coterie_tiny.h"

/* `ca_file`: whose certificates the server may have; "-": no TLS here, as a gateway speaks it. `secret`: the device's
 * key, 32 bytes. Exits with a sentence where OpenSSL does not even begin. */
const coterie_tiny_board* host_board(const char* host, const char* port, const char* ca_file, const uint8_t secret[32]);
void host_public_key(uint8_t key[32]);
void host_random(uint8_t* bytes, size_t count);
void host_sleep_ms(uint32_t ms);
