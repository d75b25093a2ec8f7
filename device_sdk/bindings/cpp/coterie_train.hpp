// Coterie device SDK for C++20: training without a server, owning classes over coterie_train.h.
//
//   coterie::Model model("digits.cotf");
//   coterie::Dataset images = coterie::Dataset::open("images.cotf");
//   coterie::Trainer trainer(model, {.optimizer = "adam", .learning_rate = 0.001f}, images);
//   trainer.run(10);
//   trainer.model().save("digits-trained.cotf");
#pragma once

#include <coterie_train.h>

#include <coterie.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

namespace coterie {
inline namespace app {

namespace detail {

inline const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

inline std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

}  // namespace detail

// The members of coterie_train_options, with the same meaning; what is left alone is the library's choice.
struct TrainOptions {
  std::string loss{}, optimizer{}, schedule{};
  float learning_rate = 0, momentum = 0, weight_decay = 0, beta1 = 0, beta2 = 0, epsilon = 0, smoothing = 0;
  float label_smoothing = 0, loss_threshold = 0, clip_norm = 0, clip_value = 0;
  bool nesterov = false, targets_are_values = false, freeze_statistics = false;
  uint32_t batch_size = 0, micro_batch_size = 0, epochs = 0, steps_max = 0;
  uint32_t train_last = 0, threads = 0;
  uint64_t seed = 0, memory_bytes_max = 0, memory_budget_bytes = 0;
  std::vector<float> class_weights{};
  std::vector<std::string> freeze{}, train_only{}, channels{}, groups{}, heads{};
  std::string lora{}, storage{}, loss_scale{}, augment{}, ignore_label{}, qat{}, optimise{};
  std::vector<uint8_t> checkpoint_key{};

  // Calls `use` with the C struct, which refers to this object and is good inside only.
  template <typename Use>
  decltype(auto) as_c(Use use) const {
    const std::vector<const char*> freeze_pointers = detail::pointers(freeze), only = detail::pointers(train_only),
                                   channel_pointers = detail::pointers(channels),
                                   group_pointers = detail::pointers(groups), head_pointers = detail::pointers(heads);
    auto c = detail::sized<coterie_train_options>();
    c.loss = detail::or_null(loss);
    c.optimizer = detail::or_null(optimizer);
    c.schedule = detail::or_null(schedule);
    c.learning_rate = learning_rate, c.momentum = momentum, c.weight_decay = weight_decay;
    c.beta1 = beta1, c.beta2 = beta2, c.epsilon = epsilon, c.smoothing = smoothing;
    c.label_smoothing = label_smoothing, c.loss_threshold = loss_threshold;
    c.clip_norm = clip_norm, c.clip_value = clip_value;
    c.nesterov = nesterov, c.targets_are_values = targets_are_values, c.freeze_statistics = freeze_statistics;
    c.batch_size = batch_size, c.micro_batch_size = micro_batch_size, c.epochs = epochs, c.steps_max = steps_max;
    c.seed = seed, c.memory_bytes_max = memory_bytes_max, c.memory_budget_bytes = memory_budget_bytes;
    c.class_weights = class_weights.data(), c.class_weight_count = class_weights.size();
    c.freeze = freeze_pointers.data(), c.freeze_count = freeze_pointers.size();
    c.train_only = only.data(), c.train_only_count = only.size();
    c.train_last = train_last, c.threads = threads;
    c.channels = channel_pointers.data(), c.channel_count = channel_pointers.size();
    c.groups = group_pointers.data(), c.group_count = group_pointers.size();
    c.heads = head_pointers.data(), c.head_count = head_pointers.size();
    c.lora = detail::or_null(lora), c.storage = detail::or_null(storage), c.loss_scale = detail::or_null(loss_scale);
    c.augment = detail::or_null(augment);
    c.ignore_label = detail::or_null(ignore_label), c.qat = detail::or_null(qat);
    c.optimise = detail::or_null(optimise);
    c.checkpoint_key = checkpoint_key.data(), c.checkpoint_key_size = checkpoint_key.size();
    return use(&std::as_const(c));
  }
};

class Model {
 public:
  explicit Model(const std::string& path)
      : handle_(detail::open<coterie_model>([&](coterie_model** model, char* text, size_t size) {
          return coterie_model_open(path.c_str(), model, text, size);
        })) {}
  explicit Model(std::span<const uint8_t> bytes)
      : handle_(detail::open<coterie_model>([&](coterie_model** model, char* text, size_t size) {
          return coterie_model_open_bytes(bytes.data(), bytes.size(), model, text, size);
        })) {}
  explicit Model(coterie_model* handle) : handle_(handle) {}

  coterie_model_info info() const { return asked<coterie_model_info>(coterie_model_describe); }
  coterie_tensor input(size_t index = 0) const { return asked<coterie_tensor>(coterie_model_input, index); }
  coterie_tensor output() const { return asked<coterie_tensor>(coterie_model_output); }
  // One of all its outputs; the first is output().
  coterie_tensor output(size_t index) const { return asked<coterie_tensor>(coterie_model_output_at, index); }
  coterie_tensor parameter(size_t index) const { return asked<coterie_tensor>(coterie_model_parameter, index); }

  void get(const std::string& parameter, std::span<float> values) const {
    check(coterie_model_get_parameter(c(), parameter.c_str(), values.data(), values.size()));
  }
  void set(const std::string& parameter, std::span<const float> values) {
    check(coterie_model_set_parameter(c(), parameter.c_str(), values.data(), values.size()));
  }

  // Other classes for a trained model: its last layer, by name, with fresh weights.
  void replace_head(const std::string& layer, uint32_t classes, uint64_t seed = 0) {
    check(coterie_model_replace_head(c(), layer.c_str(), classes, seed));
  }

  // Predicts one or more examples of a model with one input.
  std::vector<float> predict(std::span<const float> features) const {
    const uint64_t an_example = input().elements;
    const coterie_values values{features.data(), nullptr, features.size()};
    return predict({&values, 1}, features.size() / an_example);
  }
  std::vector<float> predict(std::span<const coterie_values> inputs, size_t examples) const {
    std::vector<float> all(examples * output().elements);
    check(coterie_model_predict(c(), inputs.data(), inputs.size(), examples, all.data(), all.size()));
    return all;
  }
  // All outputs, in the model's order.
  std::vector<std::vector<float>> predict_all(std::span<const coterie_values> inputs, size_t examples) const {
    std::vector<std::vector<float>> all;
    std::vector<float*> places;
    std::vector<size_t> sizes;
    for (size_t i = 0; i < info().output_count; ++i) {
      sizes.push_back(examples * output(i).elements);
      places.push_back(all.emplace_back(sizes.back()).data());
    }
    check(coterie_model_predict_all(c(), inputs.data(), inputs.size(), examples, places.data(), sizes.data(),
                                    sizes.size()));
    return all;
  }
  coterie_evaluation evaluate(const Dataset& dataset, const TrainOptions& options = {}) const {
    auto result = detail::sized<coterie_evaluation>();
    const coterie_status status = options.as_c([&](const coterie_train_options* c_options) {
      return coterie_model_evaluate(c(), dataset.c(), c_options, &result);
    });
    Caller(dataset).check(status, [&] { return coterie_model_last_error(c()); });
    return result;
  }

  // coterie_model_evaluate_heads: what each of the options' heads comes to.
  std::vector<coterie_head> evaluate_heads(const Dataset& dataset, const TrainOptions& options) const {
    std::vector<coterie_head> heads(options.heads.size(), detail::sized<coterie_head>());
    const coterie_status status = options.as_c([&](const coterie_train_options* c_options) {
      return coterie_model_evaluate_heads(c(), dataset.c(), c_options, heads.data(), heads.size(), nullptr);
    });
    Caller(dataset).check(status, [&] { return coterie_model_last_error(c()); });
    return heads;
  }

  // coterie_model_measure: one value for each name.
  std::vector<double> measure(const Dataset& dataset, const std::vector<std::string>& names,
                              const TrainOptions& options = {}, coterie_evaluation* evaluation = nullptr) const {
    const std::vector<const char*> pointers = detail::pointers(names);
    std::vector<double> values(names.size());
    const coterie_status status = options.as_c([&](const coterie_train_options* c_options) {
      return coterie_model_measure(c(), dataset.c(), c_options, pointers.data(), pointers.size(), values.data(),
                                   evaluation);
    });
    Caller(dataset).check(status, [&] { return coterie_model_last_error(c()); });
    return values;
  }

  // coterie_model_fine_tune: the trained model, or none if this one is better. `on_step` ends it by returning false.
  std::optional<Model> fine_tune(const Dataset& dataset, float held_out_share, const TrainOptions& options = {},
                                 coterie_fine_tuning* tuning = nullptr,
                                 const std::function<bool()>& on_step = nullptr) const {
    struct Context {
      const std::function<bool()>& call;
      std::exception_ptr thrown;
    } told{on_step, nullptr};
    const auto call = [](void* to) {
      auto& with = *static_cast<Context*>(to);
      try {
        return with.call && !with.call() ? 1 : 0;
      } catch (...) {
        with.thrown = std::current_exception();
        return 1;
      }
    };
    if (tuning != nullptr) tuning->struct_size = sizeof *tuning;
    coterie_model* tuned = nullptr;
    const coterie_status status = options.as_c([&](const coterie_train_options* c_options) {
      return coterie_model_fine_tune(c(), c_options, dataset.c(), held_out_share, call, &told, tuning, &tuned);
    });
    if (told.thrown) std::rethrow_exception(told.thrown);
    Caller(dataset).check(status, [&] { return coterie_model_last_error(c()); });
    return tuned == nullptr ? std::nullopt : std::optional(Model(tuned));
  }

  // What memory() of a trainer on so many examples would say.
  coterie_train_memory plan_training(const TrainOptions& options, uint64_t examples) const {
    auto memory = detail::sized<coterie_train_memory>();
    check(options.as_c([&](const coterie_train_options* c_options) {
      return coterie_model_plan_training(c(), c_options, examples, &memory);
    }));
    return memory;
  }

  void save(const std::string& path) const { check(coterie_model_save(c(), path.c_str())); }
  // Valid until the model is destroyed or a parameter is set.
  std::span<const uint8_t> bytes() const {
    const uint8_t* bytes = nullptr;
    size_t count = 0;
    check(coterie_model_bytes(c(), &bytes, &count));
    return {bytes, count};
  }
  coterie_model* c() const { return handle_.get(); }

 private:
  void check(coterie_status status) const {
    if (status != COTERIE_OK) throw Error(status, coterie_model_last_error(c()));
  }
  template <typename Answer, typename Ask, typename... Arguments>
  Answer asked(Ask ask, Arguments... arguments) const {
    auto answer = detail::sized<Answer>();
    check(ask(c(), arguments..., &answer));
    return answer;
  }
  detail::Owned<coterie_model, coterie_model_close> handle_;
};

// Examples that are pushed, kept in memory.
class Examples {
 public:
  explicit Examples(const Model& model)
      : handle_(detail::open<coterie_examples>([&](coterie_examples** examples, char* text, size_t size) {
                  return coterie_examples_open(model.c(), examples, text, size);
                }),
                detail::Close<coterie_examples_close>()) {}

  void add(std::span<const float> features, int32_t label) {
    check(coterie_examples_add(handle_.get(), features.data(), features.size(), label));
  }
  void add(std::span<const coterie_values> inputs, const coterie_values& target) {
    check(coterie_examples_add_values(handle_.get(), inputs.data(), inputs.size(), &target));
  }
  void clear() { check(coterie_examples_clear(handle_.get())); }
  uint64_t size() const { return coterie_examples_count(handle_.get()); }
  // Refers to these, and keeps them alive.
  Dataset dataset() const {
    Dataset all;
    check(coterie_examples_dataset(handle_.get(), &all.state_->c));
    all.state_->owner = handle_;
    return all;
  }

 private:
  void check(coterie_status status) const {
    if (status != COTERIE_OK) throw Error(status, coterie_examples_last_error(handle_.get()));
  }
  std::shared_ptr<coterie_examples> handle_;
};

class Trainer {
 public:
  Trainer(const Model& model, const TrainOptions& options, const Dataset& dataset) : caller_(dataset) {
    std::array<char, 1024> text{};
    coterie_trainer* opened = nullptr;
    const coterie_status status = options.as_c([&](const coterie_train_options* c_options) {
      return coterie_trainer_open(model.c(), c_options, dataset.c(), &opened, text.data(), text.size());
    });
    handle_.reset(opened);
    caller_.check(status, [&] { return text.data(); });
  }

  coterie_train_progress step() {
    auto progress = detail::sized<coterie_train_progress>();
    check(coterie_trainer_step(c(), &progress));
    return progress;
  }
  // So many steps, or until it is finished; 0: until it is finished.
  coterie_train_progress run(uint64_t steps = 0) {
    check(coterie_trainer_run(c(), steps, nullptr, nullptr));
    return progress();
  }
  coterie_train_progress progress() const { return asked<coterie_train_progress>(coterie_trainer_progress); }
  coterie_head head(size_t index) const { return asked<coterie_head>(coterie_trainer_head, index); }
  coterie_train_memory memory() const { return asked<coterie_train_memory>(coterie_trainer_memory); }
  bool finished() const { return progress().finished != 0; }

  void save_checkpoint(const std::string& path) const { check(coterie_trainer_save_checkpoint(c(), path.c_str())); }
  void restore_checkpoint(const std::string& path) { check(coterie_trainer_restore_checkpoint(c(), path.c_str())); }

  // From the next step on: "recommended", or the path of a watch file.
  void watch(const std::string& checks) { check(coterie_trainer_watch(c(), checks.c_str())); }
  void end_watch() { check(coterie_trainer_watch(c(), nullptr)); }
  coterie_watch_summary watch_summary() const { return asked<coterie_watch_summary>(coterie_trainer_watch_summary); }
  // What it has found, in the order of the first step; the texts are valid until the next step.
  std::vector<coterie_watch_hit> watch_hits() const {
    std::vector<coterie_watch_hit> hits(watch_summary().hit_count, detail::sized<coterie_watch_hit>());
    for (size_t i = 0; i < hits.size(); ++i) check(coterie_trainer_watch_hit(c(), i, &hits[i]));
    return hits;
  }

  // As it is trained so far.
  Model model() const {
    coterie_model* trained = nullptr;
    check(coterie_trainer_model(c(), &trained));
    return Model(trained);
  }
  void get(const std::string& parameter, std::span<float> values) const {
    check(coterie_trainer_get_parameter(c(), parameter.c_str(), values.data(), values.size()));
  }
  void delta(std::span<float> values) const { check(coterie_trainer_delta(c(), values.data(), values.size())); }
  coterie_trainer* c() const { return handle_.get(); }

 private:
  void check(coterie_status status) const {
    caller_.check(status, [&] { return coterie_trainer_last_error(c()); });
  }
  template <typename Answer, typename Ask, typename... Arguments>
  Answer asked(Ask ask, Arguments... arguments) const {
    auto answer = detail::sized<Answer>();
    check(ask(c(), arguments..., &answer));
    return answer;
  }
  Caller caller_;  // outlives the handle
  detail::Owned<coterie_trainer, coterie_trainer_close> handle_;
};

// `published`, a version of the job's model, as this device has it: coterie_client_personal_model.
inline Model personal_model(const Client& client, const std::string& job, const Model& published) {
  coterie_model* personal = nullptr;
  const coterie_status status = coterie_client_personal_model(client.c(), job.c_str(), published.c(), &personal);
  if (status != COTERIE_OK) throw Error(status, client.last_error());
  return Model(personal);
}

}  // namespace app
}  // namespace coterie
