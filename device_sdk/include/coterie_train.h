/* Coterie device SDK: training on the device, by the app itself and without a server.
 *
 * An app opens a model file, opens a trainer on it with its examples, steps, and takes the trained model out of it,
 * which it can ask, judge and save. The rules of coterie.h hold here too; "client" there is any handle here:
 *   - A handle is used by one thread at a time; different handles are independent. A trainer keeps what it needs of its
 *     model, which may be closed before it.
 *   - Every function on a handle returns INVALID_ARGUMENT if the handle is NULL, and leaves one sentence behind when it
 *     fails, which the handle's _last_error has until the next failure.
 *   - Handles are closed by functions that take their address, set it to NULL and do nothing for NULL, twice included.
 */
#ifndef COTERIE_TRAIN_H
#define COTERIE_TRAIN_H

#include "coterie.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- A model ------------------------------------------------------------------------------------------------------
 */

typedef enum coterie_type { COTERIE_TYPE_FLOAT32 = 1, COTERIE_TYPE_INT32 = 2 } coterie_type;

/* An input, the output or a parameter of a model. */
typedef struct coterie_tensor {
  size_t struct_size;
  const char* name;
  coterie_type type;
  size_t rank;
  const int64_t* shape; /* `rank` numbers; images are height, width, channels. Without the batch: of one example */
  uint64_t elements;    /* their product */
} coterie_tensor;

typedef struct coterie_model_info {
  size_t struct_size;
  const char* name;
  size_t input_count;
  size_t parameter_count; /* tensors, running statistics included: what coterie_model_parameter counts */
  uint64_t parameters;    /* numbers in them */
  uint64_t flat_count;    /* the same with the padding between them: what coterie_trainer_delta fills */
  uint64_t file_bytes;
  double flops;         /* floating-point operations of one example's forward pass */
  size_t output_count;  /* the model's own with them: what coterie_model_output_at counts; 1 if it computes in int8 */
  int computes_in_int8; /* 1: coterie_model_open says what that means; else 0 */
} coterie_model_info;

/* Numbers that are given: one of the two pointers, of the type that is asked for; the other is NULL. */
typedef struct coterie_values {
  const float* floats;
  const int32_t* ints;
  size_t count;
} coterie_values;

typedef struct coterie_evaluation {
  size_t struct_size;
  uint64_t examples;
  double loss_mean; /* with class weights the weighted mean that training lowers; may be infinite or NaN: that is what
                       such parameters are worth */
  double accuracy;  /* in [0, 1]; 0 for a regression */
} coterie_evaluation;

typedef struct coterie_model coterie_model;
typedef struct coterie_train_options coterie_train_options;

/* Opens a model file, or the bytes of one, which are copied. One that computes in int8 (`coterie model quantise
 * --full`) predicts and is evaluated by its integers, to the same bits on every machine; its parameters are those of
 * the float32 model that it was rounded from. What trains it, changes its weights or judges several heads is
 * INVALID_ARGUMENT. On failure *model is NULL and error_text (it may be NULL)
 * has a sentence, as in coterie_client_open. Errors: INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, MALFORMED,
 * TOO_LARGE, UNSUPPORTED_VERSION. */
COTERIE_API coterie_status coterie_model_open(const char* path, coterie_model** model, char* error_text,
                                              size_t error_text_size);
COTERIE_API coterie_status coterie_model_open_bytes(const uint8_t* bytes, size_t count, coterie_model** model,
                                                    char* error_text, size_t error_text_size);
COTERIE_API void coterie_model_close(coterie_model** model);
COTERIE_API const char* coterie_model_last_error(const coterie_model* model);

/* The texts and shapes they fill in belong to the model, and are valid until it is closed or a parameter is set. */
COTERIE_API coterie_status coterie_model_describe(coterie_model* model, coterie_model_info* info);
COTERIE_API coterie_status coterie_model_input(coterie_model* model, size_t index, coterie_tensor* tensor);
COTERIE_API coterie_status coterie_model_output(coterie_model* model, coterie_tensor* tensor);
/* All of its outputs: 0 is the model's own, which coterie_model_output gives. */
COTERIE_API coterie_status coterie_model_output_at(coterie_model* model, size_t index, coterie_tensor* tensor);
COTERIE_API coterie_status coterie_model_parameter(coterie_model* model, size_t index, coterie_tensor* tensor);

/* One parameter, by its name; `count` must be its number of elements. Setting makes a new model file in memory, at the
 * cost of opening one; trainers that are open keep the values they have. NOT_FOUND, INVALID_ARGUMENT (another count),
 * MALFORMED (a value that is not finite). */
COTERIE_API coterie_status coterie_model_get_parameter(coterie_model* model, const char* name, float* values,
                                                       size_t count);
COTERIE_API coterie_status coterie_model_set_parameter(coterie_model* model, const char* name, const float* values,
                                                       size_t count);

/* The last dense layer or convolution, by its name, gets as many outputs as there are classes, with fresh weights drawn
 * by the seed: for a trained model and classes of the app's own. As setting a parameter, it makes a new model file in
 * memory. INVALID_ARGUMENT (there is no such layer, or what is behind it does not fit). */
COTERIE_API coterie_status coterie_model_replace_head(coterie_model* model, const char* layer, uint32_t classes,
                                                      uint64_t seed);

/* What the model says of `example_count` examples: inputs[i] has them all for input i, one behind the other; `output`
 * gets example_count times the output's elements, which is what `output_count` must be. */
COTERIE_API coterie_status coterie_model_predict(coterie_model* model, const coterie_values* inputs, size_t input_count,
                                                 size_t example_count, float* output, size_t output_count);

/* Likewise of all the model's outputs: outputs[k] gets example_count times the elements of output k, which is what
 * output_sizes[k] must be. `output_count` must be the model's. INVALID_ARGUMENT also if one is not float32. */
COTERIE_API coterie_status coterie_model_predict_all(coterie_model* model, const coterie_values* inputs,
                                                     size_t input_count, size_t example_count, float* const* outputs,
                                                     const size_t* output_sizes, size_t output_count);

/* How good it is on these examples. Options that count: loss, what belongs to it, batch_size, memory_bytes_max, threads
 * and what `augment` resizes and normalises; NULL is all defaults. Errors: INVALID_ARGUMENT (the data or the loss
 * does not fit), UNAVAILABLE (the data set's `read`), TOO_LARGE. */
COTERIE_API coterie_status coterie_model_evaluate(coterie_model* model, const coterie_dataset* dataset,
                                                  const coterie_train_options* options, coterie_evaluation* evaluation);

/* As coterie_model_evaluate, with further measures by their names (scikit-learn's definitions): values[i] becomes
 * the one of names[i]. Classes have "top-5" (or another number, one of them a call), the means over the classes
 * "precision", "recall" and "f1", and "auc", which needs two; numbers have "mae", "rmse" and "r2"; a cross entropy
 * has "perplexity". `evaluation` may be NULL. On failure values are as they were. Errors: as there, and
 * INVALID_ARGUMENT (there is no such measure, or it does not fit the loss or the examples). */
COTERIE_API coterie_status coterie_model_measure(coterie_model* model, const coterie_dataset* dataset,
                                                 const coterie_train_options* options, const char* const* names,
                                                 size_t name_count, double* values, coterie_evaluation* evaluation);

/* What one of several heads (the option `heads`) has come to. */
typedef struct coterie_head {
  size_t struct_size;
  const char* output; /* the name of the model's output */
  const char* loss;   /* its loss, and how much that counts */
  double weight;
  uint64_t rows;       /* of the output that were compared: those whose label is ignored are not */
  double loss_mean;    /* of those; not weighted */
  const char* measure; /* "accuracy", in [0, 1]; "mae", the mean absolute error; or "none" */
  double value;        /* of that */
} coterie_head;

/* As coterie_model_evaluate of options with heads: heads[i], whose struct_size is set, becomes what the i-th has come
 * to. `head_count` must be the options'. Texts are valid until the model is closed or a parameter is set. `evaluation`
 * may be NULL; its loss is the weighted sum, and its accuracy of the first head. On failure heads are as they were. */
COTERIE_API coterie_status coterie_model_evaluate_heads(coterie_model* model, const coterie_dataset* dataset,
                                                        const coterie_train_options* options, coterie_head* heads,
                                                        size_t head_count, coterie_evaluation* evaluation);

/* The model as a file: written durably, the old one or the new one whatever happens; or its bytes, valid until the
 * model is closed or a parameter is set. */
COTERIE_API coterie_status coterie_model_save(coterie_model* model, const char* path);
COTERIE_API coterie_status coterie_model_bytes(coterie_model* model, const uint8_t** bytes, size_t* count);

/* What came of fine-tuning, on the examples that were held out. */
typedef struct coterie_fine_tuning {
  size_t struct_size;
  int is_better;
  uint64_t held_out;                      /* examples */
  double accuracy_before, accuracy_after; /* of the given model and of the trained one; 0 for a regression */
  double loss_before, loss_after;         /* their mean losses */
} coterie_fine_tuning;

/* Trains a model on the app's examples but for a share that is held out (in (0, 0.5], rounded down; their numbers say
 * which, the same in each call), and keeps the result only if it is better for those: more of them are right, or as
 * many, and their mean loss is lower. Then *tuned is the trained model, a handle of its own; else it is NULL, and the
 * given model is the better one. Nothing leaves the device. `on_step` (it may be NULL) is called between two steps, and
 * ends it all by returning anything but 0. `tuning` may be NULL. LoRA of the options is refused. Errors:
 * INVALID_ARGUMENT (also if the share holds out no example), UNAVAILABLE (the data set's `read`), TOO_LARGE,
 * CANCELLED. */
COTERIE_API coterie_status coterie_model_fine_tune(coterie_model* model, const coterie_train_options* options,
                                                   const coterie_dataset* dataset, float held_out_share,
                                                   int (*on_step)(void* context), void* context,
                                                   coterie_fine_tuning* tuning, coterie_model** tuned);

/* A version of the job's model, however the app came by it, as this device has it: with the parameters that the device
 * keeps to itself in rounds of that job in their place, or the device's own model altogether
 * (docs/operating/personal.md). A handle of its own, which changes with no later round; nothing is asked of a server.
 * On failure *personal is NULL. NOT_FOUND: the device keeps nothing of the job, as no update of it was counted yet, or
 * for too long. DATA_LOSS, INVALID_ARGUMENT: what it keeps is gone, or is of another model. Also from within
 * on_progress of coterie_client_run. */
COTERIE_API coterie_status coterie_client_personal_model(coterie_client* client, const char* job,
                                                         const coterie_model* published, coterie_model** personal);

/* ---- Training -----------------------------------------------------------------------------------------------------
 */

/* Everything may be left 0. Names are of the field: docs/SDK.md lists them. */
struct coterie_train_options {
  size_t struct_size;

  const char* loss;           /* NULL: "softmax_cross_entropy" */
  int targets_are_values;     /* the data give numbers of the output's shape instead of classes */
  float label_smoothing;      /* softmax_cross_entropy, in [0, 1) */
  float loss_threshold;       /* huber's delta, smooth_l1's beta, the embedding losses' margin; 0: 1 */
  const float* class_weights; /* one a class; NULL: ones */
  size_t class_weight_count;

  const char* optimizer; /* NULL: "sgd" */
  float learning_rate;   /* 0: 0.1 of sgd, 0.001 of all others */
  float momentum;        /* sgd, rmsprop */
  int nesterov;          /* sgd */
  float weight_decay;
  float beta1, beta2;   /* adam, adamw, lamb, lion, muon, shampoo; 0: 0.9 and 0.999 */
  float epsilon;        /* 0: 1e-8 */
  float smoothing;      /* rmsprop's alpha, adadelta's rho; 0: 0.99 */
  const char* schedule; /* of the learning rate: "cosine:warmup=100"; NULL: "constant" */

  uint32_t batch_size;       /* examples a step; 0: 32 */
  uint32_t micro_batch_size; /* computed at a time, to save memory; divides batch_size; 0: the whole batch */
  uint32_t epochs;           /* 0: 1 */
  uint32_t steps_max;        /* 0: no limit but the epochs */
  float clip_norm;           /* of the whole gradient; 0: not clipped */
  float clip_value;          /* of each of its numbers; 0: not clipped */

  const char* const* freeze; /* patterns of parameters that stay as they are: "features.*" */
  size_t freeze_count;
  const char* const* train_only; /* patterns; if there are any, all other parameters stay as they are */
  size_t train_only_count;
  int freeze_statistics; /* batch norm uses its running statistics and leaves them alone */

  uint64_t seed;             /* of shuffling and dropout; the same seed gives the same bits */
  uint64_t memory_bytes_max; /* of what coterie_trainer_memory calls arena; 0: 4 GiB */

  uint32_t train_last;         /* only the last so many layers with parameters change; 0: no such limit */
  uint32_t threads;            /* at most 64, the calling one with them; the results are the same bits; 0: 1 */
  const char* const* channels; /* of these parameters only some channels change: "conv*:0-15", "conv*:25%" */
  size_t channel_count;
  const char* const* groups; /* with numbers of their own: "features.*:lr=0.1,decay=0", lr as a factor */
  size_t group_count;
  const char* lora; /* "rank=8:*.weight", "rank=4,alpha=16:*": low-rank companions of these weights are trained
                                 instead of all parameters, and merged wherever parameters are asked for; NULL: none */
  const uint8_t*
      checkpoint_key;         /* checkpoints are encrypted with these 32 bytes, which are copied; NULL: they are not */
  size_t checkpoint_key_size; /* 32, or 0 without a key */
  const char* storage;        /* of activations between forward and backward: "float32", or "bf16", which takes half
                                 the memory and rounds, and computes in bfloat16 where the CPU can; NULL: "float32" */
  const char* loss_scale;     /* "dynamic", or a power of two: the gradient is computed of the loss times it, and a step
                                 whose gradient overflows is skipped; NULL: no scaling */
  uint64_t
      memory_budget_bytes; /* the training is fitted to need no more, arena and order: what does not fit is computed
                                   again, or the batch in parts. TOO_LARGE says the least that would do. 0: none */
  const char* augment; /* the first input, an image, each time it is read: "crop=4,flip,mixup=0.2"; NULL: as it is */
  const char* ignore_label; /* of softmax_cross_entropy and negative_log_likelihood: "-100", "255": what has this label
                               has no loss and no gradient, and is counted nowhere; NULL: every label counts */
  const char* qat;      /* forward computes with the integers that the model will be quantised to: "full" (by `coterie
                          model quantise --full`), "weights", with bits of weights "full:4"; NULL: with float32 */
  const char* optimise; /* neighbouring ops that are computed as one: "O0" none, "O1" where no bit changes, "O2" and
                           "O3" with norms that are not trained; NULL: "O2" */
  const char* const* heads; /* outputs with a loss each, "age:mean_squared_error:0.5" (output, loss, weight; 1 unless
                               given), the first of the model's own: their weighted sum is lowered. An example's target
                               has all of theirs, one behind the other: ints, or with targets_are_values floats, of
                               which classes are whole numbers. `loss` is then left NULL. At most 16 */
  size_t head_count;        /* 0: one loss, of the model's own output */
};

typedef struct coterie_train_progress {
  size_t struct_size;
  int finished;
  uint64_t steps, steps_in_all;
  uint64_t examples;    /* seen, with repetition */
  double step_loss;     /* the mean that the last step lowered, of all its examples; with class weights weighted */
  double loss_mean;     /* over all of them since the start */
  double accuracy;      /* likewise; 0 for a regression */
  double learning_rate; /* of the next step */
} coterie_train_progress;

typedef struct coterie_train_memory {
  size_t struct_size;
  uint64_t arena_bytes; /* everything that grows with the model and the batch, one block: of which */
  uint64_t parameter_bytes;
  uint64_t optimizer_bytes;
  uint64_t gradient_bytes;       /* those that are added up over micro-batches, or clipped together */
  uint64_t planned_bytes;        /* activations, gradients and scratch of a step, laid over one another */
  uint64_t order_bytes;          /* beside the arena: the shuffled order of the examples */
  uint64_t prepared_bytes;       /* of the arena: what is computed once and read in every step */
  uint32_t micro_batch_size;     /* examples computed at a time */
  uint32_t recomputed_steps;     /* of a step, those that backward runs again rather than hold their results */
  double recomputed_share;       /* by estimate, of the time of a training step without them */
  uint64_t narrowed_bytes_saved; /* with storage "bf16": by which planned_bytes is smaller for it, of one thread and
                                    without a budget */
  uint64_t narrowed_tensors;     /* so many are rounded to bfloat16 between forward and backward for that */
} coterie_train_memory;

/* How much memory a trainer with these options on so many examples would take, without taking it: what
 * coterie_trainer_memory would say of it. INVALID_ARGUMENT, TOO_LARGE as coterie_trainer_open. */
COTERIE_API coterie_status coterie_model_plan_training(coterie_model* model, const coterie_train_options* options,
                                                       uint64_t example_count, coterie_train_memory* memory);

typedef struct coterie_trainer coterie_trainer;

/* Plans the training and allocates all of its memory: no step allocates. The data set's callbacks and context must
 * outlive the trainer; the structs and the model need not. On failure *trainer is NULL. Errors: INVALID_ARGUMENT (names
 * the option, or what does not fit the model), TOO_LARGE (more memory than allowed). */
COTERIE_API coterie_status coterie_trainer_open(const coterie_model* model, const coterie_train_options* options,
                                                const coterie_dataset* dataset, coterie_trainer** trainer,
                                                char* error_text, size_t error_text_size);
COTERIE_API void coterie_trainer_close(coterie_trainer** trainer);
COTERIE_API const char* coterie_trainer_last_error(const coterie_trainer* trainer);

/* Trains on the next batch. An error changes nothing but, with micro-batches, running statistics: UNAVAILABLE (the data
 * set's `read`; the step may be tried again), INVALID_ARGUMENT (a label out of range; the loss is not finite any more),
 * CONFLICT (training is finished). `progress` may be NULL. */
COTERIE_API coterie_status coterie_trainer_step(coterie_trainer* trainer, coterie_train_progress* progress);
/* So many steps (0: no limit) or until training is finished, whichever comes first; `on_progress` (it may be NULL) is
 * called after each, may use the trainer but not close it, and ends the run by returning anything but 0. */
COTERIE_API coterie_status coterie_trainer_run(coterie_trainer* trainer, uint64_t steps,
                                               int (*on_progress)(void* context,
                                                                  const coterie_train_progress* progress),
                                               void* context);
COTERIE_API coterie_status coterie_trainer_progress(coterie_trainer* trainer, coterie_train_progress* progress);
/* Head `index` of the training so far; its texts are valid until the trainer is closed. NOT_FOUND: there are not so
 * many; without the option there is none. The progress has the weighted sum as its losses, and the first head's
 * accuracy. */
COTERIE_API coterie_status coterie_trainer_head(coterie_trainer* trainer, size_t index, coterie_head* head);
COTERIE_API coterie_status coterie_trainer_memory(coterie_trainer* trainer, coterie_train_memory* memory);

/* Everything that later steps depend on, written durably: `path` holds the old checkpoint or the new one, whatever
 * happens. A trainer opened with the same model, options and examples continues from it to the same bits. Errors of
 * restoring, which change nothing: NOT_FOUND, DATA_LOSS (damaged), CONFLICT (of another training, which the message
 * says the differing options of, `data` for other examples of a data set file; not encrypted, and the options have a
 * key; or another kind of file, a model for one), PERMISSION_DENIED (encrypted, and they have none or another),
 * UNSUPPORTED_VERSION (written before 0.3). */
COTERIE_API coterie_status coterie_trainer_save_checkpoint(coterie_trainer* trainer, const char* path);
COTERIE_API coterie_status coterie_trainer_restore_checkpoint(coterie_trainer* trainer, const char* path);

/* The model as it is trained so far, a handle of its own. On failure *model is NULL. */
COTERIE_API coterie_status coterie_trainer_model(coterie_trainer* trainer, coterie_model** model);
/* One parameter as it is now, as coterie_model_get_parameter. */
COTERIE_API coterie_status coterie_trainer_get_parameter(coterie_trainer* trainer, const char* name, float* values,
                                                         size_t count);
/* Trained minus opened, for every parameter, in the order of the file: what a federated update is made of. `count` must
 * be the model's flat_count. */
COTERIE_API coterie_status coterie_trainer_delta(coterie_trainer* trainer, float* values, size_t count);

/* ---- Watching a training ------------------------------------------------------------------------------------------
 */

#define COTERIE_WATCH_HITS_MAX 10000 /* that a watch file may ask to be kept */

/* What the watch of a training has found so far. */
typedef struct coterie_watch_summary {
  size_t struct_size;
  uint64_t looks;     /* steps whose tensors were read */
  size_t hit_count;   /* what coterie_trainer_watch_hit counts; at most the watch's hits_max, 100 of `recommended` */
  uint64_t left_out;  /* hits that there was no room for */
  uint64_t bytes_max; /* what it may come to hold beside the training, however long that takes */
} coterie_watch_summary;

/* A check that fired on a tensor. */
typedef struct coterie_watch_hit {
  size_t struct_size;
  const char* check;      /* "dead_relu": docs/DEBUGGING.md lists them */
  const char* layer;      /* the op that makes the tensor, or first reads the weight; "" with a check of the training as
                             a whole, and so is `tensor` */
  const char* tensor;     /* its name; of a gradient "gradient of NAME" */
  const char* setting;    /* whose threshold was passed; "": the check has none */
  const char* comparison; /* of value with threshold: "<", "<=", ">", ">=" */
  uint64_t first_step;    /* at which it fired, from 0 */
  uint64_t last_step;
  uint64_t looks; /* at which it fired */
  double value;   /* that it saw first */
  double threshold;
} coterie_watch_hit;

/* Looks from the next step on for what goes wrong while it trains, to the same bits as without: `watch` is
 * "recommended", or the path of a watch file (docs/DEBUGGING.md). It takes the place of an earlier one, whose hits are
 * gone; NULL: it ends. Where restoring a checkpoint succeeds it begins anew. A step that fails is looked at, too. What
 * it may come to hold counts for memory_bytes_max and memory_budget_bytes. Errors, which leave an earlier watch as it
 * was: NOT_FOUND and others of reading a file, MALFORMED (no JSON), INVALID_ARGUMENT (names each key that is wrong, or
 * a check that is for nothing of this model), TOO_LARGE (a file above 64 KiB, or more memory than options leave). */
COTERIE_API coterie_status coterie_trainer_watch(coterie_trainer* trainer, const char* watch);
/* CONFLICT: nothing is watched. */
COTERIE_API coterie_status coterie_trainer_watch_summary(coterie_trainer* trainer, coterie_watch_summary* summary);
/* In the order of their first step. Its texts are valid until the next step, or until it is no longer watched.
 * CONFLICT: nothing is watched; INVALID_ARGUMENT: there are not so many. */
COTERIE_API coterie_status coterie_trainer_watch_hit(coterie_trainer* trainer, size_t index, coterie_watch_hit* hit);

/* ---- Examples that the app pushes ---------------------------------------------------------------------------------
 */

/* Kept in memory, as an app meets them. */
typedef struct coterie_examples coterie_examples;

/* For models like this one. On failure *examples is NULL. */
COTERIE_API coterie_status coterie_examples_open(const coterie_model* model, coterie_examples** examples,
                                                 char* error_text, size_t error_text_size);
/* After the trainers that use them. */
COTERIE_API void coterie_examples_close(coterie_examples** examples);
COTERIE_API const char* coterie_examples_last_error(const coterie_examples* examples);

/* Copies one example behind the others: of a model with one float32 input, with one class; or of any model, inputs in
 * the model's order, with one or several classes or numbers. INVALID_ARGUMENT says which input is wrong. A trainer that
 * is open trains on the examples it was opened with. */
COTERIE_API coterie_status coterie_examples_add(coterie_examples* examples, const float* features, size_t feature_count,
                                                int32_t label);
COTERIE_API coterie_status coterie_examples_add_values(coterie_examples* examples, const coterie_values* inputs,
                                                       size_t input_count, const coterie_values* target);
COTERIE_API uint64_t coterie_examples_count(const coterie_examples* examples); /* of NULL: 0 */
/* Trainers that are open fail with UNAVAILABLE until there are as many again. */
COTERIE_API coterie_status coterie_examples_clear(coterie_examples* examples);
/* Fills `dataset` (its struct_size is set): good until the examples are closed. */
COTERIE_API coterie_status coterie_examples_dataset(coterie_examples* examples, coterie_dataset* dataset);

#ifdef __cplusplus
}
#endif

#endif /* COTERIE_TRAIN_H */
