/* A coterie_tiny whose server is five files, answer0 to answer4: check-in, plan, model, model, receipt, each a whole
 * answer of HTTP. Its crypto says yes to everything, so that what is wrong reaches whoever reads it.
 *
 *     hostile DIR once       one call: prints its code and its sentence
 *     hostile DIR doubt      the same, where no signature holds
 *     hostile DIR search N   each answer cut off at each byte, then N changes by chance: how often
 *                        each code came */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/micro/target/agreeable_board.h"

enum { ANSWERS = 5, ANSWER_BYTES_MAX = 1 << 16 };

static uint8_t answers[ANSWERS][ANSWER_BYTES_MAX], changed[ANSWER_BYTES_MAX];
static size_t sizes[ANSWERS];

/* What is served in this call: one answer may be another. */
static int next, other = -1;
static size_t other_size, at;
static uint64_t random_state = 88172645463325252u;

static uint32_t draw(void) { /* xorshift64 */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (uint32_t)(random_state >> 32);
}

static int send_it(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  if (count < 4 || (memcmp(bytes, "GET ", 4) != 0 && memcmp(bytes, "POST", 4) != 0 && memcmp(bytes, "PUT ", 4) != 0)) {
    return 0; /* a body */
  }
  ++next;
  at = 0;
  return 0;
}
static long receive_it(void* context, uint8_t* bytes, size_t count_max) {
  const int is_other = next == other;
  size_t left, part = 1 + draw() % 97;
  (void)context;
  if (next >= ANSWERS) return 0;
  left = (is_other ? other_size : sizes[next]) - at;
  if (part > left) part = left;
  if (part > count_max) part = count_max;
  memcpy(bytes, (is_other ? changed : answers[next]) + at, part);
  at += part;
  return (long)part;
}
static int random_bytes(void* context, uint8_t* bytes, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) bytes[i] = (uint8_t)(draw() & 255);
  return 0;
}

static coterie_tiny_code call(void) {
  memset(&device, 0, sizeof device);
  make_enrolled_device();
  device.options.wait_ms = 1000;
  next = -1;
  return coterie_tiny_take_part(&device);
}

static void read_answers(const char* folder) {
  char name[4096];
  for (int i = 0; i < ANSWERS; ++i) {
    FILE* file;
    snprintf(name, sizeof name, "%s/answer%d", folder, i);
    file = fopen(name, "rb");
    if (file == NULL) exit(2);
    sizes[i] = fread(answers[i], 1, sizeof answers[i], file);
    fclose(file);
  }
}

static void change_by_chance(void) {
  static const uint8_t kExtremes[][4] = {{255, 255, 255, 255}, {255, 255, 255, 127}, {0, 0, 0, 128},
                                         {0, 0, 0, 0},         {255, 255, 0, 0},     {4, 0, 0, 0}};
  memcpy(changed, answers[other], sizes[other]);
  other_size = sizes[other];
  for (uint32_t n = 1 + draw() % 4; n > 0; --n) {
    const size_t place = draw() % other_size;
    if (draw() % 2 == 0 && place + 4 <= other_size) memcpy(changed + place, kExtremes[draw() % 6], 4);
    else changed[place] = (uint8_t)(changed[place] ^ (1u << draw() % 8));
  }
}

int main(int argc, char** argv) {
  unsigned counts[8] = {0}, cut = 0, cut_ok = 0;
  if (argc < 3) return 2;
  read_answers(argv[1]);
  has_doubts = strcmp(argv[2], "doubt") == 0;
  if (has_doubts || strcmp(argv[2], "once") == 0) {
    const coterie_tiny_code code = call();
    printf("%d %s\n", (int)code, device.why);
    return 0;
  }
  if (call() != COTERIE_TINY_OK) return 3;
  for (other = 0; other < ANSWERS; ++other) {
    memcpy(changed, answers[other], sizes[other]);
    for (other_size = 0; other_size < sizes[other]; ++other_size, ++cut) cut_ok += call() == COTERIE_TINY_OK;
  }
  printf("cut %u ok %u\n", cut, cut_ok);
  for (int i = 0; i < atoi(argv[3]); ++i) {
    coterie_tiny_code code;
    other = (int)(draw() % ANSWERS);
    change_by_chance();
    code = call();
    if ((unsigned)code >= 8 || device.why == NULL) return 4;
    ++counts[code];
  }
  for (int i = 0; i < 8; ++i) printf("code %d %u\n", i, counts[i]);
  return 0;
}
