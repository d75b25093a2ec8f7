/* What the files of the tiny client have in common. Not for its callers. */
#ifndef COTERIE_TINY_PARTS_H
#define COTERIE_TINY_PARTS_H

#include "device_sdk/tiny/coterie_tiny.h"

/* As C has them; said here because a compiler for boards may come without string.h. */
void* memcpy(void* to, const void* from, size_t bytes);
void* memmove(void* to, const void* from, size_t bytes);
void* memset(void* to, int byte, size_t bytes);
int memcmp(const void* a, const void* b, size_t bytes);

/* ---- Text and bytes that are put together (tiny_text.c). What does not fit sets `is_full`, and nothing is written. */
typedef struct {
  uint8_t* bytes;
  uint32_t size, used;
  int is_full;
} tiny_out;

uint32_t tiny_length(const char* text);
void tiny_put(tiny_out* out, const void* bytes, uint32_t count);
void tiny_put_text(tiny_out* out, const char* text);
void tiny_put_decimal(tiny_out* out, uint64_t number);
void tiny_put_hex(tiny_out* out, const uint8_t* bytes, uint32_t count);
void tiny_put_base64url(tiny_out* out, const uint8_t* bytes, uint32_t count);
void tiny_put_little(tiny_out* out, uint64_t number, uint32_t bytes);
void tiny_put_zeros(tiny_out* out, uint32_t count);

/* The text and a 0, into `size` bytes; 0: it is longer, or there is none. */
int tiny_copy_text(char* to, uint32_t size, const uint8_t* text, uint32_t bytes);
int tiny_is_same_text(const char* a, const char* b);
/* 0 if `text` is not exactly that. */
int tiny_decimal(const uint8_t* text, uint32_t bytes, uint64_t* number);
int tiny_hex(const uint8_t* text, uint32_t bytes, uint8_t* to, uint32_t count);
int tiny_base64url(const uint8_t* text, uint32_t bytes, uint8_t* to, uint32_t count);
uint64_t tiny_little(const uint8_t* bytes, uint32_t count);
float tiny_float(uint32_t bits);
uint32_t tiny_float_bits(float value);
int tiny_is_finite(float value);

/* ---- FlatBuffers (tiny_flat.c). A reader notes what is wrong, and answers as if the field was absent: look at is_bad
 * once, before anything is believed. */
typedef struct {
  const uint8_t* bytes;
  uint32_t size;
  int is_bad;
} tiny_reader;

typedef struct {
  tiny_reader* reader;
  uint32_t at, vtable, vtable_bytes, table_bytes;
} tiny_table;

tiny_table tiny_root(tiny_reader* reader);
int tiny_has(const tiny_table* table, uint32_t field);
uint64_t tiny_number(const tiny_table* table, uint32_t field, uint32_t bytes, uint64_t otherwise);
const uint8_t* tiny_struct(const tiny_table* table, uint32_t field, uint32_t bytes); /* required */
/* Bytes of a vector, or of a string (which 0 follows); NULL and 0 where it is absent. */
const uint8_t* tiny_bytes(const tiny_table* table, uint32_t field, int is_text, uint32_t* count);
tiny_table tiny_child(const tiny_table* table, uint32_t field); /* required */
/* Table `index` of a vector of tables; 0: it has no such one. */
int tiny_element(const tiny_table* table, uint32_t field, uint32_t index, tiny_table* element);

enum { TINY_U8 = 1, TINY_U32 = 4, TINY_U64 = 8, TINY_STRUCT = 16, TINY_BYTES, TINY_TEXT, TINY_TABLE };
typedef struct {
  uint32_t field, kind;
  uint64_t number;
  const void* bytes; /* of a struct, a vector, a text; a table is put behind by the caller */
  uint32_t count;
} tiny_field;

/* A table with these fields, each once, behind what is there; `origin` is where the FlatBuffer begins. Returns where
 * the table is, and in *pending where the offset of the one TINY_TABLE is to be written. */
uint32_t tiny_put_table(tiny_out* out, uint32_t origin, const tiny_field* fields, uint32_t count, uint32_t* pending);
void tiny_patch_offset(tiny_out* out, uint32_t at, uint32_t target);

/* ---- Frames (tiny_flat.c). */
enum {
  TINY_PRELUDE_BYTES = 24,
  TINY_ENROLL_REQUEST = 1,
  TINY_ENROLL_REPLY = 2,
  TINY_CHECKIN_REQUEST = 3,
  TINY_RETRY_WINDOW = 4,
  TINY_ASSIGNMENT = 5,
  TINY_PLAN = 6,
  TINY_UPDATE = 7,
  TINY_RECEIPT = 8,
  TINY_ERROR_REPLY = 9,
  TINY_MODEL = 100
};
uint32_t tiny_padded(uint32_t bytes); /* up to a multiple of 64 */
/* The kind, and the header's bytes; 0: it is none. The frame has `payload_bytes` and no byte more than said. */
uint32_t tiny_prelude(const uint8_t* bytes, uint32_t* header_bytes, uint64_t* payload_bytes);
/* A message without a payload: the reader of its header; 0 if it is not whole or of another kind. */
int tiny_open_frame(const uint8_t* bytes, uint32_t count, uint32_t kind, tiny_reader* reader);
/* Begins with room for the prelude and the root's offset, and ends with padding; 0 if it does not fit. */
void tiny_begin_frame(tiny_out* out, uint8_t* bytes, uint32_t size);
int tiny_end_frame(tiny_out* out, uint32_t kind, uint32_t table, uint64_t payload_bytes);

/* ---- Content digests, piece by piece (tiny_digest.c). */
typedef struct {
  coterie_tiny* device;
  uint64_t leaves;
  uint32_t in_leaf, height;
} tiny_digest;
void tiny_digest_begin(tiny_digest* digest, coterie_tiny* device);
int tiny_digest_add(tiny_digest* digest, const uint8_t* bytes, uint32_t count); /* 0: longer than 2^24 leaves */
void tiny_digest_end(tiny_digest* digest, uint8_t to[32]);

/* ---- Requests (tiny_http.c). */
typedef struct {
  const char* method;
  int is_signed, has_digest, is_check_in;
  uint64_t body_bytes;                /* the first of them are device->body */
  int (*write)(coterie_tiny* device); /* sends those behind; NULL: there are none. 0 went well */
} tiny_request;

typedef struct {
  uint32_t status;
  int closes, has_time, has_retry;
  uint64_t left; /* bytes of the body that were not read yet */
  uint64_t time_ms, retry_s, model_bytes, model_version;
  uint8_t signature[64], model[32];
  const uint8_t* keys; /* in device->head, until a body is read */
  uint32_t keys_bytes;
  int has_length, has_model; /* bit 0: its digest, 1: its bytes, 2: its version */
} tiny_response;

/* Sends to device->target, and reads the answer's head. It sends once more where the server says what the time is, and
 * where a connection that was used before has gone. A refusal comes back as its code, with wait_ms and why. */
coterie_tiny_code tiny_call(coterie_tiny* device, const tiny_request* request, tiny_response* response);
/* Up to `count_max` bytes of the body: how many; 0 at its end, below 0: the connection broke. */
long tiny_read_body(coterie_tiny* device, tiny_response* response, uint8_t* to, uint32_t count_max);
/* All of it into device->message; 0: it is longer, or broke off. Then tiny_unread ends the call. */
int tiny_read_message(coterie_tiny* device, tiny_response* response);
coterie_tiny_code tiny_unread(coterie_tiny* device, const tiny_response* response);
/* tiny_call, whose answer is a message of this kind: the reader of its header. `why_not` is said of any other kind. */
coterie_tiny_code tiny_exchange(coterie_tiny* device, const tiny_request* request, uint32_t kind, const char* why_not,
                                tiny_reader* reader);
void tiny_hang_up(coterie_tiny* device);
void tiny_set_target(coterie_tiny* device, const char* path, const uint8_t* digest);

/* ---- The server's keys (tiny_keys.c). */
/* Whether a key that is believed has signed the first bytes of device->text. */
int tiny_is_signed(coterie_tiny* device, uint32_t text_bytes, const uint8_t signature[64]);
void tiny_retire_key(coterie_tiny_memory* memory, const uint8_t key[32], uint64_t until_ms);
/* Forgets those whose time is over. */
void tiny_drop_keys(coterie_tiny_memory* memory, uint64_t now_ms);
/* What an answer's Coterie-Keys says, which lies in device->head. */
void tiny_follow_keys(coterie_tiny* device, const uint8_t* text, uint32_t bytes);

/* ---- How a call ends (tiny_outcome.c). */
coterie_tiny_code tiny_end(coterie_tiny* device, coterie_tiny_code code, const char* why);
void tiny_wait_between(coterie_tiny* device, uint64_t min_ms, uint64_t max_ms);
uint32_t tiny_random_below(coterie_tiny* device, uint32_t count); /* count above 0 */
uint64_t tiny_server_now(const coterie_tiny* device);
/* What the server's refusal in device->message, or its status alone, comes to. */
coterie_tiny_code tiny_refusal(coterie_tiny* device, const tiny_response* response);

/* ---- Steps of a round. */
coterie_tiny_code tiny_check_in(coterie_tiny* device);   /* tiny_check_in.c */
coterie_tiny_code tiny_judge_plan(coterie_tiny* device); /* tiny_plan.c: of device->message */
coterie_tiny_code tiny_fetch_model(coterie_tiny* device, uint64_t bytes, float* into); /* tiny_model.c */
uint64_t tiny_model_bytes(const coterie_tiny_model* model);
coterie_tiny_code tiny_train(coterie_tiny* device);       /* tiny_train.c */
coterie_tiny_code tiny_make_update(coterie_tiny* device); /* gradients: the given model, then the update */
coterie_tiny_code tiny_upload(coterie_tiny* device);      /* tiny_upload.c */

#endif
