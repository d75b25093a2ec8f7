/* How a call ends, and when the next one is due. */
#include "device_sdk/tiny/tiny_parts.h"

enum { BACKOFF_FIRST_MS = 500, BACKOFF_MAX_MS = 120000, PAUSE_MS = 300000, WINDOW_MAX_MS = 86400000 };

uint64_t tiny_server_now(const coterie_tiny* device) {
  return device->board->now_ms(device->board->context) + device->ahead_ms;
}

uint32_t tiny_random_below(coterie_tiny* device, uint32_t count) {
  uint8_t bytes[4] = {0};
  /* A board without random bytes signs nothing; what is drawn here is no secret. */
  if (device->board->random(device->board->context, bytes, sizeof bytes) != 0) return count / 2;
  return (uint32_t)(tiny_little(bytes, 4) * count >> 32);
}

void tiny_wait_between(coterie_tiny* device, uint64_t min_ms, uint64_t max_ms) {
  if (max_ms > WINDOW_MAX_MS) max_ms = WINDOW_MAX_MS;
  if (min_ms > max_ms) min_ms = max_ms;
  device->wait_ms = (uint32_t)min_ms + tiny_random_below(device, (uint32_t)(max_ms - min_ms) + 1);
}

static void back_off(coterie_tiny* device) {
  uint64_t most = BACKOFF_FIRST_MS;
  for (uint32_t i = 0; i < device->failures && most < BACKOFF_MAX_MS; ++i) most *= 2;
  ++device->failures;
  tiny_wait_between(device, 0, most < BACKOFF_MAX_MS ? most : BACKOFF_MAX_MS);
}

coterie_tiny_code tiny_end(coterie_tiny* device, coterie_tiny_code code, const char* why) {
  device->why = why;
  device->wait_ms = 0;
  if (code == COTERIE_TINY_OK) {
    device->failures = 0;
  } else if (code == COTERIE_TINY_UNAVAILABLE) {
    back_off(device);
  } else if (code != COTERIE_TINY_NOT_NOW) {
    device->phase = 0; /* what was begun is given up */
    ++device->failures;
    tiny_wait_between(device, 0, PAUSE_MS);
  }
  return code;
}

static int is_code(const coterie_tiny* device, const char* code) { return tiny_is_same_text(device->code, code); }

/* What an answer without a frame means: a gateway's page. */
static const char* code_of_status(uint32_t status) {
  if (status == 429) return "rate_limited";
  if (status == 408 || status == 504) return "timed_out";
  if (status == 401) return "unauthenticated";
  if (status == 403) return "permission_denied";
  if (status == 404) return "not_found";
  return status >= 500 ? "unavailable" : "invalid_argument";
}

static int read_error(coterie_tiny* device, uint64_t* min_ms, uint64_t* max_ms) {
  tiny_reader reader;
  tiny_table table;
  const uint8_t* code;
  uint32_t bytes;
  if (!tiny_open_frame(device->message, device->message_bytes, TINY_ERROR_REPLY, &reader)) return 0;
  table = tiny_root(&reader);
  code = tiny_bytes(&table, 0, 1, &bytes);
  *min_ms = tiny_number(&table, 2, 4, 0);
  *max_ms = tiny_number(&table, 3, 4, 0);
  if (!reader.is_bad && tiny_copy_text(device->code, sizeof device->code, code, bytes)) return 1;
  *min_ms = *max_ms = 0;
  return 0;
}

coterie_tiny_code tiny_refusal(coterie_tiny* device, const tiny_response* response) {
  uint64_t min_ms = 0, max_ms = 0;
  if (!read_error(device, &min_ms, &max_ms)) {
    const char* const code = code_of_status(response->status);
    (void)tiny_copy_text(device->code, sizeof device->code, (const uint8_t*)code, tiny_length(code));
    if (response->has_retry && response->retry_s <= 86400) {
      min_ms = response->retry_s * 1000;
      max_ms = response->retry_s * 1500 + 1000;
    }
  }
  if (is_code(device, "round_closed") || is_code(device, "ticket_expired")) {
    device->phase = 0;
    return tiny_end(device, COTERIE_TINY_NOT_NOW, device->code);
  }
  if (max_ms > 0) { /* the same again, inside the window */
    (void)tiny_end(device, COTERIE_TINY_UNAVAILABLE, device->code);
    tiny_wait_between(device, min_ms, max_ms);
    return COTERIE_TINY_UNAVAILABLE;
  }
  {
    static const char* const kFinal[] = {
        "invalid_argument", "malformed", "unsupported_version", "unauthenticated", "permission_denied",
        "not_found",        "conflict",  "too_large",           "length_required", "data_loss"};
    for (uint32_t i = 0; i < sizeof kFinal / sizeof *kFinal; ++i) {
      if (is_code(device, kFinal[i])) return tiny_end(device, COTERIE_TINY_DENIED, device->code);
    }
  }
  return tiny_end(device, COTERIE_TINY_UNAVAILABLE, device->code);
}
