// Coterie device SDK for C++20: owning classes over coterie.h, in this header alone; those over
// coterie_train.h are in coterie_train.hpp.
//
// Errors are exceptions, coterie::Error, because constructors open files here, and because a data set written
// as a lambda may throw exceptions of its own: they do not fly through the C library, but come out of the
// call that asked. With -fno-exceptions use the C headers; they are meant to be used, too.
//
// Objects own what they stand for, move and do not copy. A moved-from object may be destroyed and assigned
// to. Rules about threads are those of coterie.h.
#pragma once

#include <coterie.h>

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace coterie {
// Its names are not those inside the library, which an app may have linked statically.
inline namespace app {

class Error : public std::runtime_error {
 public:
  Error(coterie_status status, const std::string& text)
      : std::runtime_error(std::string(coterie_status_name(status)) + ": " + text), status_(status) {}
  coterie_status status() const noexcept { return status_; }

 private:
  coterie_status status_;
};

namespace detail {

template <auto close>
struct Close {
  template <typename Handle>
  void operator()(Handle* handle) const noexcept {
    close(&handle);
  }
};
template <typename Handle, auto close>
using Owned = std::unique_ptr<Handle, Close<close>>;

template <typename Struct>
Struct sized() {
  Struct empty{};
  empty.struct_size = sizeof(Struct);
  return empty;
}

// What open(&handle, text, size) opens.
template <typename Handle, typename Open>
Handle* open(Open open) {
  Handle* handle = nullptr;
  std::array<char, 1024> text{};
  const coterie_status status = open(&handle, text.data(), text.size());
  if (status != COTERIE_OK) throw Error(status, text.data());
  return handle;
}

}  // namespace detail

// Where an example is to be written: a span for each input, one for the target.
class Example {
 public:
  explicit Example(const coterie_example& example) : example_(example) {}
  size_t input_count() const { return example_.input_count; }
  std::span<float> floats(size_t input = 0) const { return {at(input).floats, at(input).count}; }
  std::span<int32_t> ints(size_t input = 0) const { return {at(input).ints, at(input).count}; }
  int32_t& label() const { return *example_.target.ints; }
  std::span<int32_t> labels() const { return {example_.target.ints, example_.target.count}; }
  std::span<float> targets() const { return {example_.target.floats, example_.target.count}; }

 private:
  const coterie_place& at(size_t input) const {
    if (input < example_.input_count) return example_.inputs[input];
    throw Error(COTERIE_INVALID_ARGUMENT, "the model has no input " + std::to_string(input));
  }
  const coterie_example& example_;
};

// Trainers and clients keep what they need of it: it may be destroyed before them.
class Dataset {
 public:
  using Read = std::function<void(uint64_t index, Example to)>;

  // `read` writes one example, or throws.
  Dataset(std::function<uint64_t()> size, Read read) : state_(std::make_shared<State>()) {
    state_->size = std::move(size);
    state_->read = std::move(read);
    state_->c.context = state_.get();
    state_->c.size = [](void* context) { return static_cast<State*>(context)->count(); };
    state_->c.read_example = [](void* context, uint64_t index, const coterie_example* example) {
      return static_cast<State*>(context)->read_into(index, *example);
    };
  }
  Dataset(uint64_t size, Read read) : Dataset([size] { return size; }, std::move(read)) {}
  static Dataset open(const std::string& path) {
    Dataset file;
    std::array<char, 1024> text{};
    const coterie_status status = coterie_dataset_open(path.c_str(), &file.state_->c, text.data(), text.size());
    if (status != COTERIE_OK) throw Error(status, text.data());
    return file;
  }
  Dataset(Dataset&&) noexcept = default;
  Dataset& operator=(Dataset&&) noexcept = default;

  uint64_t size() const { return state_->c.size(state_->c.context); }
  const coterie_dataset* c() const { return &state_->c; }

 private:
  friend class Caller;
  friend class Examples;
  struct State {
    coterie_dataset c = detail::sized<coterie_dataset>();
    std::function<uint64_t()> size;
    Read read;
    std::exception_ptr thrown;
    std::shared_ptr<void> owner;  // of what c refers to, if it is not this

    State() = default;
    State(const State&) = delete;
    ~State() { coterie_dataset_close(&c); }
    uint64_t count() noexcept {
      try {
        return size();
      } catch (...) {
        thrown = std::current_exception();
        return 0;
      }
    }
    int read_into(uint64_t index, const coterie_example& example) noexcept {
      try {
        read(index, Example(example));
        return 0;
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    }
  };
  Dataset() : state_(std::make_shared<State>()) {}
  std::shared_ptr<State> state_;
};

// Keeps a data set alive, and throws what its lambdas threw.
class Caller {
 public:
  explicit Caller(const Dataset& dataset) : state_(dataset.state_) {}
  template <typename LastError>
  void check(coterie_status status, LastError last_error) const {
    if (std::exception_ptr thrown = std::exchange(state_->thrown, nullptr); thrown && status != COTERIE_OK) {
      std::rethrow_exception(thrown);
    }
    if (status != COTERIE_OK) throw Error(status, last_error());
  }

 private:
  std::shared_ptr<Dataset::State> state_;
};

// What the app asks of rounds: the members of coterie_policy, with the same meaning.
struct Policy {
  std::optional<coterie_security_level> security_level_min;  // none given: the default; NONE is said aloud
  uint32_t cohort_min = 0;
  double epsilon_round_max = 0;
  double epsilon_total_max = 0;
  double delta_max = 0;
  uint64_t separation_min = 0;
  double corrupt_share_min = 0;
  uint32_t attempts_max = 0;
  uint32_t openings_max = 0;
  bool accepts_analytics = false;

  coterie_policy c() const {
    auto policy = detail::sized<coterie_policy>();
    policy.security_level_min = security_level_min.value_or(COTERIE_SECURITY_NONE);
    policy.accepts_none = security_level_min == COTERIE_SECURITY_NONE;
    policy.cohort_min = cohort_min;
    policy.epsilon_round_max = epsilon_round_max;
    policy.epsilon_total_max = epsilon_total_max;
    policy.delta_max = delta_max;
    policy.separation_min = separation_min;
    policy.corrupt_share_min = corrupt_share_min;
    policy.attempts_max = attempts_max;
    policy.openings_max = openings_max;
    policy.accepts_analytics = accepts_analytics ? 1 : 0;
    return policy;
  }
};

// A device's own key, as coterie_identity.
struct Identity {
  uint32_t key_algorithm = 0;
  std::vector<uint8_t> public_key;
};

// A participant in federated rounds.
class Client {
 public:
  // Its argument is good inside the call only. What it throws comes out of step() or run().
  using OnRefused = std::function<void(const coterie_refusal&)>;

  // The members of coterie_options are borrowed for the call, those of its transport for the client's life.
  // Its own policy and callback do not count: they are the other arguments.
  Client(coterie_options options, const Dataset& dataset, const Policy& policy = {}, OnRefused on_refused = {})
      : caller_(dataset), refusals_(std::make_unique<Refusals>()) {
    options.struct_size = sizeof options;
    const coterie_policy c_policy = policy.c();
    options.policy = &c_policy;
    refusals_->call = std::move(on_refused);
    options.refused_context = refusals_.get();
    options.on_refused = [](void* to, const coterie_refusal* refusal) { static_cast<Refusals*>(to)->hear(*refusal); };
    std::array<char, 1024> text{};
    coterie_client* opened = nullptr;
    const coterie_status status = coterie_client_open(&options, dataset.c(), &opened, text.data(), text.size());
    handle_.reset(opened);
    caller_.check(status, [&] { return text.data(); });
  }

  coterie_progress step() {
    auto progress = detail::sized<coterie_progress>();
    const coterie_status status = coterie_client_step(c(), &progress);
    refusals_->rethrow();
    check(status);
    return progress;
  }
  // `on_progress` is called after each step, until it returns false or `rounds` updates are accepted.
  void run(uint64_t rounds, const std::function<bool(const coterie_progress&)>& on_progress) {
    struct Context {
      const std::function<bool(const coterie_progress&)>& call;
      const Refusals& refusals;
      std::exception_ptr thrown;
    } context{on_progress, *refusals_, nullptr};
    const auto call = [](void* to, const coterie_progress* progress) {
      auto& with = *static_cast<Context*>(to);
      if (with.refusals.thrown) return 1;
      try {
        return with.call && !with.call(*progress) ? 1 : 0;
      } catch (...) {
        with.thrown = std::current_exception();
        return 1;
      }
    };
    const coterie_status status = coterie_client_run(c(), rounds, call, &context);
    refusals_->rethrow();
    if (context.thrown) std::rethrow_exception(context.thrown);
    check(status);
  }
  // This device's own key: what an authority certifies (coterie_options.certificate).
  Identity identity() const {
    auto identity = detail::sized<coterie_identity>();
    check(coterie_client_identity(c(), &identity));
    return {identity.key_algorithm, {identity.public_key, identity.public_key + identity.public_key_size}};
  }
  // Renewal, as coterie.h says it. Also from within on_progress.
  bool certificate_is_due() const { return coterie_client_certificate_is_due(c()) != 0; }
  std::vector<uint8_t> certificate_request(const coterie_attestation* attestation = nullptr) const {
    std::vector<uint8_t> request(COTERIE_CERTIFICATE_REQUEST_BYTES_MAX);
    size_t size = request.size();
    check(coterie_client_certificate_request(c(), attestation, request.data(), &size));
    request.resize(size);
    return request;
  }
  void take_certificate(const std::vector<uint8_t>& certificate) {
    check(coterie_client_take_certificate(c(), certificate.data(), certificate.size()));
  }
  // From any thread, while the client is there. What it must be like: coterie_options.requirements.
  void set_conditions(coterie_conditions conditions) const {
    conditions.struct_size = sizeof conditions;
    caller_.check(coterie_client_set_conditions(c(), &conditions),
                  [] { return "conditions: a member is out of range"; });
  }
  // From any thread, while the client is there.
  void cancel() noexcept { coterie_client_cancel(c()); }
  std::string last_error() const { return coterie_client_last_error(c()); }
  coterie_client* c() const { return handle_.get(); }

 private:
  struct Refusals {
    OnRefused call;
    std::exception_ptr thrown;

    void hear(const coterie_refusal& refusal) noexcept {
      try {
        if (call) call(refusal);
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    void rethrow() {
      if (std::exception_ptr it = std::exchange(thrown, nullptr)) std::rethrow_exception(it);
    }
  };
  void check(coterie_status status) const {
    caller_.check(status, [&] { return coterie_client_last_error(c()); });
  }
  Caller caller_;  // these outlive the handle
  std::unique_ptr<Refusals> refusals_;
  detail::Owned<coterie_client, coterie_client_close> handle_;
};

}  // namespace app
}  // namespace coterie
