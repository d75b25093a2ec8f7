/* Data sets: files, pushed examples, and a Java object that is called back. */
#include <stdint.h>
#include <stdlib.h>

#include "device_sdk/bindings/java/jni/binding.h"

static binding_examples* examples_of(jlong handle) { return (binding_examples*)(intptr_t)handle; }
static binding_dataset* dataset_of(jlong handle) { return (binding_dataset*)(intptr_t)handle; }

static void release_examples(binding_examples* examples) {
  if (examples == NULL || atomic_fetch_sub(&examples->references, 1) > 1) return;
  coterie_examples_close(&examples->c);
  free(examples);
}

/* One reference, the caller's. */
static binding_dataset* new_dataset(JNIEnv* env) {
  binding_dataset* dataset = calloc(1, sizeof *dataset);
  if (dataset == NULL) {
    binding_throw(env, COTERIE_INTERNAL, "out of memory");
    return NULL;
  }
  dataset->c.struct_size = sizeof dataset->c;
  atomic_init(&dataset->references, 1);
  return dataset;
}

binding_dataset* binding_hold(binding_dataset* dataset) {
  if (dataset != NULL) atomic_fetch_add(&dataset->references, 1);
  return dataset;
}

void binding_release(JNIEnv* env, binding_dataset* dataset) {
  if (dataset == NULL || atomic_fetch_sub(&dataset->references, 1) > 1) return;
  coterie_dataset_close(&dataset->c);
  release_examples(dataset->examples);
  (*env)->DeleteGlobalRef(env, dataset->reader);
  (*env)->DeleteGlobalRef(env, dataset->example);
  (*env)->DeleteGlobalRef(env, dataset->thrown);
  free(dataset);
}

int binding_check(JNIEnv* env, binding_dataset* dataset, coterie_status status, const char* text) {
  if (dataset != NULL && dataset->thrown != NULL) {
    const jthrowable thrown = (*env)->NewLocalRef(env, dataset->thrown);
    (*env)->DeleteGlobalRef(env, dataset->thrown);
    dataset->thrown = NULL;
    if (status != COTERIE_OK) (*env)->Throw(env, thrown);
  }
  if (status != COTERIE_OK) binding_throw(env, status, text);
  return status == COTERIE_OK;
}

/* ---- Callbacks: an exception must not be pending while the library goes on, so it is put by. */

static int put_exception_by(JNIEnv* env, binding_dataset* dataset) {
  const jthrowable thrown = (*env)->ExceptionOccurred(env);
  if (thrown == NULL) return 0;
  (*env)->ExceptionClear(env);
  (*env)->DeleteGlobalRef(env, dataset->thrown);
  dataset->thrown = (*env)->NewGlobalRef(env, thrown);
  return 1;
}

static uint64_t size_of(void* context) { return ((binding_dataset*)context)->size; }

static int make_example(JNIEnv* env, binding_dataset* dataset, const coterie_example* from) {
  const jsize places = (jsize)from->input_count + 1;
  const jintArray counts = (*env)->NewIntArray(env, places);
  if (counts == NULL) return -1;
  for (jsize i = 0; i < places; ++i) {
    const jint count = (jint)(i + 1 < places ? from->inputs[i].count : from->target.count);
    (*env)->SetIntArrayRegion(env, counts, i, 1, &count);
  }
  const jobject example = binding_new(env, "org/coterie/Example", "([I)V", counts);
  if (example != NULL) dataset->example = (*env)->NewGlobalRef(env, example);
  return dataset->example == NULL ? -1 : 0;
}

/* What Example.java has in a place, a float[] or an int[] of its size. */
static int copy_place(JNIEnv* env, jobjectArray places, jsize index, const coterie_place* to) {
  const jarray values = (*env)->GetObjectArrayElement(env, places, index);
  if (values == NULL || (size_t)(*env)->GetArrayLength(env, values) != to->count) {
    binding_throw(env, COTERIE_INVALID_ARGUMENT, "the reader has not filled every input and the target");
    return -1;
  }
  if ((*env)->IsInstanceOf(env, values, (*env)->FindClass(env, "[F"))) {
    (*env)->GetFloatArrayRegion(env, values, 0, (jsize)to->count, to->floats);
  } else {
    (*env)->GetIntArrayRegion(env, values, 0, (jsize)to->count, (jint*)to->ints);
  }
  return 0;
}

static int read_from_java(JNIEnv* env, binding_dataset* dataset, uint64_t index, const coterie_example* to) {
  if (dataset->example == NULL && make_example(env, dataset, to) != 0) return -1;
  const jclass reader = (*env)->GetObjectClass(env, dataset->reader);
  const jmethodID read = (*env)->GetMethodID(env, reader, "read", "(JLorg/coterie/Example;)V");
  if (read == NULL) return -1;
  (*env)->CallVoidMethod(env, dataset->reader, read, (jlong)index, dataset->example);
  if ((*env)->ExceptionCheck(env)) return -1;
  const jclass example = (*env)->GetObjectClass(env, dataset->example);
  const jfieldID field = (*env)->GetFieldID(env, example, "places", "[Ljava/lang/Object;");
  if (field == NULL) return -1;
  const jobjectArray places = (*env)->GetObjectField(env, dataset->example, field);
  for (size_t i = 0; i < to->input_count; ++i) {
    if (copy_place(env, places, (jsize)i, &to->inputs[i]) != 0) return -1;
  }
  return copy_place(env, places, (jsize)to->input_count, &to->target);
}

static int read_example(void* context, uint64_t index, const coterie_example* to) {
  binding_dataset* dataset = context;
  JNIEnv* env = binding_env();
  if (env == NULL || (*env)->PushLocalFrame(env, 16 + (jint)to->input_count * 2) != 0) return -1;
  const int result = read_from_java(env, dataset, index, to);
  const int thrown = put_exception_by(env, dataset);
  (*env)->PopLocalFrame(env, NULL);
  return thrown ? -1 : result;
}

/* ---- Native.java ---- */

NATIVE(jlong, datasetOpen)(JNIEnv* env, jclass type, jbyteArray path) {
  (void)type;
  char error[1024] = "";
  binding_dataset* dataset = new_dataset(env);
  char* text = binding_text(env, path);
  if (dataset == NULL || (*env)->ExceptionCheck(env)) {
    free(text);
    free(dataset);
    return 0;
  }
  const coterie_status status = coterie_dataset_open(text, &dataset->c, error, sizeof error);
  free(text);
  if (status == COTERIE_OK) return (jlong)(intptr_t)dataset;
  free(dataset);
  binding_throw(env, status, error);
  return 0;
}

NATIVE(jlong, datasetOf)(JNIEnv* env, jclass type, jlong size, jobject reader) {
  (void)type;
  binding_dataset* dataset = new_dataset(env);
  if (dataset == NULL) return 0;
  dataset->size = (uint64_t)size;
  dataset->reader = (*env)->NewGlobalRef(env, reader);
  dataset->c.context = dataset;
  dataset->c.size = &size_of;
  dataset->c.read_example = &read_example;
  return (jlong)(intptr_t)dataset;
}

NATIVE(jlong, datasetSize)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  const binding_dataset* dataset = dataset_of(handle);
  return dataset == NULL ? 0 : (jlong)dataset->c.size(dataset->c.context);
}

NATIVE(void, datasetClose)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  binding_release(env, dataset_of(handle));
}

NATIVE(jlong, examplesOpen)(JNIEnv* env, jclass type, jlong model) {
  (void)type;
  char error[1024] = "";
  binding_examples* examples = calloc(1, sizeof *examples);
  if (examples == NULL) {
    binding_throw(env, COTERIE_INTERNAL, "out of memory");
    return 0;
  }
  atomic_init(&examples->references, 1);
  const coterie_status status =
      coterie_examples_open((coterie_model*)(intptr_t)model, &examples->c, error, sizeof error);
  if (status == COTERIE_OK) return (jlong)(intptr_t)examples;
  free(examples);
  binding_throw(env, status, error);
  return 0;
}

NATIVE(void, examplesAdd)(JNIEnv* env, jclass type, jlong handle, jfloatArray features, jint label) {
  (void)type;
  binding_examples* examples = examples_of(handle);
  coterie_examples* c = examples == NULL ? NULL : examples->c;
  const jsize count = (*env)->GetArrayLength(env, features);
  jfloat* values = (*env)->GetFloatArrayElements(env, features, NULL);
  if (values == NULL) return;
  const coterie_status status = coterie_examples_add(c, values, (size_t)count, label);
  (*env)->ReleaseFloatArrayElements(env, features, values, JNI_ABORT);
  if (status != COTERIE_OK) binding_throw(env, status, coterie_examples_last_error(c));
}

NATIVE(jlong, examplesCount)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  return handle == 0 ? 0 : (jlong)coterie_examples_count(examples_of(handle)->c);
}

NATIVE(void, examplesClear)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_examples* c = handle == 0 ? NULL : examples_of(handle)->c;
  const coterie_status status = coterie_examples_clear(c);
  if (status != COTERIE_OK) binding_throw(env, status, coterie_examples_last_error(c));
}

NATIVE(jlong, examplesDataset)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  binding_examples* examples = examples_of(handle);
  coterie_examples* c = examples == NULL ? NULL : examples->c;
  binding_dataset* dataset = new_dataset(env);
  if (dataset == NULL) return 0;
  const coterie_status status = coterie_examples_dataset(c, &dataset->c);
  if (status != COTERIE_OK) {
    free(dataset);
    binding_throw(env, status, coterie_examples_last_error(c));
    return 0;
  }
  atomic_fetch_add(&examples->references, 1);
  dataset->examples = examples;
  return (jlong)(intptr_t)dataset;
}

NATIVE(void, examplesClose)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  release_examples(examples_of(handle));
}
