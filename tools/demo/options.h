// DemoOptions: everything a user can say about a demo, with defaults that reach a good model within a minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregation/robust/aggregation_settings.h"
#include "aggregation/strategy/registry.h"
#include "proto/messages/plan.h"
#include "proto/messages/secagg.h"
#include "scheduler/job/adaptive_mu_settings.h"
#include "scheduler/job/compression_settings.h"
#include "scheduler/job/rate_schedule.h"
#include "scheduler/selection/selection_settings.h"
#include "tools/attack/attack.h"
#include "tools/data/partition.h"
#include "tools/demo/analytics_choice.h"
#include "tools/model/zoo.h"

namespace coterie {

struct DemoOptions {
  uint32_t devices = 20;
  bool devices_given = false;  // by the user; otherwise data that have devices of their own decide
  uint32_t rounds = 40;
  std::string data = "digits";     // tools/data/load.h, or a directory of `coterie data make`
  std::optional<ModelKind> model;  // built in; none: cnn for images, mlp for rows of numbers
  std::string model_file;          // or the user's own; empty: none
  Bytes model_bytes;               // what the file holds, as a model file
  DataSplit split{SplitKind::dirichlet, 0.3};
  bool split_given = false;
  std::optional<Loss> loss;                      // by the data unless given
  std::vector<TrainingHead> heads = {};          // outputs with a loss each, in place of `loss`
  std::optional<int32_t> ignore_label = {};      // what has it is counted nowhere
  TargetKind target = TargetKind::labels;        // as the data say
  double fraction = 0.5;                         // of the devices that train in a round
  bool is_buffered = false;                      // rounds.policy: all devices train, and so many close a round
  OptimizerKind optimizer = OptimizerKind::sgd;  // the devices'
  std::optional<double> learning_rate;           // theirs; by optimizer unless given
  double momentum = 0;
  double weight_decay = 0;
  std::vector<std::string> freeze = {};                // patterns of parameters that stay as they are
  std::vector<std::string> train_only = {};            // patterns; if any, all others stay
  uint32_t train_last = 0;                             // if above 0, only so many last layers change
  std::optional<LoraSettings> lora = {};               // companions are trained instead
  double proximal_mu = 0;                              // FedProx
  std::optional<AdaptiveMuSettings> adaptive_mu = {};  // none: it stays
  std::string augment;                                 // images (proto/messages/augmentation.h); empty: as they are
  Storage storage = Storage::float32;                  // of activations between forward and backward
  std::optional<EarlyStopping> early_stopping = {};
  std::optional<PersonalSettings> personal = {};  // what each device keeps to itself
  std::vector<uint32_t> widths = {};              // that devices train, in turn; empty: all train all of it
  std::optional<WatchSettings> watch = {};        // which checks devices ask of their trainings
  std::optional<QuantisedTraining> qat = {};      // devices train with the integers that the model will have
  uint32_t local_epochs = 2;
  uint32_t batch_size = 16;
  const StrategyRule* strategy = &default_strategy();                 // never null
  std::optional<double> server_learning_rate;                         // by strategy unless given
  RateSchedules schedules;                                            // of both rates
  std::optional<double> alpha;                                        // of a strategy that has one; likewise
  std::vector<std::pair<std::string, float>> strategy_settings = {};  // others of its settings, by name
  std::optional<double> clip;                                         // L2, of each device's update
  uint32_t download_bits = 0;              // of each value of a delta; 0: models are fetched whole
  CompressionSettings compression = {};    // of updates
  std::optional<double> noise_multiplier;  // standard deviation of the noise / clip; likewise
  std::optional<double>
      target_epsilon;   // of all rounds: finds the multiplier, or is the budget of the one that is given
  double delta = 1e-5;  // that goes with it
  std::optional<double> adaptive_clip;  // the quantile of the updates' norms that the clip follows; none: it stays
  SecurityLevel security = SecurityLevel::active;
  uint32_t cohort_max = 0;          // devices of a cohort at most; 0: all of a round are in one
  SelectionSettings selection;      // needs security none where it is not uniform
  AggregationSettings aggregation;  // of updates; needs security none where it is not the mean
  Attack attack;                    // the first devices lie
  double dropout = 0;  // probability that a device vanishes, in each round, from a random moment to its end
  std::optional<AnalyticsChoice> analytics;  // devices count it, and train nothing
  uint64_t seed = 1;
  std::string out;         // empty: runs/demo-<date>-<time>
  std::string log_dir;     // where TensorBoard's event file goes; empty: none is written
  std::string mlflow;      // address of a tracking server of MLflow; empty: none
  bool json = false;       // the last line of standard output is one JSON object, all else goes to standard error
  bool quiet = false;      // no progress
  bool print_job = false;  // prints the job as the server would get it, and runs nothing
  bool keep = false;       // the server's data, the devices' state and the logs stay in the run folder

  uint32_t goal_count() const;         // updates that close a round: fraction of the devices, at least one
  TrainingSettings judged_by() const;  // what of the training says how good a model is
  double server_rate() const;
  double device_rate() const;
  std::optional<double> clip_l2() const;  // the one given, or what quantized updates are clipped to without
  double dropout_share() const;           // that the job plans for
  bool has_noise() const { return noise_multiplier || target_epsilon; }
};

// What device `device` (from 1) of a run with this seed trains by.
uint64_t device_seed(uint64_t seed, uint32_t device);

// Its private key, Ed25519, in stored form: the same in each run, so that the server can draw the same devices. Whoever
// knows the seed has the key, too.
Bytes device_key(uint64_t seed, uint32_t device);

// The policy of the demo's own devices, as options of `coterie device run`. They take what the demo asks for, and so
// say aloud what apps need not accept: the level, few devices in a sum, any epsilon.
std::vector<std::string> device_policy(const DemoOptions& options);

}  // namespace coterie
