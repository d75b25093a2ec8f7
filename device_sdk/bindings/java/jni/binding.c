/* Texts, exceptions, objects, options. */
#include "device_sdk/bindings/java/jni/binding.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

JavaVM* binding_vm;

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  (void)reserved;
  binding_vm = vm;
  return JNI_VERSION_1_6;
}

JNIEnv* binding_env(void) {
  void* env = NULL;
  return (*binding_vm)->GetEnv(binding_vm, &env, JNI_VERSION_1_6) == JNI_OK ? env : NULL;
}

static void throw_out_of_memory(JNIEnv* env) {
  const jclass type = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
  if (type != NULL) (*env)->ThrowNew(env, type, "in the Coterie library");
}

char* binding_text(JNIEnv* env, jbyteArray utf8) {
  if (utf8 == NULL) return NULL;
  const jsize count = (*env)->GetArrayLength(env, utf8);
  char* text = malloc((size_t)count + 1);
  if (text == NULL) {
    throw_out_of_memory(env);
    return NULL;
  }
  (*env)->GetByteArrayRegion(env, utf8, 0, count, (jbyte*)text);
  text[count] = 0;
  return text;
}

jbyteArray binding_bytes(JNIEnv* env, const void* bytes, size_t count) {
  if (count > INT32_MAX) {
    binding_throw(env, COTERIE_TOO_LARGE, "more bytes than a Java array can have");
    return NULL;
  }
  const jbyteArray array = (*env)->NewByteArray(env, (jsize)count);
  if (array != NULL) (*env)->SetByteArrayRegion(env, array, 0, (jsize)count, bytes);
  return array;
}

jbyteArray binding_utf8(JNIEnv* env, const char* text) { return binding_bytes(env, text, strlen(text)); }

void binding_throw(JNIEnv* env, coterie_status status, const char* text) {
  if ((*env)->ExceptionCheck(env)) return;
  const jbyteArray name = binding_utf8(env, coterie_status_name(status));
  const jbyteArray message = name == NULL ? NULL : binding_utf8(env, text);
  if (message == NULL) return;
  const jobject exception = binding_new(env, "org/coterie/CoterieException", "(I[B[B)V", (jint)status, name, message);
  if (exception != NULL) (*env)->Throw(env, exception);
}

jobject binding_new(JNIEnv* env, const char* class_name, const char* signature, ...) {
  const jclass type = (*env)->FindClass(env, class_name);
  if (type == NULL) return NULL;
  const jmethodID constructor = (*env)->GetMethodID(env, type, "<init>", signature);
  if (constructor == NULL) return NULL;
  va_list arguments;
  va_start(arguments, signature);
  const jobject object = (*env)->NewObjectV(env, type, constructor, arguments);
  va_end(arguments);
  return object;
}

char** binding_texts(JNIEnv* env, jobjectArray array, size_t* count) {
  *count = (size_t)(*env)->GetArrayLength(env, array);
  if (*count == 0) return NULL;
  char** texts = calloc(*count + 1, sizeof *texts);
  if (texts == NULL) {
    throw_out_of_memory(env);
    return NULL;
  }
  for (size_t i = 0; i < *count && !(*env)->ExceptionCheck(env); ++i) {
    const jbyteArray text = (*env)->GetObjectArrayElement(env, array, (jsize)i);
    texts[i] = binding_text(env, text);
    (*env)->DeleteLocalRef(env, text);
  }
  return texts;
}

enum { kTexts = 10, kFloats = 11, kIntegers = 12, kLists = 5 }; /* as TrainOptions.java has them */

/* The numbers, which have no memory of their own. */
static void read_numbers(JNIEnv* env, coterie_train_options* c, jfloatArray floats, jlongArray integers) {
  jfloat f[kFloats];
  jlong n[kIntegers];
  (*env)->GetFloatArrayRegion(env, floats, 0, kFloats, f);
  (*env)->GetLongArrayRegion(env, integers, 0, kIntegers, n);
  if ((*env)->ExceptionCheck(env)) return;
  c->learning_rate = f[0], c->momentum = f[1], c->weight_decay = f[2], c->beta1 = f[3], c->beta2 = f[4];
  c->epsilon = f[5], c->smoothing = f[6], c->label_smoothing = f[7], c->loss_threshold = f[8];
  c->clip_norm = f[9], c->clip_value = f[10];
  c->nesterov = n[0] != 0, c->targets_are_values = n[1] != 0, c->freeze_statistics = n[2] != 0;
  c->batch_size = (uint32_t)n[3], c->micro_batch_size = (uint32_t)n[4], c->epochs = (uint32_t)n[5];
  c->steps_max = (uint32_t)n[6], c->seed = (uint64_t)n[7], c->memory_bytes_max = (uint64_t)n[8];
  c->train_last = (uint32_t)n[9], c->threads = (uint32_t)n[10];
  c->memory_budget_bytes = (uint64_t)n[11];
}

static void read_weights(JNIEnv* env, binding_options* options, jfloatArray weights) {
  coterie_train_options* c = &options->c;
  c->class_weight_count = (size_t)(*env)->GetArrayLength(env, weights);
  options->class_weights = malloc((c->class_weight_count + 1) * sizeof(jfloat));
  if (options->class_weights == NULL) {
    throw_out_of_memory(env);
    return;
  }
  (*env)->GetFloatArrayRegion(env, weights, 0, (jsize)c->class_weight_count, options->class_weights);
  c->class_weights = options->class_weights;
}

static void read_key(JNIEnv* env, binding_options* options, jbyteArray key) {
  if (key == NULL) return;
  const size_t size = (size_t)(*env)->GetArrayLength(env, key);
  options->checkpoint_key = malloc(size + 1);
  if (options->checkpoint_key == NULL) {
    throw_out_of_memory(env);
    return;
  }
  (*env)->GetByteArrayRegion(env, key, 0, (jsize)size, options->checkpoint_key);
  options->c.checkpoint_key = (const uint8_t*)options->checkpoint_key;
  options->c.checkpoint_key_size = size;
}

/* Element i of an array of objects. */
static jobject part(JNIEnv* env, jobjectArray flat, jsize i) {
  if ((*env)->ExceptionCheck(env)) return NULL;
  const jobject element = (*env)->GetObjectArrayElement(env, flat, i);
  return (*env)->ExceptionCheck(env) ? NULL : element;
}

int binding_read_options(JNIEnv* env, binding_options* options, jobjectArray flat) {
  *options = (binding_options){.c.struct_size = sizeof options->c};
  coterie_train_options* c = &options->c;
  const jobjectArray texts = part(env, flat, 0);
  for (jsize i = 0; i < kTexts && !(*env)->ExceptionCheck(env); ++i) {
    const jbyteArray text = (*env)->GetObjectArrayElement(env, texts, i);
    options->texts[i] = binding_text(env, text);
    (*env)->DeleteLocalRef(env, text);
  }
  c->loss = options->texts[0], c->optimizer = options->texts[1], c->schedule = options->texts[2];
  c->lora = options->texts[3], c->storage = options->texts[4], c->loss_scale = options->texts[5];
  c->augment = options->texts[6], c->ignore_label = options->texts[7], c->qat = options->texts[8];
  c->optimise = options->texts[9];
  if (!(*env)->ExceptionCheck(env)) read_numbers(env, c, part(env, flat, 1), part(env, flat, 2));
  size_t counts[kLists] = {0};
  for (jsize i = 0; i < kLists && !(*env)->ExceptionCheck(env); ++i) {
    options->lists[i] = binding_texts(env, part(env, flat, 3 + i), &counts[i]);
  }
  c->freeze = (const char* const*)options->lists[0], c->freeze_count = counts[0];
  c->train_only = (const char* const*)options->lists[1], c->train_only_count = counts[1];
  c->channels = (const char* const*)options->lists[2], c->channel_count = counts[2];
  c->groups = (const char* const*)options->lists[3], c->group_count = counts[3];
  c->heads = (const char* const*)options->lists[4], c->head_count = counts[4];
  if (!(*env)->ExceptionCheck(env)) read_weights(env, options, part(env, flat, 3 + kLists));
  if (!(*env)->ExceptionCheck(env)) read_key(env, options, part(env, flat, 4 + kLists));
  return (*env)->ExceptionCheck(env) ? -1 : 0;
}

void binding_free_texts(char** texts) {
  for (char** text = texts; text != NULL && *text != NULL; ++text) free(*text);
  free(texts);
}

void binding_free_options(binding_options* options) {
  for (int i = 0; i < kTexts; ++i) free(options->texts[i]);
  for (int i = 0; i < kLists; ++i) binding_free_texts(options->lists[i]);
  free(options->class_weights);
  volatile jbyte* key = options->checkpoint_key; /* volatile: the compiler keeps the wiping */
  for (size_t i = 0; i < options->c.checkpoint_key_size; ++i) key[i] = 0;
  free(options->checkpoint_key);
}
