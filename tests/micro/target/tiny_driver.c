/* A round of coterie_tiny on a board whose server is an array: answers.h, in front (-include), has the five whole
 * answers of a round, and examples.h. It prints how the round ended and a hash of all that was sent: the same lines
 * wherever it runs, as the board's random bytes are a counter, and its crypto says yes. */
#include "tests/micro/target/board.h"

static coterie_tiny device;
static int next = -1;
static size_t at;
static uint32_t sent = 2166136261u; /* FNV-1a */
static uint8_t counter;

static int open_it(void* context) {
  (void)context;
  return 0;
}
static void close_it(void* context) { (void)context; }
static int send_it(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  if (count > 4 && (bytes[0] == 'G' || bytes[0] == 'P') && bytes[2] != 0 && bytes[count - 1] == '\n') {
    ++next; /* a head */
    at = 0;
  }
  for (size_t i = 0; i < count; ++i) sent = (sent ^ bytes[i]) * 16777619u;
  return 0;
}
static long receive_it(void* context, uint8_t* bytes, size_t count_max) {
  size_t part;
  (void)context;
  if (next < 0 || next >= 5) return 0;
  part = answer_sizes[next] - at;
  if (part > 61) part = 61;
  if (part > count_max) part = count_max;
  for (size_t i = 0; i < part; ++i) bytes[i] = answers[next][at++];
  return (long)part;
}
static uint64_t now_ms(void* context) {
  (void)context;
  return 1000;
}
static int random_bytes(void* context, uint8_t* bytes, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) bytes[i] = counter++;
  return 0;
}
static void hash_begin(void* context) { (void)context; }
static void hash_add(void* context, const uint8_t* bytes, size_t count) {
  (void)context;
  (void)bytes;
  (void)count;
}
static void hash_end(void* context, uint8_t digest[32]) {
  (void)context;
  for (int i = 0; i < 32; ++i) digest[i] = 0;
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
  return 0;
}
static int give_example(void* context, uint32_t index, const float** input, uint32_t* label) {
  (void)context;
  *input = case_inputs[index];
  *label = (uint32_t)case_labels[index];
  return 0;
}

static const coterie_tiny_board board = {NULL,         open_it,    close_it, send_it,  receive_it, now_ms,
                                         random_bytes, hash_begin, hash_add, hash_end, sign_it,    verify_it};

static void put_word(const char* what, uint32_t word) {
  char digits[10];
  for (int i = 0; i < 8; ++i) digits[i] = "0123456789abcdef"[(word >> (28 - 4 * i)) & 15u];
  digits[8] = '\n';
  digits[9] = '\0';
  board_put(what);
  board_put(digits);
}

void run_case(void) {
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
  put_word("code ", (uint32_t)coterie_tiny_take_part(&device));
  put_word("sent ", sent);
}
