/* The server's signing keys: which are believed, and which a key has named as its successor. */
#include "device_sdk/tiny/tiny_parts.h"

enum { KEY_TEXT = 43, SIGNATURE_TEXT = 86 }; /* base64url */

static int is_key(const uint8_t* a, const uint8_t* b) { return memcmp(a, b, 32) == 0; }

int tiny_is_signed(coterie_tiny* device, uint32_t text_bytes, const uint8_t signature[64]) {
  const coterie_tiny_board* const board = device->board;
  const coterie_tiny_memory* const memory = &device->memory;
  if (board->verify(board->context, memory->server_key, device->text, text_bytes, signature) == 0) return 1;
  for (uint32_t i = 0; i < COTERIE_TINY_RETIRING; ++i) {
    if (memory->retiring[i].until_ms == 0 || tiny_server_now(device) > memory->retiring[i].until_ms) continue;
    if (board->verify(board->context, memory->retiring[i].key, device->text, text_bytes, signature) == 0) return 1;
  }
  return 0;
}

/* The oldest is forgotten. */
void tiny_retire_key(coterie_tiny_memory* memory, const uint8_t key[32], uint64_t until_ms) {
  memmove(&memory->retiring[0], &memory->retiring[1], sizeof memory->retiring - sizeof memory->retiring[0]);
  memcpy(memory->retiring[COTERIE_TINY_RETIRING - 1].key, key, 32);
  memory->retiring[COTERIE_TINY_RETIRING - 1].until_ms = until_ms;
}

void tiny_drop_keys(coterie_tiny_memory* memory, uint64_t now_ms) {
  for (uint32_t i = 0; i < COTERIE_TINY_RETIRING; ++i) {
    if (now_ms > memory->retiring[i].until_ms) memset(&memory->retiring[i], 0, sizeof memory->retiring[i]);
  }
}

static int is_known(const coterie_tiny_memory* memory, const uint8_t after[32], int ends) {
  for (uint32_t i = 0; i < COTERIE_TINY_RETIRING; ++i) {
    if (memory->retiring[i].until_ms == 0) continue;
    if (ends) return 0; /* there is one to forget */
    if (is_key(memory->retiring[i].key, after)) return 1;
  }
  return ends;
}

/* `before.after.until.signature`. What is not understood changes nothing. */
static void follow(coterie_tiny* device, const uint8_t* text, uint32_t bytes) {
  coterie_tiny_memory* const memory = &device->memory;
  uint8_t before[32], after[32], signature[64];
  uint64_t until_ms;
  uint32_t until_bytes;
  int ends;
  tiny_out out = {device->text, sizeof device->text, 0, 0};
  if (bytes < 2 * KEY_TEXT + SIGNATURE_TEXT + 4) return;
  until_bytes = bytes - (2 * KEY_TEXT + SIGNATURE_TEXT + 3);
  if (text[KEY_TEXT] != '.' || text[2 * KEY_TEXT + 1] != '.' || text[bytes - SIGNATURE_TEXT - 1] != '.') return;
  if (!tiny_base64url(text, KEY_TEXT, before, 32) || !tiny_base64url(text + KEY_TEXT + 1, KEY_TEXT, after, 32) ||
      !tiny_decimal(text + 2 * KEY_TEXT + 2, until_bytes, &until_ms) ||
      !tiny_base64url(text + bytes - SIGNATURE_TEXT, SIGNATURE_TEXT, signature, 64)) {
    return;
  }
  /* From the newest key on alone: who has got hold of an old one leads nobody. */
  ends = is_key(before, after);
  if (!is_key(before, memory->server_key) || until_ms == 0 || is_known(memory, after, ends)) return;
  tiny_put_text(&out, ends ? "coterie-end-keys-1\n" : "coterie-next-key-1\n");
  tiny_put_hex(&out, before, 32);
  tiny_put_text(&out, "\n");
  if (!ends) {
    tiny_put_hex(&out, after, 32);
    tiny_put_text(&out, "\n");
  }
  tiny_put_decimal(&out, until_ms);
  if (device->board->verify(device->board->context, before, device->text, out.used, signature) != 0) return;
  if (ends) {
    memset(memory->retiring, 0, sizeof memory->retiring);
    return;
  }
  tiny_retire_key(memory, before, until_ms);
  memcpy(memory->server_key, after, 32);
}

void tiny_follow_keys(coterie_tiny* device, const uint8_t* text, uint32_t bytes) {
  uint32_t begin = 0;
  while (begin < bytes) {
    uint32_t end = begin;
    while (end < bytes && text[end] != ',') ++end;
    follow(device, text + begin, end - begin);
    begin = end + 1;
  }
}
