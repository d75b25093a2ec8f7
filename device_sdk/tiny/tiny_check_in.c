/* Enrollment, and the check-in that gives an assignment. */

#include "device_sdk/tiny/tiny_parts.h"

static const char kVersion[] = "coterie-tiny/1";

static int write_enroll_request(coterie_tiny* device, const char* token, const uint8_t public_key[32]) {
  uint8_t proof[64];
  tiny_out out = {device->text, sizeof device->text, 0, 0};
  tiny_field fields[] = {{0, TINY_TEXT, 0, NULL, 0},
                         {1, TINY_U8, 1, NULL, 0}, /* Ed25519 */
                         {2, TINY_BYTES, 0, NULL, 32},
                         {3, TINY_BYTES, 0, NULL, 64},
                         {4, TINY_TEXT, 0, kVersion, sizeof kVersion - 1}};
  uint32_t table;
  tiny_put_text(&out, "coterie-enroll-1\n");
  tiny_put_text(&out, token);
  tiny_put_text(&out, "\n");
  tiny_put_hex(&out, public_key, 32);
  if (out.is_full || device->board->sign(device->board->context, device->text, out.used, proof) != 0) return 0;
  fields[0].bytes = token;
  fields[0].count = tiny_length(token);
  fields[2].bytes = public_key;
  fields[3].bytes = proof;
  tiny_begin_frame(&out, device->body, sizeof device->body);
  table = tiny_put_table(&out, TINY_PRELUDE_BYTES, fields, 5, NULL);
  if (!tiny_end_frame(&out, TINY_ENROLL_REQUEST, table, 0)) return 0;
  device->body_bytes = out.used;
  return 1;
}

/* Keys that other servers of a fleet sign with while one follows the other; the oldest first. With NULL nothing is
 * kept, and the reader says whether they are understood. */
static void read_retiring_keys(const tiny_table* table, coterie_tiny_memory* memory) {
  tiny_table retiring;
  for (uint32_t i = 0; i < 8 && tiny_element(table, 3, i, &retiring); ++i) {
    uint32_t bytes;
    const uint8_t* const key = tiny_bytes(&retiring, 0, 0, &bytes);
    const uint64_t until_ms = tiny_number(&retiring, 1, 8, 0);
    if (memory != NULL && bytes == 32 && until_ms < (uint64_t)1 << 62) tiny_retire_key(memory, key, until_ms);
  }
}

coterie_tiny_code coterie_tiny_enroll(coterie_tiny* device, const char* token, const uint8_t public_key[32]) {
  tiny_request request = {"POST", 0, 0, 0, 0, NULL};
  tiny_reader reader;
  tiny_table table;
  coterie_tiny_memory* const memory = &device->memory;
  const uint8_t *id, *population, *key;
  char name[sizeof memory->population];
  uint32_t population_bytes, key_bytes;
  coterie_tiny_code code;
  if (!write_enroll_request(device, token, public_key)) {
    return tiny_end(device, COTERIE_TINY_FAILED, "the board did not sign, or the token is too long");
  }
  tiny_set_target(device, "/v1/enrollments", NULL);
  request.body_bytes = device->body_bytes;
  code = tiny_exchange(device, &request, TINY_ENROLL_REPLY, "the answer is no enrollment", &reader);
  if (code != COTERIE_TINY_OK) return code;
  table = tiny_root(&reader);
  id = tiny_struct(&table, 0, 16);
  population = tiny_bytes(&table, 1, 1, &population_bytes);
  key = tiny_bytes(&table, 2, 0, &key_bytes);
  if (reader.is_bad || key_bytes != 32 || population_bytes > 64 ||
      !tiny_copy_text(name, sizeof name, population, population_bytes)) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the enrollment is not understood");
  }
  read_retiring_keys(&table, NULL);
  if (reader.is_bad) return tiny_end(device, COTERIE_TINY_MALFORMED, "the enrollment's keys are not understood");
  /* What the device remembers has stayed as it was until all is understood. */
  memset(memory->retiring, 0, sizeof memory->retiring);
  read_retiring_keys(&table, memory);
  memcpy(memory->population, name, population_bytes + 1);
  memcpy(memory->device, id, 16);
  memcpy(memory->server_key, key, 32);
  memory->is_enrolled = 1;
  return tiny_end(device, COTERIE_TINY_OK, "");
}

/* Why this device took no part last time, as the server's operator may see it. */
static const char kRefusal[] = "security_level";

static int write_check_in(coterie_tiny* device) {
  tiny_out out = {NULL, 0, 0, 0};
  tiny_field fields[] = {{0, TINY_TEXT, 0, NULL, 0},
                         {1, TINY_TEXT, 0, kVersion, sizeof kVersion - 1},
                         {2, TINY_U32, 0, NULL, 0},
                         {3, TINY_TABLE, 0, NULL, 0}}; /* features, 5: none */
  const tiny_field refusal[] = {{0, TINY_U64, device->round, NULL, 0},
                                {1, TINY_U32, device->attempt, NULL, 0},
                                {2, TINY_TEXT, 0, kRefusal, sizeof kRefusal - 1}};
  uint32_t table, pending = 0;
  fields[0].bytes = device->memory.population;
  fields[0].count = tiny_length(device->memory.population);
  fields[2].number = device->options.wait_ms;
  tiny_begin_frame(&out, device->body, sizeof device->body);
  table = tiny_put_table(&out, TINY_PRELUDE_BYTES, fields, device->refused ? 4 : 3, &pending);
  if (device->refused) {
    tiny_patch_offset(&out, pending, tiny_put_table(&out, TINY_PRELUDE_BYTES, refusal, 3, NULL));
  }
  if (!tiny_end_frame(&out, TINY_CHECKIN_REQUEST, table, 0)) return 0;
  device->body_bytes = out.used;
  return 1;
}

static coterie_tiny_code follow_window(coterie_tiny* device, const tiny_reader* from) {
  tiny_reader reader = *from;
  const tiny_table table = tiny_root(&reader);
  const uint64_t min_ms = tiny_number(&table, 0, 4, 0), max_ms = tiny_number(&table, 1, 4, 0);
  if (reader.is_bad) return tiny_end(device, COTERIE_TINY_MALFORMED, "the retry window is not understood");
  device->failures = 0;
  (void)tiny_end(device, COTERIE_TINY_NOT_NOW, "the server has no work for this device now");
  tiny_wait_between(device, min_ms, max_ms);
  return COTERIE_TINY_NOT_NOW;
}

typedef struct {
  const uint8_t *job, *plan, *model, *ticket, *signature;
  uint32_t job_bytes, ticket_bytes, signature_bytes, attempt, plan_bytes;
  uint64_t round, model_version, model_bytes, not_after_ms;
} assignment;

static int read_assignment(tiny_reader* reader, assignment* to) {
  const tiny_table table = tiny_root(reader);
  to->job = tiny_bytes(&table, 0, 1, &to->job_bytes);
  to->round = tiny_number(&table, 1, 8, 0);
  to->attempt = (uint32_t)tiny_number(&table, 2, 4, 0);
  to->model_version = tiny_number(&table, 3, 8, 0);
  to->plan = tiny_struct(&table, 4, 32);
  to->model = tiny_struct(&table, 5, 32);
  to->plan_bytes = (uint32_t)tiny_number(&table, 6, 4, 0);
  to->model_bytes = tiny_number(&table, 7, 8, 0);
  to->not_after_ms = tiny_number(&table, 8, 8, 0);
  to->ticket = tiny_bytes(&table, 9, 0, &to->ticket_bytes);
  to->signature = tiny_bytes(&table, 10, 0, &to->signature_bytes);
  return !reader->is_bad && to->job_bytes > 0 && to->job_bytes <= 64 && to->ticket_bytes > 0 &&
         to->ticket_bytes <= 256 && to->signature_bytes == 64 && to->not_after_ms <= UINT64_C(253402300799999);
}

static int is_signed(coterie_tiny* device, const assignment* from) {
  tiny_out text = {device->text, sizeof device->text, 0, 0};
  tiny_put_text(&text, "coterie-manifest-1\n");
  tiny_put(&text, from->job, from->job_bytes);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->round);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->attempt);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->model_version);
  tiny_put_text(&text, "\n");
  tiny_put_hex(&text, from->plan, 32);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->plan_bytes);
  tiny_put_text(&text, "\n");
  tiny_put_hex(&text, from->model, 32);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->model_bytes);
  tiny_put_text(&text, "\n");
  tiny_put_decimal(&text, from->not_after_ms);
  return !text.is_full && tiny_is_signed(device, text.used, from->signature);
}

/* 0: a version before one that was seen of the job. */
static int note_version(coterie_tiny* device, uint64_t version) {
  coterie_tiny_memory* const memory = &device->memory;
  for (uint32_t i = 0; i < COTERIE_TINY_JOBS; ++i) {
    if (!tiny_is_same_text(memory->jobs[i].name, device->job)) continue;
    if (version < memory->jobs[i].model_version) return 0;
    memory->jobs[i].model_version = version;
    return 1;
  }
  memory->next_job %= COTERIE_TINY_JOBS;
  memcpy(memory->jobs[memory->next_job].name, device->job, sizeof device->job);
  memory->jobs[memory->next_job].model_version = version;
  memory->next_job = (memory->next_job + 1) % COTERIE_TINY_JOBS;
  return 1;
}

static coterie_tiny_code take(coterie_tiny* device, const assignment* from) {
  if (!is_signed(device, from)) {
    return tiny_end(device, COTERIE_TINY_UNTRUSTED, "the assignment is not signed by the server's key");
  }
  memset(device->job, 0, sizeof device->job);
  if (!tiny_copy_text(device->job, sizeof device->job, from->job, from->job_bytes)) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the assignment's job has no name");
  }
  device->round = from->round;
  device->attempt = from->attempt;
  device->model_version = from->model_version;
  device->not_after_ms = from->not_after_ms;
  device->plan_bytes = from->plan_bytes;
  device->ticket_bytes = from->ticket_bytes;
  memcpy(device->plan, from->plan, 32);
  memcpy(device->model_digest, from->model, 32);
  memcpy(device->ticket, from->ticket, from->ticket_bytes);
  if (!note_version(device, from->model_version)) {
    return tiny_end(device, COTERIE_TINY_UNTRUSTED, "the model's version is before one that was seen of this job");
  }
  if (from->plan_bytes > sizeof device->message) {
    return tiny_end(device, COTERIE_TINY_REFUSED, "the plan is longer than COTERIE_TINY_MESSAGE_BYTES");
  }
  if (from->model_bytes != tiny_model_bytes(device->model)) {
    return tiny_end(device, COTERIE_TINY_REFUSED, "the model is not as large as the one that was compiled in");
  }
  return COTERIE_TINY_OK;
}

coterie_tiny_code tiny_check_in(coterie_tiny* device) {
  tiny_request request = {"POST", 1, 1, 1, 0, NULL};
  tiny_response response;
  tiny_reader reader;
  assignment assigned;
  coterie_tiny_code code;
  if (!write_check_in(device)) return tiny_end(device, COTERIE_TINY_FAILED, "the memory's population is too long");
  tiny_set_target(device, "/v1/checkins", NULL);
  request.body_bytes = device->body_bytes;
  code = tiny_call(device, &request, &response);
  if (code != COTERIE_TINY_OK) return code;
  device->refused = 0;
  if (!tiny_read_message(device, &response)) return tiny_unread(device, &response);
  if (tiny_open_frame(device->message, device->message_bytes, TINY_RETRY_WINDOW, &reader)) {
    return follow_window(device, &reader);
  }
  if (!tiny_open_frame(device->message, device->message_bytes, TINY_ASSIGNMENT, &reader) ||
      !read_assignment(&reader, &assigned)) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the answer to a check-in is no assignment");
  }
  return take(device, &assigned);
}
