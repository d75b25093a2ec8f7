/* Requests over the board's connection: HTTP/1.1, one at a time, signed. */

#include "device_sdk/tiny/tiny_parts.h"

static const char kFrameType[] = "application/vnd.coterie.frame";

void tiny_hang_up(coterie_tiny* device) {
  if (device->is_open) device->board->close(device->board->context);
  device->is_open = device->is_clean = 0;
}

void tiny_set_target(coterie_tiny* device, const char* path, const uint8_t* digest) {
  tiny_out out = {(uint8_t*)device->target, sizeof device->target - 1, 0, 0};
  tiny_put_text(&out, path);
  if (digest != NULL) tiny_put_hex(&out, digest, 32);
  device->target[out.used] = 0;
}

/* ---- What is sent. */

static int sign_request(coterie_tiny* device, const tiny_request* request, uint64_t time_ms, const uint8_t* digest,
                        uint8_t signature[64]) {
  tiny_out text = {device->text, sizeof device->text, 0, 0};
  tiny_put_text(&text, "coterie-request-1\n");
  tiny_put_text(&text, request->method);
  tiny_put_text(&text, "\n");
  tiny_put_text(&text, device->target);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, request->body_bytes);
  tiny_put_text(&text, "\n");
  if (digest != NULL) tiny_put_hex(&text, digest, 32);
  else tiny_put_text(&text, "-");
  tiny_put_text(&text, "\n");
  tiny_put_hex(&text, device->memory.device, 16);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, time_ms);
  tiny_put_text(&text, "\n");
  tiny_put_hex(&text, device->nonce, 16);
  return text.is_full ? -1 : device->board->sign(device->board->context, device->text, text.used, signature);
}

/* Into device->head; 0: the board does not sign, or a name of the app's is too long. */
static int write_head(coterie_tiny* device, const tiny_request* request, uint64_t time_ms) {
  uint8_t signature[64], digest[32];
  tiny_out head = {device->head, sizeof device->head, 0, 0};
  if (device->board->random(device->board->context, device->nonce, 16) != 0) return 0;
  if (request->has_digest) {
    tiny_digest content;
    tiny_digest_begin(&content, device);
    if (!tiny_digest_add(&content, device->body, device->body_bytes)) return 0;
    tiny_digest_end(&content, digest);
  }
  tiny_put_text(&head, request->method);
  tiny_put_text(&head, " ");
  tiny_put_text(&head, device->target);
  tiny_put_text(&head, " HTTP/1.1\r\nHost: ");
  tiny_put_text(&head, device->options.host);
  if (request->body_bytes > 0) {
    tiny_put_text(&head, "\r\nContent-Type: ");
    tiny_put_text(&head, kFrameType);
    tiny_put_text(&head, "\r\nContent-Length: ");
    tiny_put_decimal(&head, request->body_bytes);
  }
  if (request->is_signed) {
    if (sign_request(device, request, time_ms, request->has_digest ? digest : NULL, signature) != 0) return 0;
    tiny_put_text(&head, "\r\nCoterie-Device: ");
    tiny_put_hex(&head, device->memory.device, 16);
    tiny_put_text(&head, "\r\nCoterie-Time: ");
    tiny_put_decimal(&head, time_ms);
    tiny_put_text(&head, "\r\nCoterie-Nonce: ");
    tiny_put_hex(&head, device->nonce, 16);
    tiny_put_text(&head, "\r\nCoterie-Signature: ");
    tiny_put_base64url(&head, signature, 64);
    if (request->has_digest) {
      tiny_put_text(&head, "\r\nCoterie-Digest: ");
      tiny_put_hex(&head, digest, 32);
    }
  }
  tiny_put_text(&head, "\r\n\r\n");
  device->head_bytes = head.used;
  return !head.is_full;
}

/* ---- What comes. */

typedef struct {
  const uint8_t* bytes;
  uint32_t count;
} view;

static int is_name(view name, const char* expected) {
  if (name.count != tiny_length(expected)) return 0;
  for (uint32_t i = 0; i < name.count; ++i) {
    const uint8_t c = name.bytes[i];
    if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != (uint8_t)expected[i]) return 0;
  }
  return 1;
}

/* 0: what must be understood is not. */
static int take_field(view name, view value, tiny_response* response) {
  uint64_t number = 0;
  if (is_name(name, "content-length")) {
    if (response->has_length || !tiny_decimal(value.bytes, value.count, &response->left)) return 0;
    response->has_length = 1;
  } else if (is_name(name, "transfer-encoding") || is_name(name, "content-encoding")) {
    return 0;
  } else if (is_name(name, "connection")) {
    if (is_name(value, "close")) response->closes = 1;
  } else if (is_name(name, "coterie-time")) {
    if (tiny_decimal(value.bytes, value.count, &response->time_ms)) response->has_time |= 1;
  } else if (is_name(name, "coterie-keys")) {
    response->keys = value.bytes;
    response->keys_bytes = value.count;
  } else if (is_name(name, "coterie-signature")) {
    if (tiny_base64url(value.bytes, value.count, response->signature, 64)) response->has_time |= 2;
  } else if (is_name(name, "retry-after")) {
    response->has_retry = tiny_decimal(value.bytes, value.count, &response->retry_s);
  } else if (is_name(name, "coterie-model")) {
    if (tiny_hex(value.bytes, value.count, response->model, 32)) response->has_model |= 1;
  } else if (is_name(name, "coterie-model-bytes")) {
    if (tiny_decimal(value.bytes, value.count, &number)) response->has_model |= 2;
    response->model_bytes = number;
  } else if (is_name(name, "coterie-model-version")) {
    if (tiny_decimal(value.bytes, value.count, &number)) response->has_model |= 4;
    response->model_version = number;
  }
  return 1;
}

static int take_line(view line, tiny_response* response) {
  view name = {NULL, 0}, value = {NULL, 0};
  uint32_t at = 0;
  while (at < line.count && line.bytes[at] != ':') ++at;
  if (at == 0 || at == line.count) return 0;
  name.bytes = line.bytes;
  name.count = at++;
  while (at < line.count && (line.bytes[at] == ' ' || line.bytes[at] == '\t')) ++at;
  value.bytes = line.bytes + at;
  value.count = line.count - at;
  while (value.count > 0 && (value.bytes[value.count - 1] == ' ' || value.bytes[value.count - 1] == '\t'))
    --value.count;
  return take_field(name, value, response);
}

/* The head is device->head's first `bytes`, which end with an empty line. */
static int take_head(coterie_tiny* device, uint32_t bytes, tiny_response* response) {
  const uint8_t* const head = device->head;
  uint64_t status = 0;
  uint32_t begin = 0;
  memset(response, 0, sizeof *response);
  if (bytes < 15 || memcmp(head, "HTTP/1.", 7) != 0 || head[8] != ' ' || !tiny_decimal(head + 9, 3, &status)) return 0;
  response->status = (uint32_t)status;
  if (head[7] != '1') response->closes = 1;
  while (begin < bytes && head[begin] != '\n') ++begin;
  for (++begin; begin + 2 < bytes;) {
    view line = {NULL, 0};
    uint32_t end = begin;
    while (end < bytes && head[end] != '\n') ++end;
    line.bytes = head + begin;
    line.count = end - begin;
    if (line.count > 0 && line.bytes[line.count - 1] == '\r') --line.count;
    if (line.count == 0 || !take_line(line, response)) return 0;
    begin = end + 1;
  }
  if (status < 200 || status == 204 || status == 304) {
    response->left = 0;
    return 1;
  }
  return response->has_length;
}

typedef enum { HEAD_READ, HEAD_NONE, HEAD_BROKEN, HEAD_BAD } head_end;

static head_end read_head(coterie_tiny* device, tiny_response* response) {
  uint32_t end = 0, interim = 0; /* how far no head ends; heads that come before the answer's */
  device->head_bytes = device->head_used = 0;
  for (;;) {
    long got;
    for (; end + 4 <= device->head_bytes; ++end) {
      if (memcmp(device->head + end, "\r\n\r\n", 4) != 0) continue;
      if (!take_head(device, end + 4, response)) return HEAD_BAD;
      if (response->status >= 200) {
        device->head_used = end + 4;
        device->is_clean = response->left == 0 && !response->closes;
        return HEAD_READ;
      }
      if (++interim > 4) return HEAD_BAD;
      device->head_bytes -= end + 4; /* 100 Continue: another head follows */
      memmove(device->head, device->head + end + 4, device->head_bytes);
      end = (uint32_t)-1; /* 0 after the loop's step */
    }
    if (device->head_bytes == sizeof device->head) return HEAD_BAD;
    got = device->board->receive(device->board->context, device->head + device->head_bytes,
                                 sizeof device->head - device->head_bytes);
    if (got <= 0) return device->head_bytes == 0 ? HEAD_NONE : HEAD_BROKEN;
    if ((unsigned long)got > sizeof device->head - device->head_bytes) return HEAD_BAD;
    device->head_bytes += (uint32_t)got;
  }
}

long tiny_read_body(coterie_tiny* device, tiny_response* response, uint8_t* to, uint32_t count_max) {
  long got;
  const uint32_t here = device->head_bytes - device->head_used;
  if (response->left < count_max) count_max = (uint32_t)response->left;
  if (count_max == 0) return 0;
  if (here > 0) { /* what came with the head */
    got = (long)(here < count_max ? here : count_max);
    memcpy(to, device->head + device->head_used, (size_t)got);
    device->head_used += (uint32_t)got;
  } else {
    got = device->board->receive(device->board->context, to, count_max);
  }
  if (got <= 0 || (unsigned long)got > count_max) {
    tiny_hang_up(device);
    return -1;
  }
  response->left -= (uint64_t)got;
  if (response->left == 0) device->is_clean = !response->closes;
  return got;
}

int tiny_read_message(coterie_tiny* device, tiny_response* response) {
  device->message_bytes = 0;
  if (response->left > sizeof device->message) {
    tiny_hang_up(device);
    return 0;
  }
  while (response->left > 0) {
    const long got = tiny_read_body(device, response, device->message + device->message_bytes,
                                    (uint32_t)sizeof device->message - device->message_bytes);
    if (got < 0) return 0;
    device->message_bytes += (uint32_t)got;
  }
  return 1;
}

coterie_tiny_code tiny_unread(coterie_tiny* device, const tiny_response* response) {
  if (response->left > sizeof device->message) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the answer is longer than COTERIE_TINY_MESSAGE_BYTES");
  }
  return tiny_end(device, COTERIE_TINY_UNAVAILABLE, "the answer broke off");
}

/* ---- Both. */

/* The server's time, if it is said in answer to this request and the server's key has signed it. */
static int learn_time(coterie_tiny* device, const tiny_response* response) {
  tiny_out text = {device->text, sizeof device->text, 0, 0};
  if (response->has_time != 3 || response->time_ms > UINT64_C(253402300799999)) return 0; /* the year 9999 */
  tiny_put_text(&text, "coterie-time-1\n");
  tiny_put_hex(&text, device->nonce, 16);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, response->time_ms);
  if (!tiny_is_signed(device, text.used, response->signature)) return 0;
  device->ahead_ms = response->time_ms - device->board->now_ms(device->board->context);
  /* For good: after a restart there is no time by which they would be too old. */
  tiny_drop_keys(&device->memory, response->time_ms);
  return 1;
}

static int send_request(coterie_tiny* device, const tiny_request* request) {
  const coterie_tiny_board* const board = device->board;
  device->is_clean = 0;
  if (board->send(board->context, device->head, device->head_bytes) != 0) return -1;
  if (request->body_bytes > 0 && board->send(board->context, device->body, device->body_bytes) != 0) return -1;
  return request->write == NULL ? 0 : request->write(device);
}

coterie_tiny_code tiny_call(coterie_tiny* device, const tiny_request* request, tiny_response* response) {
  int has_learned = 0, has_reopened = 0;
  for (;;) {
    const int is_reused = device->is_open && device->is_clean;
    uint64_t time_ms;
    head_end end;
    if (!is_reused) {
      tiny_hang_up(device);
      if (device->board->open(device->board->context) != 0) {
        return tiny_end(device, COTERIE_TINY_UNAVAILABLE, "the connection does not open");
      }
      device->is_open = 1;
    }
    time_ms = tiny_server_now(device);
    /* A server takes a device's check-ins in the order in which they were signed. */
    if (request->is_check_in && time_ms <= device->checked_in_ms) time_ms = device->checked_in_ms + 1;
    if (!write_head(device, request, time_ms)) {
      return tiny_end(device, COTERIE_TINY_FAILED, "the board did not sign a request, or a name is too long");
    }
    /* A server that refuses while it is sent to has said so before it closes. */
    (void)send_request(device, request);
    end = read_head(device, response);
    if (end == HEAD_NONE && is_reused && !has_reopened) {
      has_reopened = 1;
      continue;
    }
    if (end != HEAD_READ) {
      tiny_hang_up(device);
      return end == HEAD_BAD ? tiny_end(device, COTERIE_TINY_MALFORMED, "the answer's head is not understood")
                             : tiny_end(device, COTERIE_TINY_UNAVAILABLE, "the connection broke");
    }
    if (request->is_check_in && response->status == 200) device->checked_in_ms = time_ms;
    {
      int learns;
      /* First: perhaps the time is signed by a new one. */
      if (request->is_signed) tiny_follow_keys(device, response->keys, response->keys_bytes);
      learns = learn_time(device, response);
      if (response->status >= 200 && response->status < 300) return COTERIE_TINY_OK;
      if (!tiny_read_message(device, response)) device->message_bytes = 0;
      if (!learns || has_learned) return tiny_refusal(device, response);
      has_learned = 1;
      device->checked_in_ms = 0; /* of a clock that was wrong, perhaps */
    }
  }
}

coterie_tiny_code tiny_exchange(coterie_tiny* device, const tiny_request* request, uint32_t kind, const char* why_not,
                                tiny_reader* reader) {
  tiny_response response;
  const coterie_tiny_code code = tiny_call(device, request, &response);
  if (code != COTERIE_TINY_OK) return code;
  if (!tiny_read_message(device, &response)) return tiny_unread(device, &response);
  if (tiny_open_frame(device->message, device->message_bytes, kind, reader)) return COTERIE_TINY_OK;
  return tiny_end(device, COTERIE_TINY_MALFORMED, why_not);
}
