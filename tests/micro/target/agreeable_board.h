/* A board for one coterie_tiny whose crypto says yes, and whose clock stands still. Who includes it has examples.h in
 * front (-include), and defines how bytes are sent and received, and which ones are random. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static coterie_tiny device;
static int has_doubts; /* no signature holds */

static int send_it(void* context, const uint8_t* bytes, size_t count);
static long receive_it(void* context, uint8_t* bytes, size_t count_max);
static int random_bytes(void* context, uint8_t* bytes, size_t count);

static int open_it(void* context) {
  (void)context;
  return 0;
}
static void close_it(void* context) { (void)context; }
static uint64_t now_ms(void* context) {
  (void)context;
  return 1000;
}
static void hash_begin(void* context) { (void)context; }
static void hash_add(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  (void)bytes;
  (void)count;
}
static void hash_end(void* context, uint8_t digest[32]) {
  (void)context;
  for (int i = 0; i < 32; ++i) digest[i] = 0; /* what the assignment names */
}
static int sign_it(void* context, const uint8_t* text, size_t bytes, uint8_t signature[64]) {
  (void)context;
  (void)text;
  for (int i = 0; i < 64; ++i) signature[i] = (uint8_t)(bytes & 255);
  return 0;
}
static int verify_it(void* context, const uint8_t key[32], const uint8_t* text, size_t bytes,
                     const uint8_t signature[64]) {
  (void)context;
  (void)key;
  (void)text;
  (void)bytes;
  (void)signature;
  return has_doubts ? -1 : 0;
}
static int give_example(void* context, uint32_t index, const float** input, uint32_t* label) {
  (void)context;
  *input = case_inputs[index];
  *label = (uint32_t)case_labels[index];
  return 0;
}

static const coterie_tiny_board board = {NULL,         open_it,    close_it, send_it,  receive_it, now_ms,
                                         random_bytes, hash_begin, hash_add, hash_end, sign_it,    verify_it};

/* The device is all zeros before. */
static void make_enrolled_device(void) {
  device.board = &board;
  device.model = &MODEL;
  device.options.host = "server";
  device.options.takes_plain_updates = 1;
  device.options.steps_max = 64;
  device.options.learning_rate_max = 1.0f;
  device.options.example_count = CASE_EXAMPLES;
  device.options.example = give_example;
  device.memory.is_enrolled = 1;
  device.memory.population[0] = 'p';
}
