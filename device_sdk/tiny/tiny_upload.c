/* The update on its way, and its receipt. */

#include "device_sdk/tiny/tiny_parts.h"

/* A float as the bits of the same double. */
static uint64_t double_bits(float value) {
  const uint32_t bits = tiny_float_bits(value);
  const uint64_t sign = (uint64_t)(bits >> 31) << 63;
  if ((bits & 0x7f800000u) == 0) return sign; /* what is below 2^-126 is none of a loss's business */
  return sign | ((uint64_t)(bits >> 23 & 0xff) + 896) << 52 | (uint64_t)(bits & 0x7fffff) << 29;
}

static int write_update_head(coterie_tiny* device) {
  const uint32_t values = device->value_count;
  const tiny_field fields[] = {{0, TINY_U64, device->round, NULL, 0},
                               {1, TINY_U32, device->attempt, NULL, 0},
                               {2, TINY_STRUCT, 0, device->model_digest, 32},
                               {3, TINY_U8, device->encoding, NULL, 0},
                               {4, TINY_U64, values, NULL, 0},
                               {5, TINY_U32, device->weight, NULL, 0},
                               {6, TINY_U32, device->examples, NULL, 0},
                               {7, TINY_U64, double_bits(device->loss_sum), NULL, 0},
                               {8, TINY_U32, device->right, NULL, 0},
                               {9, TINY_U32, device->train_ms, NULL, 0}};
  tiny_out out = {NULL, 0, 0, 0};
  uint32_t table;
  tiny_begin_frame(&out, device->body, sizeof device->body);
  table = tiny_put_table(&out, TINY_PRELUDE_BYTES, fields, 10, NULL);
  if (!tiny_end_frame(&out, TINY_UPDATE, table, 4 * (uint64_t)values)) return 0;
  device->body_bytes = out.used;
  return 1;
}

/* Where nothing is trained, and between parameters, there are zeros, or nothing where the plan asks for the trained
 * values alone. */
static int write_values(coterie_tiny* device) {
  const coterie_tiny_model* const model = device->model;
  const int has_all = device->value_count == model->payload_values;
  uint32_t span = 0;
  tiny_out piece = {device->message, sizeof device->message, 0, 0};
  for (uint32_t i = 0; i < model->payload_values; ++i) {
    float value = 0.0f;
    int is_trained;
    while (span < model->span_count && i >= model->spans[span].first + model->spans[span].count) ++span;
    is_trained = span < model->span_count && i >= model->spans[span].first && model->spans[span].fixed == NULL;
    if (is_trained) value = model->gradients[model->spans[span].place + (i - model->spans[span].first)];
    if (is_trained || has_all) tiny_put_little(&piece, tiny_float_bits(value), 4);
    if (piece.size - piece.used >= 4) continue;
    if (device->board->send(device->board->context, piece.bytes, piece.used) != 0) return -1;
    piece.used = 0;
  }
  return piece.used == 0 ? 0 : device->board->send(device->board->context, piece.bytes, piece.used);
}

static void set_update_target(coterie_tiny* device) {
  tiny_out target = {(uint8_t*)device->target, sizeof device->target - 1, 0, 0};
  tiny_put_text(&target, "/v1/rounds/");
  tiny_put_decimal(&target, device->round);
  tiny_put_text(&target, "/updates/");
  tiny_put_base64url(&target, device->ticket, device->ticket_bytes);
  device->target[target.used] = 0;
}

coterie_tiny_code tiny_upload(coterie_tiny* device) {
  tiny_request request = {"PUT", 1, 0, 0, 0, write_values};
  tiny_reader reader;
  tiny_table table;
  uint32_t receipt_bytes;
  coterie_tiny_code code;
  if (!write_update_head(device)) return tiny_end(device, COTERIE_TINY_FAILED, "the update's head is too long");
  set_update_target(device);
  request.body_bytes = device->body_bytes + 4 * (uint64_t)device->value_count;
  code = tiny_exchange(device, &request, TINY_RECEIPT, "the answer to an update is no receipt", &reader);
  if (code != COTERIE_TINY_OK) return code;
  table = tiny_root(&reader);
  (void)tiny_bytes(&table, 2, 0, &receipt_bytes);
  if (tiny_number(&table, 0, 8, 0) != device->round || tiny_number(&table, 1, 4, 0) != device->attempt ||
      receipt_bytes == 0 || reader.is_bad) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the receipt is of another round");
  }
  return COTERIE_TINY_OK;
}
