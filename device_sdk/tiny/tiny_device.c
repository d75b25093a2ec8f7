/* A round from the check-in to the receipt. Each phase can be begun again: after a lost connection the next call goes
 * on with the phase that it was lost in. */

#include "device_sdk/tiny/tiny_parts.h"

enum { IDLE, ASSIGNED, TRAINED, UPDATED };

static coterie_tiny_code fetch_plan(coterie_tiny* device) {
  const tiny_request request = {"GET", 1, 0, 0, 0, NULL};
  tiny_response response;
  tiny_digest content;
  uint8_t digest[32];
  coterie_tiny_code code;
  tiny_set_target(device, "/v1/plans/", device->plan);
  code = tiny_call(device, &request, &response);
  if (code != COTERIE_TINY_OK) return code;
  if (response.left != device->plan_bytes) {
    tiny_hang_up(device);
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the plan is not as long as was said");
  }
  if (!tiny_read_message(device, &response)) return tiny_unread(device, &response);
  tiny_digest_begin(&content, device);
  (void)tiny_digest_add(&content, device->message, device->message_bytes);
  tiny_digest_end(&content, digest);
  if (memcmp(digest, device->plan, 32) != 0) {
    return tiny_end(device, COTERIE_TINY_UNTRUSTED, "the plan has another digest than was signed");
  }
  return tiny_judge_plan(device);
}

static int is_late(const coterie_tiny* device) { return tiny_server_now(device) >= device->not_after_ms; }

coterie_tiny_code coterie_tiny_take_part(coterie_tiny* device) {
  const uint64_t bytes = tiny_model_bytes(device->model);
  coterie_tiny_code code;
  if (!device->memory.is_enrolled) return tiny_end(device, COTERIE_TINY_FAILED, "the device is not enrolled");
  if (device->phase != IDLE && is_late(device)) device->phase = IDLE;
  if (device->phase == IDLE) {
    code = tiny_check_in(device);
    if (code != COTERIE_TINY_OK) return code;
    device->phase = ASSIGNED;
  }
  if (device->phase == ASSIGNED) {
    code = fetch_plan(device);
    if (code == COTERIE_TINY_OK) code = tiny_fetch_model(device, bytes, device->model->parameters);
    if (code == COTERIE_TINY_OK) code = tiny_train(device);
    if (code != COTERIE_TINY_OK) return code;
    device->phase = TRAINED;
  }
  if (device->phase == TRAINED) {
    /* The given model once more, where gradients were: no memory is needed for it while there is training. */
    code = tiny_fetch_model(device, bytes, device->model->gradients);
    if (code == COTERIE_TINY_OK) code = tiny_make_update(device);
    if (code != COTERIE_TINY_OK) return code;
    device->phase = UPDATED;
  }
  code = tiny_upload(device);
  if (code != COTERIE_TINY_OK) return code;
  device->phase = IDLE;
  device->model->forget();
  return tiny_end(device, COTERIE_TINY_OK, "");
}

coterie_tiny_code coterie_tiny_fetch_release(coterie_tiny* device) {
  const tiny_request request = {"GET", 1, 0, 0, 0, NULL};
  tiny_response response;
  coterie_tiny_code code;
  if (!device->memory.is_enrolled) return tiny_end(device, COTERIE_TINY_FAILED, "the device is not enrolled");
  device->phase = IDLE;
  tiny_set_target(device, "/v1/release", NULL);
  code = tiny_call(device, &request, &response);
  if (code != COTERIE_TINY_OK) return code;
  if (response.left != 0) tiny_hang_up(device);
  if (response.has_model != 7) return tiny_end(device, COTERIE_TINY_MALFORMED, "the release names no model");
  if (response.model_bytes != tiny_model_bytes(device->model)) {
    return tiny_end(device, COTERIE_TINY_REFUSED, "the release is not as large as the model that was compiled in");
  }
  memcpy(device->model_digest, response.model, 32);
  code = tiny_fetch_model(device, response.model_bytes, device->model->parameters);
  if (code != COTERIE_TINY_OK) return code;
  device->model_version = response.model_version;
  return tiny_end(device, COTERIE_TINY_OK, "");
}
