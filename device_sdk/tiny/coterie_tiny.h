/* coterie_tiny.h: a device of a Coterie server, on a microcontroller.
 *
 * It enrolls, checks in, takes an assignment, judges its plan, fetches the model, trains it with the C that
 * `coterie model export --c --train --client` writes, and sends how far the parameters came. It speaks
 * docs/PROTOCOL.md, and nothing besides.
 *
 * Plain C99: no heap, no recursion, no double, no libc but memcpy, memmove, memset and memcmp, which a compiler calls
 * by itself. All memory is the caller's one coterie_tiny. There is no crypto here: the board gives SHA-256, Ed25519 and
 * random bytes. One caller at a time; a call blocks as long as the board's functions do, and never sleeps by itself.
 *
 * It takes plain updates alone (level `none`): the server sees what this device has learned. It has no masks, so that
 * a plan of another level is refused. Where that is not wanted, take the C or C++ SDK.
 */
#ifndef COTERIE_TINY_H
#define COTERIE_TINY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef COTERIE_TINY_MESSAGE_BYTES
#define COTERIE_TINY_MESSAGE_BYTES 2048 /* the longest plan, assignment or error that is read */
#endif
#ifndef COTERIE_TINY_HEAD_BYTES
#define COTERIE_TINY_HEAD_BYTES 3072 /* the longest head of an answer: statements of keys have up to 2,048 bytes */
#endif
#define COTERIE_TINY_JOBS 4     /* whose newest version is remembered */
#define COTERIE_TINY_RETIRING 2 /* keys that the server signed with before, and may yet */

/* What the board gives. `context` goes to each function. A function that returns int returns 0 if it went well. */
typedef struct {
  void* context;
  /* The way to the server: TCP to a gateway in the same network that speaks TLS 1.3 to the server, or the board's own
   * TLS, which then verifies the server's certificate and name. `open` is called while no connection is open. */
  int (*open)(void* context);
  void (*close)(void* context);
  int (*send)(void* context, const uint8_t* bytes, size_t count); /* all of them */
  /* 1 to `count_max` bytes, and how many; 0: the other end has closed; below 0: it failed, or nothing came for longer
   * than wait_ms of the options and 20 s. */
  long (*receive)(void* context, uint8_t* bytes, size_t count_max);
  uint64_t (*now_ms)(void* context); /* since any moment; never goes back. The time of day comes from the server */
  int (*random)(void* context, uint8_t* bytes, size_t count); /* fit for keys */
  /* SHA-256. One hash is open at a time; hash_begin forgets one that was not ended. */
  void (*hash_begin)(void* context);
  void (*hash_add)(void* context, const uint8_t* bytes, size_t count);
  void (*hash_end)(void* context, uint8_t digest[32]);
  /* Ed25519 (RFC 8032): by this device's key, which never leaves the board; and whether a signature is of this key. */
  int (*sign)(void* context, const uint8_t* text, size_t bytes, uint8_t signature[64]);
  int (*verify)(void* context, const uint8_t key[32], const uint8_t* text, size_t bytes, const uint8_t signature[64]);
} coterie_tiny_board;

/* Parameters that lie together in a model's payload. */
typedef struct {
  uint32_t first, count; /* float32 of the payload */
  uint32_t place;        /* among those that are trained */
  const float* fixed;    /* not trained: what they are; else NULL */
} coterie_tiny_span;

/* A model that was exported with --client: NAME_model. Nobody else makes one. */
typedef struct {
  uint32_t header_bytes, seal_at; /* of a model's frame; where its seal lies there, 0xffffffff: it has none */
  uint64_t header_hash;           /* FNV-1a, the seal as zeros: the same graph. Digests guard it, not this */
  uint32_t payload_values;        /* float32 */
  const coterie_tiny_span* spans; /* by `first` */
  uint32_t span_count, trained;
  float *parameters, *gradients; /* `trained` of each */
  float (*accumulate)(const float* input, size_t label);
  void (*apply)(float learning_rate);
  void (*forget)(void);    /* gradients, and how many answers were right */
  uint32_t (*right)(void); /* of the examples since then */
} coterie_tiny_model;

typedef struct {
  const char* host; /* the server's name, for the head of a request */
  /* 1: the app has decided that the server may see what this device has learned. With 0 no plan is taken. */
  int takes_plain_updates;
  uint32_t wait_ms;        /* how long a check-in may wait for work; at most 600,000 */
  uint32_t steps_max;      /* no longer training is begun */
  float learning_rate_max; /* nor one with a higher rate */
  uint32_t example_count;  /* at least 1 */
  /* Example `index`: where its numbers lie until the next call, and its class. Not 0 ends the training. */
  int (*example)(void* context, uint32_t index, const float** input, uint32_t* label);
  void* example_context;
} coterie_tiny_options;

/* What must outlive a restart, as plain bytes: store it when a call has returned, and give it back as it was. All
 * zeros: a device that is not enrolled. */
typedef struct {
  uint32_t is_enrolled;
  uint8_t device[16], server_key[32];
  struct {
    uint64_t until_ms; /* 0: none */
    uint8_t key[32];
  } retiring[COTERIE_TINY_RETIRING]; /* the newest is the last */
  char population[68];               /* ends with 0 */
  struct {
    char name[68];
    uint64_t model_version;
  } jobs[COTERIE_TINY_JOBS];
  uint32_t next_job; /* whose place is taken next */
} coterie_tiny_memory;

typedef enum {
  COTERIE_TINY_OK = 0,      /* enrolled; an update is counted; the model is here */
  COTERIE_TINY_NOT_NOW,     /* the server has no work now, or the round is over */
  COTERIE_TINY_UNAVAILABLE, /* no answer; the next call goes on where this one ended */
  COTERIE_TINY_MALFORMED,   /* the answer is not one of the protocol, or is longer than this device reads */
  COTERIE_TINY_UNTRUSTED,   /* a signature or a digest does not hold */
  COTERIE_TINY_REFUSED,     /* this device does not take that plan or model: `why` says what */
  COTERIE_TINY_DENIED,      /* the server refuses: `why` is its code */
  COTERIE_TINY_FAILED       /* the board or the app failed, or training left a value that is not finite */
} coterie_tiny_code;

/* A device. Zeros, then board, model, options and memory, before the first call. What follows is its own. */
typedef struct {
  const coterie_tiny_board* board;
  const coterie_tiny_model* model;
  coterie_tiny_options options;
  coterie_tiny_memory memory;

  /* After each call. */
  uint32_t wait_ms; /* until the next one; drawn at random, as the protocol asks */
  const char* why;  /* a sentence, or a code of the server; "" after COTERIE_TINY_OK */
  uint64_t round;   /* of the assignment */
  uint64_t model_version;
  uint32_t steps, examples, right; /* of the last training */
  float loss_sum;

  uint32_t phase;
  uint32_t is_open, failures, refused;
  uint64_t ahead_ms, checked_in_ms, not_after_ms;
  uint32_t attempt, weight, batch_size, epochs, train_ms, value_count;
  float learning_rate, clip_l2, value_abs_max;
  uint8_t plan[32], model_digest[32], ticket[256], nonce[16];
  uint32_t plan_bytes, ticket_bytes, encoding;
  char job[68], code[32];
  uint8_t digests[24][32], leaf[4];              /* of the content digest */
  uint32_t head_bytes, head_used, message_bytes; /* of `head`: what came, and of it what was read */
  uint32_t is_clean, body_bytes;                 /* of the connection: no answer is left to read; of `body` */
  char target[448];
  uint8_t head[COTERIE_TINY_HEAD_BYTES], text[1024], body[768], message[COTERIE_TINY_MESSAGE_BYTES];
} coterie_tiny;

/* Once in a device's life, with a token of `coterie token create`. The same key again gives the same answer. */
coterie_tiny_code coterie_tiny_enroll(coterie_tiny* device, const char* token, const uint8_t public_key[32]);

/* Asks for work, and does it: all of a round. After COTERIE_TINY_UNAVAILABLE the next call goes on with what is left of
 * it, if that is of use yet. Behind it the model's parameters are those that were trained here, or what was fetched of
 * others: fetch the release before the model is to predict. */
coterie_tiny_code coterie_tiny_take_part(coterie_tiny* device);

/* The model that devices are to use now, verified, into the model's parameters; an assignment that was begun is given
 * up. Its version is in `model_version`. After another code than COTERIE_TINY_OK the parameters may be anybody's: they
 * come before what verifies them does, so that the model must not predict with them. */
coterie_tiny_code coterie_tiny_fetch_release(coterie_tiny* device);

#ifdef __cplusplus
}
#endif

#endif
