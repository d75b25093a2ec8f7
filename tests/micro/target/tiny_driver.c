/* A round of coterie_tiny on a board whose server is an array: answers.h, in front (-include), has the five whole
 * answers of a round, and examples.h. It prints how the round ended and a hash of all that was sent: the same lines
 * wherever it runs, as the board's random bytes are a counter, and its crypto says yes. */
#include "tests/micro/target/agreeable_board.h"
#include "tests/micro/target/board.h"

static int next = -1;
static size_t at;
static uint32_t sent = 2166136261u; /* FNV-1a */
static uint8_t counter;

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
static int random_bytes(void* context, uint8_t* bytes, size_t count) {
  (void)context;
  for (size_t i = 0; i < count; ++i) bytes[i] = counter++;
  return 0;
}

static void put_word(const char* what, uint32_t word) {
  char digits[10];
  for (int i = 0; i < 8; ++i) digits[i] = "0123456789abcdef"[(word >> (28 - 4 * i)) & 15u];
  digits[8] = '\n';
  digits[9] = '\0';
  board_put(what);
  board_put(digits);
}

void run_case(void) {
  make_enrolled_device();
  put_word("code ", (uint32_t)coterie_tiny_take_part(&device));
  put_word("sent ", sent);
}
