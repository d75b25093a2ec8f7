/* Models and trainers. */
#include <stdint.h>
#include <stdlib.h>

#include "device_sdk/bindings/java/jni/binding.h"

typedef struct binding_trainer {
  coterie_trainer* c;
  binding_dataset* dataset;
} binding_trainer;

static coterie_model* model_of(jlong handle) { return (coterie_model*)(intptr_t)handle; }
static binding_dataset* dataset_of(jlong handle) { return (binding_dataset*)(intptr_t)handle; }
static binding_trainer* trainer_of(jlong handle) { return (binding_trainer*)(intptr_t)handle; }
static coterie_trainer* c_of(jlong handle) { return handle == 0 ? NULL : trainer_of(handle)->c; }

static int check_model(JNIEnv* env, jlong handle, coterie_status status) {
  if (status != COTERIE_OK) binding_throw(env, status, coterie_model_last_error(model_of(handle)));
  return status == COTERIE_OK;
}

static int check_trainer(JNIEnv* env, jlong handle, coterie_status status) {
  binding_dataset* dataset = handle == 0 ? NULL : trainer_of(handle)->dataset;
  return binding_check(env, dataset, status, coterie_trainer_last_error(c_of(handle)));
}

/* ---- Models ---- */

NATIVE(jlong, modelOpen)(JNIEnv* env, jclass type, jbyteArray path) {
  (void)type;
  char error[1024] = "";
  char* text = binding_text(env, path);
  if ((*env)->ExceptionCheck(env)) return 0;
  coterie_model* model = NULL;
  const coterie_status status = coterie_model_open(text, &model, error, sizeof error);
  free(text);
  if (status != COTERIE_OK) binding_throw(env, status, error);
  return (jlong)(intptr_t)model;
}

NATIVE(jlong, modelOpenBytes)(JNIEnv* env, jclass type, jbyteArray bytes) {
  (void)type;
  char error[1024] = "";
  const jsize count = (*env)->GetArrayLength(env, bytes);
  jbyte* values = (*env)->GetByteArrayElements(env, bytes, NULL);
  if (values == NULL) return 0;
  coterie_model* model = NULL;
  const coterie_status status =
      coterie_model_open_bytes((const uint8_t*)values, (size_t)count, &model, error, sizeof error);
  (*env)->ReleaseByteArrayElements(env, bytes, values, JNI_ABORT);
  if (status != COTERIE_OK) binding_throw(env, status, error);
  return (jlong)(intptr_t)model;
}

NATIVE(void, modelClose)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  coterie_model* model = model_of(handle);
  coterie_model_close(&model);
}

NATIVE(jobject, modelInfo)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_model_info info = {.struct_size = sizeof info};
  if (!check_model(env, handle, coterie_model_describe(model_of(handle), &info))) return NULL;
  const jbyteArray name = binding_utf8(env, info.name);
  if (name == NULL) return NULL;
  return binding_new(env, "org/coterie/ModelInfo", "([BIIIJJJDZ)V", name, (jint)info.input_count,
                     (jint)info.output_count, (jint)info.parameter_count, (jlong)info.parameters,
                     (jlong)info.flat_count, (jlong)info.file_bytes, (jdouble)info.flops,
                     (jboolean)info.computes_in_int8);
}

/* `kind` 0: input `index`; 1: parameter `index`; 2: output `index`. */
NATIVE(jobject, modelTensor)(JNIEnv* env, jclass type, jlong handle, jint kind, jint index) {
  (void)type;
  coterie_tensor tensor = {.struct_size = sizeof tensor};
  coterie_model* model = model_of(handle);
  const size_t i = (size_t)(uint32_t)index;
  const coterie_status status = kind == 0   ? coterie_model_input(model, i, &tensor)
                                : kind == 1 ? coterie_model_parameter(model, i, &tensor)
                                            : coterie_model_output_at(model, i, &tensor);
  if (!check_model(env, handle, status)) return NULL;
  const jbyteArray name = binding_utf8(env, tensor.name);
  const jlongArray shape = name == NULL ? NULL : (*env)->NewLongArray(env, (jsize)tensor.rank);
  if (shape == NULL) return NULL;
  for (size_t k = 0; k < tensor.rank; ++k) {
    const jlong dimension = tensor.shape[k];
    (*env)->SetLongArrayRegion(env, shape, (jsize)k, 1, &dimension);
  }
  const jboolean is_int = tensor.type == COTERIE_TYPE_INT32;
  return binding_new(env, "org/coterie/Tensor", "([BZ[JJ)V", name, is_int, shape, (jlong)tensor.elements);
}

/* Calls one of the functions that take a name and values, on a model or a trainer. */
typedef enum { kGet, kSet, kGetTrained } parameter_call;

static void with_parameter(JNIEnv* env, jlong handle, parameter_call call, jbyteArray name, jfloatArray values) {
  char* text = binding_text(env, name);
  if ((*env)->ExceptionCheck(env)) return;
  const size_t count = (size_t)(*env)->GetArrayLength(env, values);
  jfloat* data = (*env)->GetFloatArrayElements(env, values, NULL);
  coterie_status status = COTERIE_OK;
  if (data != NULL) {
    status = call == kGet   ? coterie_model_get_parameter(model_of(handle), text, data, count)
             : call == kSet ? coterie_model_set_parameter(model_of(handle), text, data, count)
                            : coterie_trainer_get_parameter(c_of(handle), text, data, count);
    (*env)->ReleaseFloatArrayElements(env, values, data, call == kSet ? JNI_ABORT : 0);
  }
  free(text);
  if (call == kGetTrained) {
    check_trainer(env, handle, status);
  } else {
    check_model(env, handle, status);
  }
}

NATIVE(void, modelGet)(JNIEnv* env, jclass type, jlong handle, jbyteArray name, jfloatArray values) {
  (void)type;
  with_parameter(env, handle, kGet, name, values);
}

NATIVE(void, modelSet)(JNIEnv* env, jclass type, jlong handle, jbyteArray name, jfloatArray values) {
  (void)type;
  with_parameter(env, handle, kSet, name, values);
}

/* Arrays of a call as C sees them. */
typedef struct held_arrays {
  coterie_values* values;
  jarray* arrays;
  size_t count;
} held_arrays;

/* `arrays` are float[] and int[]. 0, or -1 with an exception pending. To be released in either case. */
static int hold_arrays(JNIEnv* env, jobjectArray arrays, held_arrays* held) {
  const size_t count = (size_t)(*env)->GetArrayLength(env, arrays);
  const jclass floats = (*env)->FindClass(env, "[F");
  held->count = 0;
  held->values = calloc(count + 1, sizeof *held->values);
  held->arrays = calloc(count + 1, sizeof *held->arrays);
  if (held->values == NULL || held->arrays == NULL || floats == NULL ||
      (*env)->EnsureLocalCapacity(env, (jint)count + 4) != 0) {
    binding_throw(env, COTERIE_INTERNAL, "out of memory");
    return -1;
  }
  for (size_t i = 0; i < count; ++i) {
    const jarray array = (*env)->GetObjectArrayElement(env, arrays, (jsize)i);
    coterie_values* values = &held->values[i];
    held->arrays[i] = array;
    values->count = (size_t)(*env)->GetArrayLength(env, array);
    if ((*env)->IsInstanceOf(env, array, floats)) {
      values->floats = (*env)->GetFloatArrayElements(env, array, NULL);
    } else {
      values->ints = (const int32_t*)(*env)->GetIntArrayElements(env, array, NULL);
    }
    if ((*env)->ExceptionCheck(env)) return -1;
    ++held->count;
  }
  return 0;
}

/* `mode` is JNI_ABORT where C has only read them. */
static void release_arrays(JNIEnv* env, held_arrays* held, jint mode) {
  for (size_t i = 0; i < held->count; ++i) {
    const coterie_values* values = &held->values[i];
    const jarray array = held->arrays[i];
    if (values->floats != NULL) (*env)->ReleaseFloatArrayElements(env, array, (jfloat*)values->floats, mode);
    if (values->ints != NULL) (*env)->ReleaseIntArrayElements(env, array, (jint*)values->ints, mode);
  }
  free(held->values);
  free(held->arrays);
}

NATIVE(void, modelPredict)
(JNIEnv* env, jclass type, jlong handle, jobjectArray inputs, jint examples, jfloatArray output) {
  (void)type;
  held_arrays given;
  jfloat* result = NULL;
  if (hold_arrays(env, inputs, &given) == 0) result = (*env)->GetFloatArrayElements(env, output, NULL);
  if (result != NULL) {
    const coterie_status status = coterie_model_predict(model_of(handle), given.values, given.count, (size_t)examples,
                                                        result, (size_t)(*env)->GetArrayLength(env, output));
    (*env)->ReleaseFloatArrayElements(env, output, result, 0);
    check_model(env, handle, status);
  }
  release_arrays(env, &given, JNI_ABORT);
}

/* `outputs` are a float[] each. */
NATIVE(void, modelPredictAll)
(JNIEnv* env, jclass type, jlong handle, jobjectArray inputs, jint examples, jobjectArray outputs) {
  (void)type;
  held_arrays given, filled = {NULL, NULL, 0};
  float** places = NULL;
  size_t* sizes = NULL;
  if (hold_arrays(env, inputs, &given) == 0 && hold_arrays(env, outputs, &filled) == 0) {
    places = calloc(filled.count + 1, sizeof *places);
    sizes = calloc(filled.count + 1, sizeof *sizes);
    if (places == NULL || sizes == NULL) {
      binding_throw(env, COTERIE_INTERNAL, "out of memory");
    } else {
      for (size_t i = 0; i < filled.count; ++i) {
        places[i] = (float*)filled.values[i].floats;
        sizes[i] = filled.values[i].count;
      }
      check_model(env, handle,
                  coterie_model_predict_all(model_of(handle), given.values, given.count, (size_t)examples,
                                            (float* const*)places, sizes, filled.count));
    }
  }
  release_arrays(env, &filled, 0);
  release_arrays(env, &given, JNI_ABORT);
  free(places);
  free(sizes);
}

NATIVE(jobject, modelEvaluate)
(JNIEnv* env, jclass type, jlong handle, jlong data, jobjectArray flat) {
  (void)type;
  binding_options options;
  binding_dataset* dataset = dataset_of(data);
  coterie_evaluation result = {.struct_size = sizeof result};
  coterie_status status = COTERIE_INTERNAL;
  if (binding_read_options(env, &options, flat) == 0) {
    status = coterie_model_evaluate(model_of(handle), dataset == NULL ? NULL : &dataset->c, &options.c, &result);
    binding_check(env, dataset, status, coterie_model_last_error(model_of(handle)));
  }
  binding_free_options(&options);
  if (status != COTERIE_OK) return NULL;
  return binding_new(env, "org/coterie/Evaluation", "(JDD)V", (jlong)result.examples, result.loss_mean,
                     result.accuracy);
}

static jobject head_of(JNIEnv* env, const coterie_head* head) {
  const jbyteArray output = binding_utf8(env, head->output);
  const jbyteArray loss = output == NULL ? NULL : binding_utf8(env, head->loss);
  const jbyteArray measure = loss == NULL ? NULL : binding_utf8(env, head->measure);
  if (measure == NULL) return NULL;
  return binding_new(env, "org/coterie/Head", "([B[BDJD[BD)V", output, loss, head->weight, (jlong)head->rows,
                     head->loss_mean, measure, head->value);
}

static jobjectArray heads_of(JNIEnv* env, const coterie_head* heads, size_t count) {
  const jclass type = (*env)->FindClass(env, "org/coterie/Head");
  const jobjectArray all = type == NULL ? NULL : (*env)->NewObjectArray(env, (jsize)count, type, NULL);
  for (size_t i = 0; all != NULL && i < count; ++i) {
    if ((*env)->PushLocalFrame(env, 8) != 0) return NULL;
    const jobject head = (*env)->PopLocalFrame(env, head_of(env, &heads[i]));
    if (head == NULL) return NULL;
    (*env)->SetObjectArrayElement(env, all, (jsize)i, head);
    (*env)->DeleteLocalRef(env, head);
  }
  return all;
}

NATIVE(jobjectArray, modelEvaluateHeads)
(JNIEnv* env, jclass type, jlong handle, jlong data, jobjectArray flat) {
  (void)type;
  binding_options options;
  binding_dataset* dataset = dataset_of(data);
  jobjectArray evaluated = NULL;
  if (binding_read_options(env, &options, flat) == 0) {
    const size_t count = options.c.head_count;
    coterie_head* heads = calloc(count + 1, sizeof *heads);
    for (size_t i = 0; heads != NULL && i < count; ++i) heads[i].struct_size = sizeof *heads;
    if (heads == NULL) {
      binding_throw(env, COTERIE_INTERNAL, "out of memory");
    } else {
      const coterie_status status = coterie_model_evaluate_heads(model_of(handle), dataset == NULL ? NULL : &dataset->c,
                                                                 &options.c, heads, count, NULL);
      if (binding_check(env, dataset, status, coterie_model_last_error(model_of(handle)))) {
        evaluated = heads_of(env, heads, count);
      }
    }
    free(heads);
  }
  binding_free_options(&options);
  return evaluated;
}

NATIVE(jdoubleArray, modelMeasure)
(JNIEnv* env, jclass type, jlong handle, jlong data, jobjectArray flat, jobjectArray names) {
  (void)type;
  binding_options options;
  binding_dataset* dataset = dataset_of(data);
  size_t count = 0;
  char** texts = NULL;
  double* values = NULL;
  jdoubleArray measured = NULL;
  if (binding_read_options(env, &options, flat) == 0) {
    texts = binding_texts(env, names, &count);
    if (!(*env)->ExceptionCheck(env)) measured = (*env)->NewDoubleArray(env, (jsize)count);
    if (measured != NULL) values = (*env)->GetDoubleArrayElements(env, measured, NULL);
  }
  if (values != NULL) {
    const coterie_status status = coterie_model_measure(model_of(handle), dataset == NULL ? NULL : &dataset->c,
                                                        &options.c, (const char* const*)texts, count, values, NULL);
    (*env)->ReleaseDoubleArrayElements(env, measured, values, 0);
    binding_check(env, dataset, status, coterie_model_last_error(model_of(handle)));
  }
  binding_free_texts(texts);
  binding_free_options(&options);
  return measured;
}

static jobject memory_of(JNIEnv* env, const coterie_train_memory* memory) {
  return binding_new(env, "org/coterie/TrainMemory", "(JJJJJJIID)V", (jlong)memory->arena_bytes,
                     (jlong)memory->parameter_bytes, (jlong)memory->optimizer_bytes, (jlong)memory->gradient_bytes,
                     (jlong)memory->planned_bytes, (jlong)memory->order_bytes, (jint)memory->micro_batch_size,
                     (jint)memory->recomputed_steps, memory->recomputed_share);
}

NATIVE(jobject, modelPlanTraining)
(JNIEnv* env, jclass type, jlong handle, jlong examples, jobjectArray flat) {
  (void)type;
  binding_options options;
  coterie_train_memory memory = {.struct_size = sizeof memory};
  int planned = 0;
  if (binding_read_options(env, &options, flat) == 0) {
    planned = check_model(env, handle,
                          coterie_model_plan_training(model_of(handle), &options.c, (uint64_t)examples, &memory));
  }
  binding_free_options(&options);
  return planned ? memory_of(env, &memory) : NULL;
}

NATIVE(void, modelReplaceHead)
(JNIEnv* env, jclass type, jlong handle, jbyteArray layer, jint classes, jlong seed) {
  (void)type;
  char* text = binding_text(env, layer);
  if ((*env)->ExceptionCheck(env)) return;
  check_model(env, handle, coterie_model_replace_head(model_of(handle), text, (uint32_t)classes, (uint64_t)seed));
  free(text);
}

NATIVE(void, modelSave)(JNIEnv* env, jclass type, jlong handle, jbyteArray path) {
  (void)type;
  char* text = binding_text(env, path);
  if ((*env)->ExceptionCheck(env)) return;
  check_model(env, handle, coterie_model_save(model_of(handle), text));
  free(text);
}

NATIVE(jbyteArray, modelBytes)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  const uint8_t* bytes = NULL;
  size_t count = 0;
  if (!check_model(env, handle, coterie_model_bytes(model_of(handle), &bytes, &count))) return NULL;
  return binding_bytes(env, bytes, count);
}

/* ---- Trainers ---- */

NATIVE(jlong, trainerOpen)
(JNIEnv* env, jclass type, jlong model, jlong data, jobjectArray flat) {
  (void)type;
  char error[1024] = "out of memory";
  binding_options options;
  binding_dataset* dataset = dataset_of(data);
  binding_trainer* trainer = calloc(1, sizeof *trainer);
  coterie_status status = COTERIE_INTERNAL;
  if (binding_read_options(env, &options, flat) == 0 && trainer != NULL) {
    status = coterie_trainer_open(model_of(model), &options.c, dataset == NULL ? NULL : &dataset->c, &trainer->c, error,
                                  sizeof error);
  }
  binding_free_options(&options);
  if (binding_check(env, dataset, status, error)) {
    trainer->dataset = binding_hold(dataset);
    return (jlong)(intptr_t)trainer;
  }
  free(trainer);
  return 0;
}

NATIVE(void, trainerClose)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  binding_trainer* trainer = trainer_of(handle);
  if (trainer == NULL) return;
  coterie_trainer_close(&trainer->c);
  binding_release(env, trainer->dataset);
  free(trainer);
}

static jobject progress_of(JNIEnv* env, const coterie_train_progress* progress) {
  return binding_new(env, "org/coterie/TrainProgress", "(ZJJJDDDD)V", (jboolean)(progress->finished != 0),
                     (jlong)progress->steps, (jlong)progress->steps_in_all, (jlong)progress->examples,
                     progress->step_loss, progress->loss_mean, progress->accuracy, progress->learning_rate);
}

NATIVE(jobject, trainerStep)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_train_progress progress = {.struct_size = sizeof progress};
  if (!check_trainer(env, handle, coterie_trainer_step(c_of(handle), &progress))) return NULL;
  return progress_of(env, &progress);
}

NATIVE(jobject, trainerProgress)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_train_progress progress = {.struct_size = sizeof progress};
  if (!check_trainer(env, handle, coterie_trainer_progress(c_of(handle), &progress))) return NULL;
  return progress_of(env, &progress);
}

NATIVE(jobject, trainerHead)(JNIEnv* env, jclass type, jlong handle, jint index) {
  (void)type;
  coterie_head head = {.struct_size = sizeof head};
  if (!check_trainer(env, handle, coterie_trainer_head(c_of(handle), (size_t)(uint32_t)index, &head))) return NULL;
  return head_of(env, &head);
}

NATIVE(jobject, trainerMemory)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_train_memory memory = {.struct_size = sizeof memory};
  if (!check_trainer(env, handle, coterie_trainer_memory(c_of(handle), &memory))) return NULL;
  return memory_of(env, &memory);
}

static void with_path(JNIEnv* env, jlong handle, jbyteArray path,
                      coterie_status (*call)(coterie_trainer* trainer, const char* path)) {
  char* text = binding_text(env, path);
  if ((*env)->ExceptionCheck(env)) return;
  check_trainer(env, handle, call(c_of(handle), text));
  free(text);
}

NATIVE(void, trainerSaveCheckpoint)(JNIEnv* env, jclass type, jlong handle, jbyteArray path) {
  (void)type;
  with_path(env, handle, path, &coterie_trainer_save_checkpoint);
}

NATIVE(void, trainerRestoreCheckpoint)(JNIEnv* env, jclass type, jlong handle, jbyteArray path) {
  (void)type;
  with_path(env, handle, path, &coterie_trainer_restore_checkpoint);
}

NATIVE(jlong, trainerModel)(JNIEnv* env, jclass type, jlong handle) {
  (void)type;
  coterie_model* model = NULL;
  check_trainer(env, handle, coterie_trainer_model(c_of(handle), &model));
  return (jlong)(intptr_t)model;
}

NATIVE(void, trainerGet)(JNIEnv* env, jclass type, jlong handle, jbyteArray name, jfloatArray values) {
  (void)type;
  with_parameter(env, handle, kGetTrained, name, values);
}
