/* What a plan asks for, and whether this device does all of it. */
#include "device_sdk/tiny/tiny_parts.h"

/* Fields of the tables of proto/schema/wire.fbs. */
enum { PLAN_JOB, PLAN_TRAINING, PLAN_UPDATE, PLAN_PRIVACY, PLAN_CONTROL = 7, PLAN_ANALYTICS = 10 };
enum { TRAINING_LOSS, TRAINING_BATCH, TRAINING_EPOCHS, TRAINING_STEPS, TRAINING_OPTIMIZER, TRAINING_OBJECTIVE };
enum { TRAINING_TRAINED = 9, TRAINING_STORAGE = 11, TRAINING_FIELDS = 25 /* 18 of them are known */ };
enum { OBJECTIVE_LOSS, OBJECTIVE_SMOOTHING, OBJECTIVE_THRESHOLD, OBJECTIVE_FIELDS = 16 };
enum { TRAINED_LOSS, TRAINED_WHOLE, TRAINED_FIELDS = 8 };
enum { RULES_ENCODING, RULES_VALUES, RULES_CLIP, RULES_FIXED, RULES_QUANTIZATION };
enum { FIXED_VALUE_MAX = 2, FIXED_WEIGHT_MAX };

static float real(const tiny_table* table, uint32_t field) {
  return tiny_float((uint32_t)tiny_number(table, field, 4, 0));
}

/* Above 0 and at most that. */
static int is_within(float value, float most) { return tiny_is_finite(value) && value > 0.0f && value <= most; }

/* ---- Why not; NULL: it does. */

/* A plan whose updates have the trained values alone, of a model whose own parameters are frozen in part. It names its
 * loss there, and nowhere before (docs/PROTOCOL.md). */
static const char* judge_trained(coterie_tiny* device, const tiny_table* training) {
  static const char kMore[] = "the plan asks for another objective, or for LoRA";
  const tiny_table objective = tiny_child(training, TRAINING_OBJECTIVE);
  const tiny_table trained = tiny_child(training, TRAINING_TRAINED);
  for (uint32_t field = OBJECTIVE_LOSS; field < OBJECTIVE_FIELDS; ++field) {
    const uint64_t usual = field == OBJECTIVE_THRESHOLD ? tiny_float_bits(1.0f) : 0;
    if (tiny_has(&objective, field) && tiny_number(&objective, field, field == OBJECTIVE_LOSS ? 1 : 4, 0) != usual) {
      return kMore;
    }
  }
  for (uint32_t field = TRAINED_WHOLE + 1; field < TRAINED_FIELDS; ++field) {
    if (tiny_has(&trained, field)) return kMore;
  }
  if (tiny_number(&trained, TRAINED_WHOLE, 8, 0) != device->model->payload_values) {
    return "the plan is of a model with another number of values";
  }
  device->value_count = device->model->trained;
  return tiny_number(&trained, TRAINED_LOSS, 1, 0) == 1 ? NULL : "the loss is not softmax cross-entropy";
}

static const char* judge_objective(coterie_tiny* device, const tiny_table* training) {
  const int is_trained_alone = tiny_has(training, TRAINING_TRAINED);
  for (uint32_t field = TRAINING_OBJECTIVE; field < TRAINING_FIELDS; ++field) {
    if (field == TRAINING_STORAGE || !tiny_has(training, field)) continue;
    if (is_trained_alone && (field == TRAINING_OBJECTIVE || field == TRAINING_TRAINED)) continue;
    return "the plan asks for more than SGD on softmax cross-entropy, or for what is newer than this client";
  }
  if (is_trained_alone) return judge_trained(device, training);
  device->value_count = device->model->payload_values;
  return tiny_number(training, TRAINING_LOSS, 1, 0) == 1 ? NULL : "the loss is not softmax cross-entropy";
}

static const char* judge_training(coterie_tiny* device, const tiny_table* training) {
  const tiny_table optimizer = tiny_child(training, TRAINING_OPTIMIZER);
  const uint64_t steps_max = tiny_number(training, TRAINING_STEPS, 4, 0);
  const coterie_tiny_options* const options = &device->options;
  uint64_t steps;
  device->batch_size = (uint32_t)tiny_number(training, TRAINING_BATCH, 4, 0);
  device->epochs = (uint32_t)tiny_number(training, TRAINING_EPOCHS, 4, 0);
  device->learning_rate = real(&optimizer, 1);
  if (tiny_number(&optimizer, 0, 1, 0) != 1) return "the optimizer is not SGD";
  if (real(&optimizer, 2) != 0.0f || real(&optimizer, 3) != 0.0f || tiny_number(&optimizer, 8, 1, 0) != 0) {
    return "the plan's SGD has momentum or weight decay";
  }
  if (!is_within(device->learning_rate, options->learning_rate_max)) {
    return "the learning rate is above learning_rate_max, or no number above 0";
  }
  if (device->batch_size == 0 || device->epochs == 0) return "the plan has no batch or no epoch";
  steps = (options->example_count + (uint64_t)device->batch_size - 1) / device->batch_size;
  /* Both are below 2^32. */
  steps *= device->epochs;
  if (steps_max > 0 && steps > steps_max) steps = steps_max;
  if (steps == 0 || steps > options->steps_max) return "the plan asks for more than steps_max steps";
  device->steps = (uint32_t)steps;
  return NULL;
}

static const char* judge_rules(coterie_tiny* device, const tiny_table* rules) {
  const tiny_table fixed = tiny_child(rules, RULES_FIXED);
  const uint64_t weight_max = tiny_number(&fixed, FIXED_WEIGHT_MAX, 4, 0);
  device->encoding = (uint32_t)tiny_number(rules, RULES_ENCODING, 1, 0);
  device->clip_l2 = real(rules, RULES_CLIP);
  device->value_abs_max = real(&fixed, FIXED_VALUE_MAX);
  /* 2 differs in running statistics alone, of which these models have none. */
  if (device->encoding != 1 && device->encoding != 2) return "updates are to be encoded, not float32";
  for (uint32_t field = RULES_QUANTIZATION; field < RULES_QUANTIZATION + 8; ++field) {
    if (tiny_has(rules, field)) return "updates are to have more than the model's values";
  }
  if (tiny_number(rules, RULES_VALUES, 8, 0) != device->value_count) {
    return "updates are to have another number of values than the model";
  }
  if (device->clip_l2 != 0.0f && !is_within(device->clip_l2, 3.0e38f)) return "clip_l2 is no norm";
  if (!is_within(device->value_abs_max, 3.0e38f)) return "value_abs_max is no bound";
  if (weight_max == 0) return "weight_max is 0";
  device->weight = device->options.example_count < weight_max ? device->options.example_count : (uint32_t)weight_max;
  return NULL;
}

static const char* judge_privacy(coterie_tiny* device, const tiny_table* plan) {
  const int is_private = tiny_has(plan, PLAN_PRIVACY);
  device->refused = is_private || !device->options.takes_plain_updates;
  if (is_private) {
    return "the plan's level is not `none`: masks need keys that are agreed on with other devices, which this client "
           "cannot do";
  }
  return device->refused ? "the plan's level is `none`, and takes_plain_updates is not set" : NULL;
}

coterie_tiny_code tiny_judge_plan(coterie_tiny* device) {
  tiny_reader reader;
  tiny_table plan, training, rules;
  const uint8_t* job;
  const char* why;
  uint32_t job_bytes, same = 0;
  if (!tiny_open_frame(device->message, device->message_bytes, TINY_PLAN, &reader)) {
    return tiny_end(device, COTERIE_TINY_MALFORMED, "the plan is no frame of a plan");
  }
  plan = tiny_root(&reader);
  job = tiny_bytes(&plan, PLAN_JOB, 1, &job_bytes);
  training = tiny_child(&plan, PLAN_TRAINING);
  rules = tiny_child(&plan, PLAN_UPDATE);
  if (reader.is_bad || job == NULL) return tiny_end(device, COTERIE_TINY_MALFORMED, "the plan is not understood");
  while (same < job_bytes && device->job[same] != 0 && job[same] == (uint8_t)device->job[same]) ++same;
  if (same != job_bytes || device->job[same] != 0) {
    return tiny_end(device, COTERIE_TINY_UNTRUSTED, "the plan is of another job than the assignment");
  }
  why = judge_privacy(device, &plan);
  if (why == NULL && (tiny_has(&plan, PLAN_ANALYTICS) || tiny_has(&plan, PLAN_CONTROL))) {
    why = "the plan asks for analytics, or has a control";
  }
  if (why == NULL) why = judge_objective(device, &training);
  if (why == NULL) why = judge_training(device, &training);
  if (why == NULL) why = judge_rules(device, &rules);
  if (reader.is_bad) return tiny_end(device, COTERIE_TINY_MALFORMED, "the plan is not understood");
  return why == NULL ? COTERIE_TINY_OK : tiny_end(device, COTERIE_TINY_REFUSED, why);
}
