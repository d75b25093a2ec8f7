/* What the JNI files share. They are C11 over coterie.h and coterie_train.h alone.
 *
 * Handles are pointers in a jlong; Java sets its own to 0 when it closes one, and the C functions say what is
 * wrong with NULL. A trainer and a client hold their data set, and a data set the pushed examples it shows:
 * Java may close them in any order. Texts cross as UTF-8 in byte arrays, because JNI's own strings are of a
 * modified UTF-8.
 */
#pragma once

#include <coterie_train.h>
#include <jni.h>
#include <stdatomic.h>

#define NATIVE(type, name) JNIEXPORT type JNICALL Java_org_coterie_Native_##name

/* The JVM, from JNI_OnLoad on. */
extern JavaVM* binding_vm;
JNIEnv* binding_env(void);

/* NUL-terminated; NULL for null, and with an OutOfMemoryError pending. To be freed. */
char* binding_text(JNIEnv* env, jbyteArray utf8);
jbyteArray binding_bytes(JNIEnv* env, const void* bytes, size_t count);
jbyteArray binding_utf8(JNIEnv* env, const char* text);

/* Makes a CoterieException pending, unless there is an exception already. */
void binding_throw(JNIEnv* env, coterie_status status, const char* text);
/* A new object of a class of ours, by its only constructor. */
jobject binding_new(JNIEnv* env, const char* class_name, const char* signature, ...);

/* A data set, as Java sees it. Counted references. */
typedef struct binding_dataset {
  coterie_dataset c;
  atomic_int references;
  struct binding_examples* examples; /* what c refers to, or NULL */
  jobject reader;                    /* Dataset.Reader, or NULL; the rest is its */
  jobject example;                   /* Example, made at the first read */
  uint64_t size;
  jthrowable thrown;
} binding_dataset;

typedef struct binding_examples {
  coterie_examples* c;
  atomic_int references;
} binding_examples;

binding_dataset* binding_hold(binding_dataset* dataset);
void binding_release(JNIEnv* env, binding_dataset* dataset);
/* After a call that may have read from it: what the reader threw, or what the library says. Returns whether
 * all is well. */
int binding_check(JNIEnv* env, binding_dataset* dataset, coterie_status status, const char* text);

/* The C struct of what TrainOptions.java flattens, and the memory it refers to. */
typedef struct binding_options {
  coterie_train_options c;
  char* texts[10];
  char** lists[5]; /* freeze, train_only, channels, groups, heads */
  jfloat* class_weights;
  jbyte* checkpoint_key;
} binding_options;

/* The texts of a byte[][]: NULL for an empty array, and with an exception pending; else behind the last is a NULL.
 * To be freed. */
char** binding_texts(JNIEnv* env, jobjectArray array, size_t* count);
void binding_free_texts(char** texts);

/* Reads TrainOptions.flat(). 0, or -1 with an exception pending. To be freed in either case. */
int binding_read_options(JNIEnv* env, binding_options* options, jobjectArray flat);
void binding_free_options(binding_options* options);
