/* Runs a generated program on a few examples and prints the bits of all that it computes: the same lines wherever it
 * runs. The test has case.h in front (-include), which names the program and has the
 * examples. */
#include <stdint.h>

#include "tests/micro/target/board.h"

static void put_word(const char* what, uint32_t word) {
  char line[40];
  size_t n = 0;
  while (what[n] != '\0') {
    line[n] = what[n];
    ++n;
  }
  line[n++] = ' ';
  for (int shift = 28; shift >= 0; shift -= 4) line[n++] = "0123456789abcdef"[(word >> shift) & 15u];
  line[n++] = '\n';
  line[n] = '\0';
  board_put(line);
}

static uint32_t bits_of(float value) {
  union {
    float value;
    uint32_t bits;
  } as;
  as.value = value;
  return as.bits;
}

void run_case(void) {
  float output[CASE_OUTPUTS];
  uint32_t begin;
#ifdef CASE_STEPS
  const float* parameters = CASE_PARAMETERS_OF();
  uint32_t hash = 2166136261u; /* FNV-1a over the words of the parameters, least byte first */
  size_t next = 0;
  CASE_INIT();
#endif
  for (size_t e = 0; e < CASE_EXAMPLES; ++e) {
    begin = board_instructions();
    CASE_PREDICT(case_inputs[e], output);
    if (e == 0) put_word("predict_instructions", board_instructions() - begin);
    for (size_t o = 0; o < CASE_OUTPUTS; ++o) put_word("output", bits_of(output[o]));
  }
#ifdef CASE_STEPS
  for (size_t step = 0; step < CASE_STEPS; ++step) {
    for (size_t b = 0; b < CASE_BATCH; ++b) {
      float loss;
      begin = board_instructions();
      loss = CASE_ACCUMULATE(case_inputs[next], case_labels[next]);
      if (step == 0 && b == 0) put_word("accumulate_instructions", board_instructions() - begin);
      put_word("loss", bits_of(loss));
      next = (next + 1) % CASE_EXAMPLES;
    }
    CASE_APPLY(CASE_LEARNING_RATE);
  }
  for (size_t i = 0; i < CASE_PARAMETERS; ++i) {
    const uint32_t word = bits_of(parameters[i]);
    for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ ((word >> shift) & 255u)) * 16777619u;
  }
  put_word("parameters", hash);
  CASE_PREDICT(case_inputs[0], output);
  for (size_t o = 0; o < CASE_OUTPUTS; ++o) put_word("trained", bits_of(output[o]));
#endif
}
