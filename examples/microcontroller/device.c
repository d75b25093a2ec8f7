/* A device that trains with the C of `coterie model export --c --train --client`, and takes part in rounds:
 *
 *     device HOST PORT CA.pem STATE TOKEN ROUNDS
 *
 * CA.pem may be "-": the way to HOST is a gateway's, which speaks TLS to the server. STATE holds the device's key and
 * what it must remember; on a board it lies in flash. The model is MODEL, its examples are in examples.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "examples.h"

typedef struct {
  uint8_t secret[32];
  coterie_tiny_memory memory;
} kept;

static coterie_tiny device; /* all memory of the client */

static int give_example(void* context, uint32_t index, const float** input, uint32_t* label) {
  (void)context;
  *input = case_inputs[index];
  *label = (uint32_t)case_labels[index];
#ifdef SHOW_ORDER
  printf("example %u\n", (unsigned)index);
#endif
  return 0;
}

static void load(const char* path, kept* state) {
  FILE* const file = fopen(path, "rb");
  memset(state, 0, sizeof *state);
  if (file != NULL && fread(state, sizeof *state, 1, file) == 1) {
    fclose(file);
    return;
  }
  if (file != NULL) fclose(file);
  memset(state, 0, sizeof *state);
  host_random(state->secret, sizeof state->secret);
}

static void save(const char* path, kept* state) {
  FILE* const file = fopen(path, "wb");
  state->memory = device.memory;
  if (file == NULL || fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) != 0) {
    fprintf(stderr, "the state cannot be written\n");
    exit(1);
  }
}

static void show_parameters(void) {
  uint32_t hash = 2166136261u; /* FNV-1a of the bits */
  for (uint32_t i = 0; i < MODEL.trained; ++i) {
    uint32_t bits;
    memcpy(&bits, &MODEL.parameters[i], sizeof bits);
    for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ (bits >> shift & 255u)) * 16777619u;
  }
  printf("release: version %llu, parameters %08x\n", (unsigned long long)device.model_version, (unsigned)hash);
}

int main(int argc, char** argv) {
  kept state;
  uint8_t public_key[32];
  coterie_tiny_code code;
  if (argc != 7) {
    fprintf(stderr, "usage: device HOST PORT CA.pem STATE TOKEN ROUNDS\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  load(argv[4], &state);
  device.board = host_board(argv[1], argv[2], argv[3], state.secret);
  device.model = &MODEL;
  device.memory = state.memory;
  device.options.host = argv[1];
  device.options.takes_plain_updates = 1; /* the server may see what this device learns */
  device.options.wait_ms = 20000;
  device.options.steps_max = 100000;
  device.options.learning_rate_max = 1.0f;
  device.options.example_count = CASE_EXAMPLES;
  device.options.example = give_example;
  if (!device.memory.is_enrolled) {
    save(argv[4], &state); /* the key first: with it an answer that was lost is asked for again */
    host_public_key(public_key);
    code = coterie_tiny_enroll(&device, argv[5], public_key);
    if (code != COTERIE_TINY_OK) {
      fprintf(stderr, "not enrolled: %s\n", device.why);
      return 1;
    }
    save(argv[4], &state);
    printf("enrolled in population %s\n", device.memory.population);
  }
  for (int left = atoi(argv[6]); left > 0;) {
    code = coterie_tiny_take_part(&device);
    save(argv[4], &state);
    if (code == COTERIE_TINY_OK) {
      --left;
      printf("round %llu: version %llu, %u steps, %u of %u right, loss %.3f\n", (unsigned long long)device.round,
             (unsigned long long)device.model_version, (unsigned)device.steps, (unsigned)device.right,
             (unsigned)device.examples, (double)device.loss_sum / device.examples);
      continue;
    }
    if (code != COTERIE_TINY_NOT_NOW && code != COTERIE_TINY_UNAVAILABLE) {
      fprintf(stderr, "code %d: %s\n", (int)code, device.why);
      return 1;
    }
    host_sleep_ms(device.wait_ms);
  }
  code = coterie_tiny_fetch_release(&device);
  if (code == COTERIE_TINY_OK) show_parameters();
  else printf("no release: %s\n", device.why);
  return 0;
}
