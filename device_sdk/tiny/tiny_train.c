/* Training by the plan, and the update that it comes to. */

#include "device_sdk/tiny/tiny_parts.h"

static uint32_t common_divisor(uint32_t a, uint32_t b) {
  while (b != 0) {
    const uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* An order of all examples that takes no memory: from a random one on, by a random stride that meets each once. */
typedef struct {
  uint32_t at, stride, count;
} order;

static order draw_order(coterie_tiny* device, uint32_t count) {
  order drawn;
  drawn.count = count;
  drawn.at = tiny_random_below(device, count);
  drawn.stride = count > 1 ? 1 + tiny_random_below(device, count - 1) : 0;
  while (count > 1 && common_divisor(drawn.stride, count) != 1) drawn.stride = drawn.stride % (count - 1) + 1;
  return drawn;
}

static uint32_t next_of(order* from) {
  const uint32_t at = from->at;
  from->at = (uint32_t)(((uint64_t)at + from->stride) % from->count);
  return at;
}

coterie_tiny_code tiny_train(coterie_tiny* device) {
  const coterie_tiny_model* const model = device->model;
  const coterie_tiny_options* const options = &device->options;
  const uint64_t begin = device->board->now_ms(device->board->context);
  uint32_t left = 0; /* of the epoch */
  order examples = {0, 0, 1};
  model->forget();
  device->examples = 0;
  device->loss_sum = 0.0f;
  for (uint32_t step = 0; step < device->steps; ++step) {
    uint32_t batch;
    if (tiny_server_now(device) >= device->not_after_ms) {
      device->phase = 0;
      return tiny_end(device, COTERIE_TINY_NOT_NOW, "the round ended before this device was done");
    }
    if (left == 0) {
      examples = draw_order(device, options->example_count);
      left = options->example_count;
    }
    batch = device->batch_size < left ? device->batch_size : left;
    left -= batch;
    for (uint32_t i = 0; i < batch; ++i) {
      const float* input = NULL;
      uint32_t label = 0;
      float loss;
      if (options->example(options->example_context, next_of(&examples), &input, &label) != 0 || input == NULL) {
        return tiny_end(device, COTERIE_TINY_FAILED, "the app gave no example");
      }
      loss = model->accumulate(input, label);
      if (!tiny_is_finite(loss) || loss < 0.0f) {
        return tiny_end(device, COTERIE_TINY_FAILED, "an example has no such class, or the loss is not finite");
      }
      device->loss_sum += loss;
      ++device->examples;
    }
    model->apply(device->learning_rate);
  }
  device->right = model->right();
  device->train_ms = (uint32_t)(device->board->now_ms(device->board->context) - begin);
  return COTERIE_TINY_OK;
}

/* Newton's method from above: it falls until it stands. */
static float root_of(float square) {
  float root = square > 1.0f ? square : 1.0f;
  for (uint32_t i = 0; i < 160; ++i) {
    const float next = 0.5f * (root + square / root);
    if (!(next < root)) break;
    root = next;
  }
  return root;
}

/* In runs of 256, so that rounding stays far below the slack that a server gives (2^-10). */
static float norm_of(const float* values, uint32_t count) {
  float most = 0.0f, sum = 0.0f, run = 0.0f;
  for (uint32_t i = 0; i < count; ++i) {
    const float size = values[i] < 0.0f ? -values[i] : values[i];
    if (size > most) most = size;
  }
  if (most == 0.0f) return 0.0f;
  for (uint32_t i = 0; i < count; ++i) {
    const float part = values[i] / most; /* so that no square overflows */
    run += part * part;
    if (i % 256 != 255 && i + 1 < count) continue;
    sum += run;
    run = 0.0f;
  }
  return most * root_of(sum);
}

coterie_tiny_code tiny_make_update(coterie_tiny* device) {
  const coterie_tiny_model* const model = device->model;
  float* const update = model->gradients;
  float scale = 1.0f;
  for (uint32_t i = 0; i < model->trained; ++i) {
    update[i] = model->parameters[i] - update[i];
    if (!tiny_is_finite(update[i])) {
      return tiny_end(device, COTERIE_TINY_FAILED, "training left a value that is not finite");
    }
  }
  if (device->clip_l2 > 0.0f) {
    const float norm = norm_of(update, model->trained);
    if (norm > device->clip_l2) scale = device->clip_l2 / norm;
  }
  for (uint32_t i = 0; i < model->trained; ++i) {
    if (scale != 1.0f) update[i] *= scale;
    if (update[i] > device->value_abs_max) update[i] = device->value_abs_max;
    if (update[i] < -device->value_abs_max) update[i] = -device->value_abs_max;
  }
  return COTERIE_TINY_OK;
}
