/* Coterie device SDK: the C interface.
 *
 * An app opens a client on a state directory and a data set, and calls coterie_client_step() whenever it has time for a
 * little work (or coterie_client_run() to be called back when rounds are done). The client checks in with the server,
 * and when it is chosen, fetches a plan and a model, trains on the app's examples, which never leave the device, and
 * sends the difference.
 *
 * Rules that hold for every function:
 *   - C11; no C++ types, no exceptions, no globals an app could see; only symbols named coterie_*.
 *   - The library starts no threads unless training is asked to use some (coterie_train_options.threads), and those
 * only compute. Everything else happens on the calling thread, callbacks included, with no lock held.
 *   - A client is used by one thread at a time; different clients are independent. coterie_client_cancel() and
 *     coterie_client_set_conditions() alone may be called from any thread.
 *   - The library never aborts the app. A defect inside it shows as COTERIE_INTERNAL; the client is then only good for
 *     coterie_client_close().
 *   - Pointers passed in are borrowed for the call, unless their comment says more. Pointers returned belong to the
 *     client and are valid until its next call.
 *   - Structs begin with struct_size, set by the caller to sizeof its own, the rest zero: members added later are then
 *     known to be absent, and mean 0. Members the library is too old to know are ignored in what it is given, and 0 in
 *     what it fills. A struct_size less than the first release's is INVALID_ARGUMENT.
 */
#ifndef COTERIE_H
#define COTERIE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define COTERIE_API __attribute__((visibility("default")))
#else
#define COTERIE_API
#endif

/* Values never change; new ones may be added: treat an unknown one as COTERIE_INTERNAL. */
typedef enum coterie_status {
  COTERIE_OK = 0,
  COTERIE_INVALID_ARGUMENT = 1,
  COTERIE_MALFORMED = 2,
  COTERIE_UNSUPPORTED_VERSION = 3,
  COTERIE_UNAUTHENTICATED = 4,
  COTERIE_PERMISSION_DENIED = 5,
  COTERIE_NOT_FOUND = 6,
  COTERIE_CONFLICT = 7,
  COTERIE_ROUND_CLOSED = 8,
  COTERIE_TICKET_EXPIRED = 9,
  COTERIE_TOO_LARGE = 10,
  COTERIE_LENGTH_REQUIRED = 11,
  COTERIE_RATE_LIMITED = 12,
  COTERIE_OVERLOADED = 13,
  COTERIE_UNAVAILABLE = 14,
  COTERIE_STORAGE_FULL = 15,
  COTERIE_TIMED_OUT = 16,
  COTERIE_DATA_LOSS = 17,
  COTERIE_REFUSED = 18,
  COTERIE_CANCELLED = 19,
  COTERIE_INTERNAL = 20
} coterie_status;

/* "0.2.0" */
COTERIE_API const char* coterie_version(void);
/* The stable name of a status ("round_closed"); "internal" for an unknown one. Static. */
COTERIE_API const char* coterie_status_name(coterie_status status);

/* ---- The app's data ---------------------------------------------------------------------------------------------- */

/* Room for numbers, to be filled: one place, seen as either type; which, knows the model (coterie_train.h) or the loss.
 */
typedef struct coterie_place {
  float* floats;
  int32_t* ints;
  size_t count;
} coterie_place;

/* Where one example goes. */
typedef struct coterie_example {
  size_t struct_size;
  const coterie_place* inputs; /* one for each input of the model, in its order */
  size_t input_count;
  coterie_place target; /* classes as ints; or what a regression is to give, as floats */
} coterie_example;

/* Labelled examples, read one at a time while training. */
typedef struct coterie_dataset {
  size_t struct_size;
  void* context; /* handed to the callbacks as it is */
  /* How many examples there are. Must not change while a round is being trained. */
  uint64_t (*size)(void* context);
  /* Writes example `index` (below size): feature_count values in the model's input order (height, width, channels), and
   * the label: a class counted from 0. Returns 0, or anything else to stop the round with COTERIE_UNAVAILABLE. */
  int (*read)(void* context, uint64_t index, float* features, size_t feature_count, int32_t* label);
  /* The same for every model: several inputs, integers, several classes an example, numbers as targets. Called instead
   * of `read` if it is set. */
  int (*read_example)(void* context, uint64_t index, const coterie_example* example);
} coterie_dataset;

/* Fills `dataset` (its struct_size is set) with the examples of a data set file, which is mapped: it may be larger than
 * the memory, and must not be shortened in place until it is closed (replaced or removed it may be). Until then it may
 * be used by several clients. On failure there is nothing to close. Errors: INVALID_ARGUMENT, NOT_FOUND,
 * PERMISSION_DENIED, MALFORMED (not a data set file), TOO_LARGE, UNSUPPORTED_VERSION. */
COTERIE_API coterie_status coterie_dataset_open(const char* path, coterie_dataset* dataset, char* error_text,
                                                size_t error_text_size);
/* After the clients that use it. NULL is fine, closing twice is, and a data set of the app's own is left alone. */
COTERIE_API void coterie_dataset_close(coterie_dataset* dataset);

/* ---- The way to the server ----------------------------------------------------------------------------------------
 */

typedef struct coterie_http_header {
  const char* name;
  const char* value;
} coterie_http_header;

typedef struct coterie_http_request {
  size_t struct_size;
  const char* method;
  const char* target; /* path and query, to be appended to the server's URL */
  const coterie_http_header* headers;
  size_t header_count;
  const char* content_type; /* NULL: no body */
  const uint8_t* body;
  size_t body_bytes;
  uint32_t answer_ms_max; /* the server may hold the request this long before it answers */
} coterie_http_request;

/* Takes the answer apart for the library: status first, then headers, then the body in pieces. Good only inside `send`
 * below; with a NULL reply they do nothing. */
typedef struct coterie_http_reply coterie_http_reply;
COTERIE_API void coterie_http_reply_status(coterie_http_reply* reply, int status);
COTERIE_API void coterie_http_reply_header(coterie_http_reply* reply, const char* name, const char* value);
/* Returns 0, or anything else if the transfer shall be given up. */
COTERIE_API int coterie_http_reply_body(coterie_http_reply* reply, const uint8_t* bytes, size_t count);

/* The app's own HTTPS, for example the platform's. It must verify the server's certificate. */
typedef struct coterie_transport {
  size_t struct_size;
  void* context;
  /* Sends one request, fills `reply`, returns 0; anything else means that no answer came. */
  int (*send)(void* context, const coterie_http_request* request, coterie_http_reply* reply);
} coterie_transport;

/* ---- What the app asks of rounds ----------------------------------------------------------------------------------
 */

/* Who may learn what of an update; each promises what those before it do. docs/THREAT_MODEL.md of the project. */
typedef enum coterie_security_level {
  COTERIE_SECURITY_NONE = 0,     /* the server sees the update */
  COTERIE_SECURITY_MASKED = 1,   /* the sum alone, if it follows the protocol */
  COTERIE_SECURITY_ACTIVE = 2,   /* the sum alone, also if it lies */
  COTERIE_SECURITY_ACTIVE_DP = 3 /* the sum with noise of the devices */
} coterie_security_level;

/* "none", "masked", "active", "active_dp"; "unknown" for an unknown one. Static. */
COTERIE_API const char* coterie_security_level_name(coterie_security_level level);

/* The least that a plan must promise for this device to train under it; 0: the default, which the member's comment
 * says. The device judges the plan, which the server has signed, before it trains; with a limit of epsilon or delta
 * that the app set it refuses plans that promise none. The defaults of these three hold for plans that promise some;
 * HUGE_VAL: any epsilon will do. What was spent is kept in the state directory, counted before an update can leave: who
 * removes the directory begins at nothing. */
typedef struct coterie_policy {
  size_t struct_size;
  uint32_t security_level_min; /* a coterie_security_level; 0: ACTIVE, and no job goes below the highest level that this
                              device went on with in any, unless accepts_none */
  uint32_t cohort_min;         /* devices in a sum, of levels from MASKED on; 0: 20 */
  double epsilon_round_max;    /* of one participation; 0: 8 */
  double epsilon_total_max;    /* of all, ever: the sum over participations; 0: 32 */
  double delta_max;            /* of all, ever: the sum over participations; below 1; 0: 1e-5 */
  uint64_t separation_min;     /* rounds of a job from one participation to the next: 3 takes part in every third
                              at most */
  double corrupt_share_min;    /* of the devices of a sum, of levels from ACTIVE on: how many may be corrupt, at least;
                              0: 0.1; else in [0.1, 1/3] */
  uint32_t attempts_max;       /* of one round, where a cohort may have more than 255 devices; 0: 3 */
  uint32_t accepts_none;       /* not 0: where security_level_min is 0 it means NONE, and is the app's word for it */
  uint32_t openings_max; /* sums of one model, or tables of one column, over all jobs, that it helps to open; 0: 1 */
  uint64_t accepts_analytics; /* not 0: this device counts its examples, or what models say of them, for jobs that
                              ask for a table of counts and train nothing; 0: it refuses such plans, whatever they
                              promise. 64 bits, so that no padding of an older app's struct can be taken for it */
} coterie_policy;

/* A plan that this device did not train under. Good inside the callback only. */
typedef struct coterie_refusal {
  size_t struct_size;
  const char* reason; /* "security_level", "cohort_min", "epsilon_round", "epsilon_total", "delta",
                         "separation", "corrupt_share", "attempts", "openings", "certificate",
                         "ledger_rollback", "ledger_fork", "ledger_unproven", "analytics", and the names of
                         coterie_hold; there may be more */
  const char* text;   /* one sentence: what the plan says, what the policy asks */
  const char* job;
  uint64_t round;
  uint32_t attempt;
  uint32_t cohort_min; /* from here on: what the plan promised */
  coterie_security_level security_level;
  double epsilon_round; /* 0: no differential privacy is promised */
  double delta;
  double epsilon_spent; /* by this device so far */
  double delta_spent;
} coterie_refusal;

/* ---- What the device must be like, and may spend --------------------------------------------------------------------
 */

/* What an app says of its device. 0: it does not say. */
typedef enum coterie_answer {
  COTERIE_ANSWER_UNKNOWN = 0,
  COTERIE_ANSWER_NO = 1,
  COTERIE_ANSWER_YES = 2
} coterie_answer;

/* How hot the device is. iOS: ProcessInfo.thermalState, plus 1; Android: THERMAL_STATUS_NONE and LIGHT are NOMINAL,
 * MODERATE is FAIR, SEVERE is SERIOUS, and all above CRITICAL. */
typedef enum coterie_thermal {
  COTERIE_THERMAL_UNKNOWN = 0,
  COTERIE_THERMAL_NOMINAL = 1,
  COTERIE_THERMAL_FAIR = 2,
  COTERIE_THERMAL_SERIOUS = 3,
  COTERIE_THERMAL_CRITICAL = 4
} coterie_thermal;

/* The state of the device, as the app knows it now. What is 0 is unknown; what is unknown meets no requirement. It does
 * not leave the device, but for the name of the hold that it leads to. */
typedef struct coterie_conditions {
  size_t struct_size;
  uint32_t idle;              /* a coterie_answer: nobody uses the device */
  uint32_t charging;          /* a coterie_answer: it has power from outside */
  uint32_t unmetered;         /* a coterie_answer: its network costs nothing by the byte */
  uint32_t foreground;        /* a coterie_answer: the app is what the user sees */
  uint32_t battery_percent;   /* 1 to 100 */
  uint32_t thermal;           /* a coterie_thermal */
  uint64_t free_memory_bytes; /* that the system would give the app */
} coterie_conditions;

/* What the app asks of its device before the client does anything, and what the client may spend in a day. A plan can
 * ask for more of the first, and lowers nothing. All members: 0 asks for nothing, and is no limit.
 *
 * A day is one of UTC by the device's own clock; one that is set back gives no second budget. What was spent is kept in
 * the state directory, charged before it is spent: an app that is killed has counted too much, never too little. Who
 * removes the directory begins at nothing. CPU time is that of the thread which steps the client. A part of each budget
 * is kept back, so that it is never exceeded: a second of CPU time (more, where one action took more), and 64 KiB down.
 * Bytes are those of HTTP; TLS and TCP add to them. */
typedef struct coterie_requirements {
  size_t struct_size;
  uint32_t idle; /* not 0: asked for; likewise the next four */
  uint32_t charging;
  uint32_t unmetered;
  uint32_t foreground;
  uint32_t background; /* the app is not in the foreground */
  uint32_t battery_percent_min;
  uint32_t thermal_max; /* a coterie_thermal */
  uint64_t free_memory_bytes_min;
  double cpu_seconds_per_day;
  uint64_t upload_bytes_per_day;
  uint64_t download_bytes_per_day;
  double joules_per_day; /* an estimate: CPU seconds times watts */
  double watts;          /* what the device takes while it computes; needed with joules_per_day */
  /* In jobs that let devices train a narrower model the client takes the widest that keeps to both, and fails to train
   * where none does. */
  uint64_t training_bytes_max; /* memory of a training, all that the client allocates for it but the model's file */
  double width_max;            /* in (0, 1], a share of the model's channels */
} coterie_requirements;

/* What holds a client back. Values never change; new ones may be added. */
typedef enum coterie_hold {
  COTERIE_HOLD_NONE = 0,
  COTERIE_HOLD_IDLE = 1,
  COTERIE_HOLD_CHARGING = 2,
  COTERIE_HOLD_UNMETERED = 3,
  COTERIE_HOLD_FOREGROUND = 4,
  COTERIE_HOLD_BACKGROUND = 5,
  COTERIE_HOLD_BATTERY = 6,
  COTERIE_HOLD_THERMAL = 7,
  COTERIE_HOLD_FREE_MEMORY = 8,
  COTERIE_HOLD_CPU_BUDGET = 9,
  COTERIE_HOLD_UPLOAD_BUDGET = 10,
  COTERIE_HOLD_DOWNLOAD_BUDGET = 11,
  COTERIE_HOLD_ENERGY_BUDGET = 12
} coterie_hold;

/* "charging", "cpu_budget"; "none", and "unknown" for an unknown one. Static. The same words are reasons of refusals,
 * and what the server counts. */
COTERIE_API const char* coterie_hold_name(coterie_hold hold);

/* ---- A client -----------------------------------------------------------------------------------------------------
 */

/* The device's key where the app has it: one that never leaves the platform's key store, which can then attest to it.
 * */
typedef struct coterie_signer {
  size_t struct_size;
  void* context;
  uint32_t key_algorithm; /* 1 Ed25519, 2 ECDSA P-256; the same key for as long as the state directory is used */
  uint32_t public_key_size;
  const uint8_t* public_key; /* as in coterie_identity; borrowed while the client is opened */
  /* Signs `size` bytes: writes at most COTERIE_SIGNATURE_BYTES_MAX bytes to `signature`, and how many to
   * *signature_size. Ed25519: 64 bytes; P-256: ECDSA with SHA-256, as DER. Returns 0, or anything else if it cannot
   * now: what needed the signature fails with COTERIE_UNAVAILABLE. */
  int (*sign)(void* context, const uint8_t* message, size_t size, uint8_t* signature, size_t* signature_size);
} coterie_signer;

#define COTERIE_SIGNATURE_BYTES_MAX 80

typedef struct coterie_options {
  size_t struct_size;
  const char* server_url;       /* "https://fl.example.org:8443"; not needed with a transport */
  const char* ca_file;          /* PEM file of certificates to trust; NULL: the system's */
  const char* state_dir;        /* a private directory for identity, session and training state; created if absent */
  const char* enrollment_token; /* from the operator; needed until the device is enrolled, then ignored */
  int use_p256;                 /* new identities use ECDSA P-256 instead of Ed25519 */
  uint64_t seed;                /* of shuffling and jitter, for tests: a model version is always trained the same way;
                                   0: random, and another order in each training */
  uint32_t train_ms_max;        /* how long one step may train; 0: 1000 */
  uint32_t checkin_ms_max;      /* how long the server may hold a check-in; 0: 25000 */
  uint32_t checkpoint_steps;    /* training steps between two checkpoints; 0: 50 */
  const coterie_transport* transport; /* NULL: the library's own HTTPS, if it was built in */
  const coterie_policy* policy;       /* NULL: the defaults of all members */
  /* Called inside step or run when a plan was refused by the policy; may be NULL. The server is told the
   * reason, too. */
  void (*on_refused)(void* context, const coterie_refusal* refusal);
  void* refused_context;
  /* For rounds of level ACTIVE and above, where devices check who the others are: an authority that certifies
   * devices, and is not the server's operator (docs/THREAT_MODEL.md of the project). Its Ed25519 key, 32 bytes;
   * NULL: there is none, and others must have no certificate either. */
  const uint8_t* authority_key;
  /* The authority's word about this device's key (coterie_client_identity); NULL: none yet, and plans of those levels
   * are refused as "certificate", also when it has ended. */
  const uint8_t* certificate;
  size_t certificate_size; /* at most COTERIE_CERTIFICATE_BYTES_MAX; 0: COTERIE_CERTIFICATE_BYTES, as before 0.3 */
  /* NULL: the library makes a key of its own in the state directory. The callback and its context outlive the client. A
   * state directory that another key was enrolled with is a CONFLICT. */
  const coterie_signer* signer;
  const coterie_requirements* requirements; /* NULL: none, and no limits */
  uint64_t group; /* that this device is in, 1 to 8, for jobs that serve the worst served group best
                     (strategy afl); 0: in none, and it takes no part in such jobs */
} coterie_options;

#define COTERIE_AUTHORITY_KEY_BYTES 32
/* The form before 0.3, which has no end: a client opens with one, and its device counts as not certified. */
#define COTERIE_CERTIFICATE_BYTES 64
#define COTERIE_CERTIFICATE_BYTES_MAX 1024
#define COTERIE_PUBLIC_KEY_BYTES_MAX 65

typedef struct coterie_client coterie_client;

/* Opens (or resumes) a client. The callbacks and contexts of data set and transport must outlive the client;
 * the structs themselves need not, nor those that the options point to. On failure *client is NULL and, if error_text
 * is not NULL, up to error_text_size bytes of a message are written, the last one 0. Errors: INVALID_ARGUMENT,
 * NOT_FOUND (the CA file), CONFLICT (another client uses the directory), DATA_LOSS (its state is damaged),
 * PERMISSION_DENIED, STORAGE_FULL. */
COTERIE_API coterie_status coterie_client_open(const coterie_options* options, const coterie_dataset* dataset,
                                               coterie_client** client, char* error_text, size_t error_text_size);

/* The device's own key, made when its state directory was first opened: what an authority certifies. */
typedef struct coterie_identity {
  size_t struct_size;
  uint32_t key_algorithm; /* 1 Ed25519, 2 ECDSA P-256 */
  uint32_t public_key_size;
  uint8_t public_key[COTERIE_PUBLIC_KEY_BYTES_MAX]; /* Ed25519: 32 bytes; P-256: 65, an uncompressed point (X9.62) */
} coterie_identity;

/* INVALID_ARGUMENT: a NULL, or a struct_size of no version. */
COTERIE_API coterie_status coterie_client_identity(coterie_client* client, coterie_identity* identity);

/* What a platform says of this device, for the authority to judge before it certifies the device's key. */
typedef enum coterie_attestation_format {
  COTERIE_ATTESTATION_ANDROID_KEY =
      1, /* the chain of the key's certificates, as DER one behind the other, the key's first;
                                          the nonce was its attestationChallenge */
  COTERIE_ATTESTATION_PLAY_INTEGRITY = 2, /* the token; its nonce or request hash is base64url of the hash below */
  COTERIE_ATTESTATION_APP_ATTEST = 3,     /* the attestation object; the hash below was its clientDataHash */
  COTERIE_ATTESTATION_OPAQUE = 4          /* what the app and its authority have agreed on */
} coterie_attestation_format;

#define COTERIE_NONCE_BYTES 32
#define COTERIE_ATTESTATION_BYTES_MAX 32768
#define COTERIE_CERTIFICATE_REQUEST_BYTES_MAX (COTERIE_ATTESTATION_BYTES_MAX + 4096)

typedef struct coterie_attestation {
  size_t struct_size;
  uint32_t format;      /* a coterie_attestation_format */
  const uint8_t* nonce; /* COTERIE_NONCE_BYTES, from the authority, for this attestation */
  const uint8_t* bytes;
  size_t size; /* at most COTERIE_ATTESTATION_BYTES_MAX */
} coterie_attestation;

/* A certificate is renewed by the app: when one is due, it has a request made, carries it to the authority by a way of
 * its own (the server is not that authority), and hands the answer back, which is kept in the state directory. These
 * four may be called from within on_progress of coterie_client_run, too. */

/* 1 if the device is enrolled, the app pins an authority, and a certificate of it is due: a third of its validity is
 * left (a twelfth earlier at most, so that devices do not come at once), or there is none that is good. Else 0; of NULL
 * 0. */
COTERIE_API int coterie_client_certificate_is_due(coterie_client* client);

/* Fills `request`, which has *request_size bytes of room, and sets *request_size to what it needs: at most
 * COTERIE_CERTIFICATE_REQUEST_BYTES_MAX. It is signed by the device's key and holds the present certificate, if there
 * is one. `attestation` may be NULL: then the authority can renew, and nothing else. TOO_LARGE: more room is needed, as
 * *request_size says. CONFLICT: the device is not enrolled yet. INVALID_ARGUMENT: no authority, a bad attestation. */
COTERIE_API coterie_status coterie_client_certificate_request(coterie_client* client,
                                                              const coterie_attestation* attestation, uint8_t* request,
                                                              size_t* request_size);

/* INVALID_ARGUMENT: not by this authority for this device's key and population. CONFLICT: it began before the present
 * one, or the device is not enrolled yet. STORAGE_FULL, PERMISSION_DENIED: it was not kept, and is not in use. */
COTERIE_API coterie_status coterie_client_take_certificate(coterie_client* client, const uint8_t* certificate,
                                                           size_t certificate_size);

/* What binds an attestation that is not of the device's own key to it: fills `hash` with 32 bytes over the nonce
 * (COTERIE_NONCE_BYTES), the population and the device's key. CONFLICT: the device is not enrolled yet. */
COTERIE_API coterie_status coterie_client_attestation_hash(coterie_client* client, const uint8_t* nonce, uint8_t* hash);

/* Frees *client and sets it to NULL, so that closing twice does nothing; NULL is fine. Whatever was under way goes on
 * when the directory is opened again. Not from within a callback. */
COTERIE_API void coterie_client_close(coterie_client** client);

typedef enum coterie_activity {
  COTERIE_ACTIVITY_WAITING = 1,    /* nothing to do for wait_ms */
  COTERIE_ACTIVITY_ENROLLED = 2,   /* tried to enroll */
  COTERIE_ACTIVITY_CHECKED_IN = 3, /* asked whether this device is needed */
  COTERIE_ACTIVITY_FETCHED_PLAN = 4,
  COTERIE_ACTIVITY_FETCHED_MODEL = 5,
  COTERIE_ACTIVITY_TRAINED = 6,    /* trained a slice, perhaps the last */
  COTERIE_ACTIVITY_UPLOADED = 7,   /* tried to hand in the update */
  COTERIE_ACTIVITY_STOPPED = 8,    /* cannot go on without the app or the operator: see step_status and the text */
  COTERIE_ACTIVITY_AGGREGATED = 9, /* one exchange of secure aggregation, which hands the update in masked */
  COTERIE_ACTIVITY_HELD = 10       /* did nothing: `hold` says what is asked for and not so, or what is spent */
} coterie_activity;

/* The stable name of an activity ("fetched_plan"); "unknown" for an unknown one. Static. */
COTERIE_API const char* coterie_activity_name(coterie_activity activity);

typedef struct coterie_progress {
  size_t struct_size;
  coterie_activity activity;  /* what this step did */
  coterie_status step_status; /* how it went; not OK is normal (the server is away): the client will try again */
  uint32_t wait_ms;           /* call again after this long; sooner does no harm and nothing */
  uint64_t rounds_done;       /* updates accepted by the server, ever */
  uint64_t training_steps;    /* of the round under way */
  uint64_t training_examples;
  double training_loss; /* mean over those examples; 0 before the first */
  coterie_hold hold;    /* of HELD; NONE else */
  /* With early stopping, in the round under way: examples that are held out, their lowest mean loss so far (0
     before the first epoch's end), and whether training ended for it. The server learns none of it. */
  uint64_t validation_examples;
  double validation_loss;
  int stopped_early;
} coterie_progress;

/* From any thread: what the device is like from now on. Nothing is known before the first call. Training that is under
 * way stops at its next step if a requirement is no longer met, and keeps a checkpoint; a client that is held back in
 * coterie_client_run looks again. INVALID_ARGUMENT: a NULL, a struct_size of no version, or a member out of range; then
 * nothing changes. */
COTERIE_API coterie_status coterie_client_set_conditions(coterie_client* client, const coterie_conditions* conditions);

/* Does one small thing: a request, a slice of training, or nothing. OK unless the device itself fails (disk full:
 * STORAGE_FULL), the client is cancelled (CANCELLED), or COTERIE_INTERNAL; *progress is then zero but for struct_size.
 * `progress` may be NULL. */
COTERIE_API coterie_status coterie_client_step(coterie_client* client, coterie_progress* progress);

/* Steps and waits until `rounds` more updates are accepted (0: no such end), the client is cancelled (CANCELLED) or
 * stopped (the reason), or the device fails. `on_progress` is called after every step and may return non-zero to end.
 */
COTERIE_API coterie_status coterie_client_run(coterie_client* client, uint64_t rounds,
                                              int (*on_progress)(void* context, const coterie_progress* progress),
                                              void* context);

/* From any thread: ends a step or run under way, soon; and every later one at once, until the client is closed. */
COTERIE_API void coterie_client_cancel(coterie_client* client);

/* One sentence about the last thing that went wrong; "" if nothing did. A NULL client's says that it is NULL. */
COTERIE_API const char* coterie_client_last_error(const coterie_client* client);

/* ---- Logs -----------------------------------------------------------------------------------------------------------
 */

/* Lines of JSON, one an event, never with private data. Process-wide; NULL switches it off. */
COTERIE_API void coterie_set_log(void (*write)(const char* line));

#ifdef __cplusplus
}
#endif

#endif /* COTERIE_H */
