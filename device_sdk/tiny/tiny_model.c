/* A model that comes in pieces of any size: its graph is the compiled one's, its parameters go where they belong, its
 * digest is the one that was named. */

#include "device_sdk/tiny/tiny_parts.h"

typedef struct {
  const coterie_tiny_model* model;
  float* into; /* `trained` of them */
  uint64_t at; /* of the frame */
  uint64_t hash;
  uint32_t span;
  uint8_t word[4];
  int is_other, is_damaged;
} intake;

static uint32_t payload_at(const coterie_tiny_model* model) {
  return tiny_padded(TINY_PRELUDE_BYTES + model->header_bytes);
}

uint64_t tiny_model_bytes(const coterie_tiny_model* model) {
  return payload_at(model) + 4 * (uint64_t)model->payload_values;
}

static void take_value(intake* in, uint32_t index, uint32_t bits) {
  const coterie_tiny_model* const model = in->model;
  const coterie_tiny_span* span;
  while (in->span < model->span_count && index >= model->spans[in->span].first + model->spans[in->span].count) {
    ++in->span;
  }
  span = in->span < model->span_count ? &model->spans[in->span] : NULL;
  if (span == NULL || index < span->first) { /* padding */
    if (bits != 0) in->is_damaged = 1;
  } else if (!tiny_is_finite(tiny_float(bits))) {
    in->is_damaged = 1;
  } else if (span->fixed != NULL) {
    if (bits != tiny_float_bits(span->fixed[index - span->first])) in->is_other = 1;
  } else {
    in->into[span->place + (index - span->first)] = tiny_float(bits);
  }
}

static void take_byte(intake* in, uint8_t byte) {
  const coterie_tiny_model* const model = in->model;
  const uint64_t at = in->at++;
  if (at < TINY_PRELUDE_BYTES) {
    static const uint8_t kBegin[8] = {'C', 'O', 'T', 'F', 1, 0, TINY_MODEL, 0};
    const uint64_t bytes = 4 * (uint64_t)model->payload_values;
    uint64_t expected = 0;
    if (at < 8) expected = kBegin[at];
    else if (at < 12) expected = model->header_bytes >> (8 * (at - 8)) & 0xff;
    else if (at >= 16) expected = bytes >> (8 * (at - 16)) & 0xff;
    if (byte != expected) in->is_other = 1;
  } else if (at < TINY_PRELUDE_BYTES + (uint64_t)model->header_bytes) {
    const uint64_t place = at - TINY_PRELUDE_BYTES;
    const int is_seal = model->seal_at != 0xffffffffu && place >= model->seal_at && place - model->seal_at < 32;
    in->hash = (in->hash ^ (is_seal ? 0 : byte)) * UINT64_C(1099511628211);
  } else if (at < payload_at(model)) {
    if (byte != 0) in->is_damaged = 1;
  } else {
    const uint64_t place = at - payload_at(model);
    in->word[place % 4] = byte;
    if (place % 4 == 3) take_value(in, (uint32_t)(place / 4), (uint32_t)tiny_little(in->word, 4));
  }
}

coterie_tiny_code tiny_fetch_model(coterie_tiny* device, uint64_t bytes, float* into) {
  const tiny_request request = {"GET", 1, 0, 0, 0, NULL};
  tiny_response response;
  tiny_digest content;
  uint8_t digest[32];
  intake in;
  coterie_tiny_code code;
  tiny_set_target(device, "/v1/models/", device->model_digest);
  code = tiny_call(device, &request, &response);
  if (code != COTERIE_TINY_OK) return code;
  if (response.left != bytes) {
    tiny_hang_up(device);
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the model is not as long as was said");
  }
  memset(&in, 0, sizeof in);
  in.model = device->model;
  in.into = into;
  in.hash = UINT64_C(14695981039346656037);
  tiny_digest_begin(&content, device);
  while (response.left > 0) {
    const long got = tiny_read_body(device, &response, device->message, sizeof device->message);
    if (got < 0) return tiny_end(device, COTERIE_TINY_UNAVAILABLE, "the model broke off");
    if (!tiny_digest_add(&content, device->message, (uint32_t)got)) {
      return tiny_end(device, COTERIE_TINY_REFUSED, "the model is too large");
    }
    for (long i = 0; i < got; ++i) take_byte(&in, device->message[i]);
  }
  tiny_digest_end(&content, digest);
  if (memcmp(digest, device->model_digest, 32) != 0) {
    return tiny_end(device, COTERIE_TINY_UNTRUSTED, "the model has another digest than was signed");
  }
  if (in.is_other || in.hash != device->model->header_hash) {
    return tiny_end(device, COTERIE_TINY_REFUSED, "the model is another one than that which was compiled in");
  }
  if (in.is_damaged) return tiny_end(device, COTERIE_TINY_MALFORMED, "the model has a value that is not finite");
  return COTERIE_TINY_OK;
}
