#include "tools/simulate/inputs.h"

#include <nlohmann/json.hpp>

#include "base/os/file.h"
#include "device_sdk/runtime/model.h"
#include "fl_server/json/job_json.h"
#include "fl_server/json/json_reader.h"
#include "model_io/contract_targets.h"
#include "scheduler/job/aggregation_rules.h"
#include "scheduler/job/buffered_rules.h"
#include "scheduler/job/compression_rules.h"
#include "scheduler/selection/selection_registry.h"
#include "secure/crypto/digest.h"
#include "tools/cli/interrupt.h"
#include "tools/simulate/options.h"

namespace coterie {
namespace {

constexpr uint64_t kTraceBytesMax = 1 << 28;
constexpr uint32_t kShardsMax = 2000;  // as the demo's data have at most (tools/demo/demo_data.cc)

// What devices train on. All shards are made for it, as for the run, and so only for who compares identities.
Result<Digest> examples_digest(const DemoData& data) {
  std::string digests = content_digest(data.model).hex() + content_digest(data.held_out).hex();
  for (uint32_t i = 0; i < data.devices; ++i) {
    if (Interrupt::requested()) return interrupted_error();
    COT_ASSIGN(const Bytes shard, data.shard_file(i));
    digests += content_digest(shard).hex();
  }
  return content_digest(as_bytes(digests));
}

// All that decides a bit of the simulation.
Digest identity_of(const SimulateOptions& options, const SimulationInputs& inputs, const Digest& examples,
                   ByteView trace) {
  nlohmann::json json = {{"job", to_json(inputs.job)},
                         {"seed", options.demo.seed},
                         {"devices", options.devices},
                         {"data", inputs.data.name()},
                         {"split", to_string(options.demo.split)},
                         {"label_counts", inputs.data.label_counts},
                         {"examples", examples.hex()},
                         {"dropout", options.dropout},
                         {"speed_spread", options.speed_spread},
                         {"held_out_share", options.held_out_share},
                         {"attack", to_string(options.attack)},
                         {"trace", content_digest(trace).hex()}};
  // Earlier versions drew from all devices there: their checkpoints are of other rounds.
  const RoundSettings& rounds = inputs.job.horizontal().rounds;
  if (rounds.separation_min > 1 && !rounds.is_buffered()) json["devices_rest"] = true;
  return content_digest(as_bytes(json.dump()));
}

// What several ranks cannot share.
Status check_ranks(const HorizontalSettings& job, const SimulateOptions& options, uint32_t ranks) {
  if (ranks == 1) return {};
  const std::string processes = "; mpirun has started " + std::to_string(ranks) + " processes: start one";
  if (job.aggregation.keeps_updates()) {
    return Error(ErrorCode::invalid_argument, options.job_file +
                                                  ": /aggregation/rule: " + std::string(job.aggregation.name()) +
                                                  " looks at all updates of a round in one process" + processes);
  }
  if (!options.attack.is_on()) return {};
  return Error(ErrorCode::invalid_argument, "--attack makes lies of all updates of a round in one process" + processes);
}

// Every device has examples of its own, and one process what all of them keep.
Status check_held_out(const SimulateOptions& options, uint32_t ranks) {
  if (options.held_out_share == 0) return {};
  const char* const judged = "--held-out-share judges each device by its own examples";
  if (options.attack.is_on()) {
    return Error(ErrorCode::invalid_argument, std::string(judged) + ", and with --attack some lie about theirs");
  }
  if (ranks == 1) return {};
  return Error(ErrorCode::invalid_argument, std::string(judged) + " in one process; mpirun has started " +
                                                std::to_string(ranks) + " processes: start one");
}

// Draws that follow from what devices have said: a checkpoint does not have it.
Status check_checkpoint(const HorizontalSettings& job, const SimulateOptions& options) {
  const SelectionRule& rule = *job.rounds.selection.rule;
  if (options.checkpoint.empty() || rule.memory == SelectionMemory::nothing) return {};
  return Error(ErrorCode::invalid_argument, "--checkpoint does not go with /selection/kind " + std::string(rule.name) +
                                                " of the job: it draws by what earlier rounds have told, which a "
                                                "checkpoint does not have; take uniform, or simulate in one go");
}

// A folder to go on from has the newest model, and none of the others that the mean is of.
Status check_mean(const SimulateOptions& options) {
  if (options.mean_of_last == 1 || options.checkpoint.empty()) return {};
  return Error(ErrorCode::invalid_argument, "--mean-of-last " + std::to_string(options.mean_of_last) +
                                                " does not go with --checkpoint, which keeps the newest model alone: "
                                                "simulate in one go");
}

// Whether its model goes with buffered rounds, as a server asks when the job is created.
Status check_buffered(const HorizontalSettings& job, const Bytes& model, const std::string& job_file) {
  if (!job.rounds.is_buffered()) return {};
  COT_ASSIGN(const Model loaded, Model::load(model));
  const Problems problems = buffered_problems(job, loaded.graph());
  if (problems.empty()) return {};
  return Error(ErrorCode::invalid_argument, job_file + ": " + listed(problems));
}

// The job names its files by digest: it is simulated with these and no others, or the result would be of another job.
Status check_digests(const HorizontalSettings& job, const DemoData& data, const std::string& job_file) {
  const Digest model = content_digest(data.model), held_out = content_digest(data.held_out);
  if (job.model != model) {
    return Error(ErrorCode::conflict, job_file + ": /model is " + job.model.hex() +
                                          ", and the model of --model, --data " + "and --seed is " + model.hex() +
                                          "; give the model file that the job names, or the seed it was made with");
  }
  if (!job.evaluation || *job.evaluation == held_out) return {};
  return Error(ErrorCode::conflict, job_file + ": /evaluation is " + job.evaluation->hex() +
                                        ", and what --data, --split and --seed hold out is " + held_out.hex());
}

}  // namespace

Result<SimulationInputs> prepare_simulation(const SimulateOptions& options, const JobSettings& settings,
                                            uint32_t ranks) {
  SimulationInputs inputs;
  inputs.job = settings;
  HorizontalSettings& job = inputs.job.horizontal();
  if (options.rounds > 0) job.rounds.count = options.rounds;
  if (options.devices < job.rounds.goal_count_min) {
    return Error(ErrorCode::invalid_argument, "--devices " + std::to_string(options.devices) +
                                                  " are fewer than the job's goal_count_min " +
                                                  std::to_string(job.rounds.goal_count_min));
  }
  if (options.demo.devices_given && options.demo.devices > kShardsMax) {
    return Error(ErrorCode::invalid_argument, "--devices " + std::to_string(options.devices) +
                                                  " share out the data into more than " + std::to_string(kShardsMax) +
                                                  " parts: give --shards, and devices share them");
  }
  if (options.attack.is_on() && job.update.compression.is_on()) {
    return Error(ErrorCode::invalid_argument,
                 "--attack does not go with update.compression of the job: liars send what "
                 "was not rounded");
  }
  if (options.attack.is_on() && job.rounds.is_buffered()) {
    return Error(ErrorCode::invalid_argument,
                 "--attack does not go with /rounds/policy buffered of the job: lies are made of the updates of one "
                 "model, and a buffer has those of several");
  }
  COT_TRY(check_ranks(job, options, ranks));
  COT_TRY(check_checkpoint(job, options));
  COT_TRY(check_held_out(options, ranks));
  COT_TRY(check_mean(options));
  DemoOptions demo = options.demo;
  demo.heads = job.training.heads;
  COT_ASSIGN(inputs.data, prepare_data(demo));
  COT_TRY(add_clusters(job.training, options.demo.seed, inputs.data));
  if (options.held_out_share > 0 && inputs.data.devices < options.devices) {
    return Error(ErrorCode::invalid_argument, "--held-out-share judges each device by its own examples, and of " +
                                                  std::to_string(options.devices) + " devices several have the same " +
                                                  std::to_string(inputs.data.devices) + " parts: leave --shards out");
  }
  COT_ASSIGN(const ModelValues values, model_values(inputs.data, job.training));
  COT_TRY(check_buffered(job, inputs.data.model, options.job_file));
  if (const Problems kept = validate_kept_updates(job, values.step_count()); !kept.empty()) {
    return Error(ErrorCode::invalid_argument, options.job_file + ": " + listed(kept));
  }
  if (const Problems small = compression_problems(job, values.step_count()); !small.empty()) {
    return Error(ErrorCode::invalid_argument, options.job_file + ": " + listed(small));
  }
  if (flips_labels(options.attack.kind)) {
    COT_TRY(check_one_target(inputs.data.contract, "--attack " + to_string(options.attack)));
  }
  if (flips_labels(options.attack.kind) && inputs.data.contract.target.classes.empty()) {
    return Error(ErrorCode::invalid_argument, "--attack " + to_string(options.attack) + " needs data with classes");
  }
  if (options.adopts_files) {
    job.model = content_digest(inputs.data.model);
    job.evaluation = content_digest(inputs.data.held_out);
  }
  COT_TRY(check_digests(job, inputs.data, options.job_file));
  std::vector<uint64_t> sizes;
  for (const std::vector<uint32_t>& counts : inputs.data.label_counts) {
    uint64_t examples = 0;
    for (const uint32_t count : counts) examples += count;
    sizes.push_back(examples);
  }
  inputs.fleet.devices = options.devices;
  inputs.fleet.seed = options.demo.seed;
  inputs.fleet.speed_spread = options.speed_spread;
  inputs.fleet.dropout = options.dropout;
  inputs.fleet.examples_of = [sizes](uint32_t device) { return sizes[device % sizes.size()]; };
  Digest examples;
  if (ranks > 1 || !options.checkpoint.empty()) {
    COT_ASSIGN(examples, examples_digest(inputs.data));
  }
  inputs.identity = identity_of(options, inputs, examples, {});
  if (options.trace_file.empty()) return inputs;
  COT_ASSIGN(const Bytes trace, os::read_file(options.trace_file, kTraceBytesMax));
  inputs.identity = identity_of(options, inputs, examples, trace);
  Result<DropTrace> parsed = DropTrace::parse(as_text(trace), options.devices);
  if (!parsed) return parsed.error().with_context(options.trace_file);
  inputs.fleet.trace = std::move(*parsed);
  return inputs;
}

}  // namespace coterie
