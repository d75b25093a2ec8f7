/* Clients, and a transport that is a Java object. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device_sdk/bindings/java/jni/binding.h"

typedef struct binding_client {
  coterie_client* c;
  binding_dataset* dataset;
  jobject transport; /* NULL: the library's own */
  jobject refusal;   /* Refusal, a local reference, inside step */
} binding_client;

static binding_client* client_of(jlong handle) { return (binding_client*)(intptr_t)handle; }

static jbyteArray utf8_or_null(JNIEnv* env, const char* text) { return text == NULL ? NULL : binding_utf8(env, text); }

/* Names and values by turns. */
static jobjectArray headers_of(JNIEnv* env, const coterie_http_request* request) {
  const jobjectArray headers =
      (*env)->NewObjectArray(env, (jsize)request->header_count * 2, (*env)->FindClass(env, "[B"), NULL);
  for (size_t i = 0; headers != NULL && i < request->header_count; ++i) {
    (*env)->SetObjectArrayElement(env, headers, (jsize)i * 2, binding_utf8(env, request->headers[i].name));
    (*env)->SetObjectArrayElement(env, headers, (jsize)i * 2 + 1, binding_utf8(env, request->headers[i].value));
  }
  return headers;
}

/* Native.send returns {status and headers as text, one a line; body}, or null. */
static int take_answer(JNIEnv* env, jobjectArray answer, coterie_http_reply* reply) {
  char* head = binding_text(env, (*env)->GetObjectArrayElement(env, answer, 0));
  const jbyteArray body = (*env)->GetObjectArrayElement(env, answer, 1);
  if (head == NULL) return -1;
  char* next = strchr(head, '\n');
  coterie_http_reply_status(reply, atoi(head));
  while (next != NULL) {
    char* name = next + 1;
    char* value = strchr(name, '\n');
    if (value == NULL) break;
    *value++ = 0;
    next = strchr(value, '\n');
    if (next != NULL) *next = 0;
    coterie_http_reply_header(reply, name, value);
  }
  free(head);
  const jsize count = (*env)->GetArrayLength(env, body);
  jbyte* bytes = (*env)->GetByteArrayElements(env, body, NULL);
  if (bytes == NULL) return -1;
  if (count > 0) coterie_http_reply_body(reply, (const uint8_t*)bytes, (size_t)count);
  (*env)->ReleaseByteArrayElements(env, body, bytes, JNI_ABORT);
  return 0;
}

static int send_by_java(JNIEnv* env, jobject transport, const coterie_http_request* request,
                        coterie_http_reply* reply) {
  const jclass native = (*env)->FindClass(env, "org/coterie/Native");
  const jmethodID send =
      native == NULL
          ? NULL
          : (*env)->GetStaticMethodID(env, native, "send", "(Lorg/coterie/Transport;[B[B[[B[B[BI)[Ljava/lang/Object;");
  if (send == NULL) return -1;
  const jobjectArray answer = (*env)->CallStaticObjectMethod(
      env, native, send, transport, binding_utf8(env, request->method), binding_utf8(env, request->target),
      headers_of(env, request), utf8_or_null(env, request->content_type),
      request->content_type == NULL ? NULL : binding_bytes(env, request->body, request->body_bytes),
      (jint)request->answer_ms_max);
  return answer == NULL || (*env)->ExceptionCheck(env) ? -1 : take_answer(env, answer, reply);
}

/* An exception means, as everywhere in Java's networking, that no answer came. */
static int send_request(void* context, const coterie_http_request* request, coterie_http_reply* reply) {
  const binding_client* client = context;
  JNIEnv* env = binding_env();
  if (env == NULL || (*env)->PushLocalFrame(env, 32 + (jint)request->header_count * 2) != 0) return -1;
  const int result = send_by_java(env, client->transport, request, reply);
  const int thrown = (*env)->ExceptionCheck(env);
  if (thrown) (*env)->ExceptionClear(env);
  (*env)->PopLocalFrame(env, NULL);
  return thrown ? -1 : result;
}

/* The step's Progress brings it to Java, where the listener is called: what that throws flies through no C++.
 */
static void keep_refusal(void* context, const coterie_refusal* refusal) {
  binding_client* client = context;
  JNIEnv* env = binding_env();
  if (env == NULL || (*env)->ExceptionCheck(env)) return;
  const jbyteArray reason = binding_utf8(env, refusal->reason);
  const jbyteArray text = reason == NULL ? NULL : binding_utf8(env, refusal->text);
  const jbyteArray job = text == NULL ? NULL : binding_utf8(env, refusal->job);
  if (job == NULL) return;
  client->refusal =
      binding_new(env, "org/coterie/Refusal", "([B[B[BJIIIDDDD)V", reason, text, job, (jlong)refusal->round,
                  (jint)refusal->attempt, (jint)refusal->cohort_min, (jint)refusal->security_level,
                  refusal->epsilon_round, refusal->delta, refusal->epsilon_spent, refusal->delta_spent);
}

static void close_client(JNIEnv* env, binding_client* client) {
  coterie_client_close(&client->c);
  binding_release(env, client->dataset);
  (*env)->DeleteGlobalRef(env, client->transport);
  free(client);
}

/* Element i of `authority`, all of it, of at most `size_max` bytes, into `room`; returns that, or NULL for null, and
 * with an exception pending: another size is an ArrayIndexOutOfBoundsException. Client.java has looked before. */
static const uint8_t* all_bytes(JNIEnv* env, jobjectArray authority, jsize i, jsize size_min, jsize size_max,
                                uint8_t* room, size_t* size_out) {
  if ((*env)->ExceptionCheck(env)) return NULL;
  const jbyteArray bytes = (*env)->GetObjectArrayElement(env, authority, i);
  if ((*env)->ExceptionCheck(env) || bytes == NULL) return NULL;
  jsize size = (*env)->GetArrayLength(env, bytes);
  if (size < size_min) size = size_min;
  if (size > size_max) size = size_max;
  *size_out = (size_t)size;
  (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte*)room);
  (*env)->DeleteLocalRef(env, bytes);
  return (*env)->ExceptionCheck(env) ? NULL : room;
}

/* What does not fit in the C member is what no requirement may be, either way. */
static uint32_t narrowed(jlong value) { return value >= 0 && value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX; }

/* Numbers below 0 are beyond any limit of coterie.h as unsigned ones, and refused there. */
static void read_requirements(JNIEnv* env, jlongArray integers, jdoubleArray amounts, coterie_requirements* c) {
  enum { kIntegers = 11, kAmounts = 4 };
  jlong n[kIntegers];
  jdouble f[kAmounts];
  (*env)->GetLongArrayRegion(env, integers, 0, kIntegers, n);
  if (!(*env)->ExceptionCheck(env)) (*env)->GetDoubleArrayRegion(env, amounts, 0, kAmounts, f);
  if ((*env)->ExceptionCheck(env)) return;
  c->idle = n[0] != 0, c->charging = n[1] != 0, c->unmetered = n[2] != 0, c->foreground = n[3] != 0;
  c->background = n[4] != 0, c->battery_percent_min = narrowed(n[5]), c->thermal_max = narrowed(n[6]);
  c->free_memory_bytes_min = (uint64_t)n[7];
  c->upload_bytes_per_day = (uint64_t)n[8], c->download_bytes_per_day = (uint64_t)n[9];
  c->cpu_seconds_per_day = f[0], c->joules_per_day = f[1], c->watts = f[2];
  c->training_bytes_max = (uint64_t)n[10], c->width_max = f[3];
}

/* `texts`: server URL, CA file, state directory, enrollment token, each may be null; `authority`:
 * authorityKey, certificate, likewise; `integers`: useP256, seed, trainMsMax, checkinMsMax, checkpointSteps,
 * and of the policy securityLevelMin, cohortMin, separationMin, attemptsMax, acceptsNone, openingsMax,
 * acceptsAnalytics, and behind them group; `limits`: of the policy epsilonRoundMax, epsilonTotalMax, deltaMax,
 * corruptShareMin; `required` and `amounts`: as Requirements.java has them, or both null. */
NATIVE(jlong, clientOpen)
(JNIEnv* env, jclass type, jobjectArray texts, jobjectArray authority, jlongArray integers, jdoubleArray limits,
 jlongArray required, jdoubleArray amounts, jobject transport, jlong data) {
  (void)type;
  enum { kTexts = 4, kIntegers = 13, kLimits = 4 };
  char error[1024] = "out of memory";
  char* t[kTexts] = {NULL};
  jlong n[kIntegers];
  jdouble f[kLimits];
  binding_client* client = calloc(1, sizeof *client);
  coterie_status status = COTERIE_INTERNAL;
  (*env)->GetLongArrayRegion(env, integers, 0, kIntegers, n);
  if (!(*env)->ExceptionCheck(env)) (*env)->GetDoubleArrayRegion(env, limits, 0, kLimits, f);
  for (jsize i = 0; i < kTexts && !(*env)->ExceptionCheck(env); ++i) {
    t[i] = binding_text(env, (*env)->GetObjectArrayElement(env, texts, i));
  }
  uint8_t key_room[COTERIE_AUTHORITY_KEY_BYTES], certificate_room[COTERIE_CERTIFICATE_BYTES_MAX];
  size_t key_size = 0, certificate_size = 0;
  const uint8_t* authority_key =
      all_bytes(env, authority, 0, COTERIE_AUTHORITY_KEY_BYTES, COTERIE_AUTHORITY_KEY_BYTES, key_room, &key_size);
  const uint8_t* certificate =
      all_bytes(env, authority, 1, 1, COTERIE_CERTIFICATE_BYTES_MAX, certificate_room, &certificate_size);
  coterie_requirements requirements = {.struct_size = sizeof requirements};
  if (required != NULL && !(*env)->ExceptionCheck(env)) read_requirements(env, required, amounts, &requirements);
  if (client != NULL && !(*env)->ExceptionCheck(env)) {
    const coterie_transport c_transport = {.struct_size = sizeof c_transport, .context = client, .send = &send_request};
    const coterie_policy policy = {.struct_size = sizeof policy,
                                   .security_level_min = (uint32_t)n[5],
                                   .cohort_min = (uint32_t)n[6],
                                   .epsilon_round_max = f[0],
                                   .epsilon_total_max = f[1],
                                   .delta_max = f[2],
                                   .separation_min = (uint64_t)n[7],
                                   .corrupt_share_min = f[3],
                                   .attempts_max = (uint32_t)n[8],
                                   .accepts_none = (uint32_t)n[9],
                                   .openings_max = (uint32_t)n[10],
                                   .accepts_analytics = (uint64_t)n[11]};
    const coterie_options options = {.struct_size = sizeof options,
                                     .server_url = t[0],
                                     .ca_file = t[1],
                                     .state_dir = t[2],
                                     .enrollment_token = t[3],
                                     .use_p256 = n[0] != 0,
                                     .seed = (uint64_t)n[1],
                                     .train_ms_max = (uint32_t)n[2],
                                     .checkin_ms_max = (uint32_t)n[3],
                                     .checkpoint_steps = (uint32_t)n[4],
                                     .transport = transport == NULL ? NULL : &c_transport,
                                     .policy = &policy,
                                     .on_refused = &keep_refusal,
                                     .refused_context = client,
                                     .authority_key = authority_key,
                                     .certificate = certificate,
                                     .certificate_size = certificate_size,
                                     .requirements = required == NULL ? NULL : &requirements,
                                     .group = (uint64_t)n[12]};
    client->dataset = binding_hold((binding_dataset*)(intptr_t)data);
    client->transport = transport == NULL ? NULL : (*env)->NewGlobalRef(env, transport);
    const coterie_dataset* dataset = client->dataset == NULL ? NULL : &client->dataset->c;
    status = coterie_client_open(&options, dataset, &client->c, error, sizeof error);
  }
  for (int i = 0; i < kTexts; ++i) free(t[i]);
  if (status == COTERIE_OK) return (jlong)(intptr_t)client;
  if (client != NULL) close_client(env, client);
  binding_throw(env, status, error);
  return 0;
}

NATIVE(void, clientClose)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  if (handle != 0) close_client(env, client_of(handle));
}

NATIVE(jobject, clientIdentity)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  binding_client* client = client_of(handle);
  coterie_client* c = client == NULL ? NULL : client->c;
  coterie_identity identity = {.struct_size = sizeof identity};
  const coterie_status status = coterie_client_identity(c, &identity);
  if (!binding_check(env, client == NULL ? NULL : client->dataset, status, coterie_client_last_error(c))) return NULL;
  const jbyteArray key = binding_bytes(env, identity.public_key, identity.public_key_size);
  if (key == NULL) return NULL;
  return binding_new(env, "org/coterie/Identity", "(I[B)V", (jint)identity.key_algorithm, key);
}

NATIVE(jobject, clientStep)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  binding_client* client = client_of(handle);
  coterie_client* c = client == NULL ? NULL : client->c;
  coterie_progress progress = {.struct_size = sizeof progress};
  const coterie_status status = coterie_client_step(c, &progress);
  jobject refusal = NULL;
  if (client != NULL) {
    refusal = client->refusal;
    client->refusal = NULL;
  }
  if ((*env)->ExceptionCheck(env)) return NULL; /* no memory for the refusal */
  if (!binding_check(env, client == NULL ? NULL : client->dataset, status, coterie_client_last_error(c))) return NULL;
  const jbyteArray activity = binding_utf8(env, coterie_activity_name(progress.activity));
  const jbyteArray name = activity == NULL ? NULL : binding_utf8(env, coterie_status_name(progress.step_status));
  const jbyteArray text = name == NULL ? NULL : binding_utf8(env, coterie_client_last_error(c));
  if (text == NULL) return NULL;
  return binding_new(env, "org/coterie/Progress", "([BI[B[BJJJJDLorg/coterie/Refusal;IJDZ)V", activity,
                     (jint)progress.step_status, name, text, (jlong)progress.wait_ms, (jlong)progress.rounds_done,
                     (jlong)progress.training_steps, (jlong)progress.training_examples, progress.training_loss, refusal,
                     (jint)progress.hold, (jlong)progress.validation_examples, progress.validation_loss,
                     (jint)(progress.stopped_early != 0));
}

/* From any thread: it looks at nothing but the C client. */
NATIVE(void, clientSetConditions)(JNIEnv* env, jclass type, jlong handle, jlongArray integers) {
  (void)type;
  enum { kIntegers = 7 };
  jlong n[kIntegers];
  (*env)->GetLongArrayRegion(env, integers, 0, kIntegers, n);
  if ((*env)->ExceptionCheck(env)) return;
  const coterie_conditions conditions = {.struct_size = sizeof conditions,
                                         .idle = narrowed(n[0]),
                                         .charging = narrowed(n[1]),
                                         .unmetered = narrowed(n[2]),
                                         .foreground = narrowed(n[3]),
                                         .battery_percent = narrowed(n[4]),
                                         .thermal = narrowed(n[5]),
                                         .free_memory_bytes = (uint64_t)n[6]};
  const coterie_status status = coterie_client_set_conditions(handle == 0 ? NULL : client_of(handle)->c, &conditions);
  if (status == COTERIE_OK) return;
  binding_throw(env, status, handle == 0 ? "client must not be NULL" : "conditions: a member is out of range");
}

NATIVE(void, clientCancel)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  if (handle != 0) coterie_client_cancel(client_of(handle)->c);
}
