// Delegate: something that computes parts of a model in our kernels' place, such as a vendor's library or a GPU. This
// header is the contract between it and the runtime:
//
//   takes      which ops it computes, and of each other one why not
//   compile    a part of a graph, with the shapes of one batch size
//   run        the part, on buffers that the runtime owns; or of a training its forward and its backward
//   memory     where these buffers lie; what lies on a device is copied there and back by the runtime, which counts it
//   fall back  whatever fails or computes something else is computed by our kernels from then on
//
// Nobody trusts a delegate: its first results are held against our own (verification.h, gradient_check.h), and what it
// throws ends at its border (fence.h). What it may break all the same is the process that it runs in.
//
// Threads: the runtime calls a delegate and what it has made from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device_sdk/runtime/op_rule.h"
#include "proto/messages/model.h"

namespace coterie {

// host: buffers are pointers to floats, and the delegate reads and writes them. device: they are what DeviceMemory
// gave.
enum class MemoryDomain : uint8_t { host, device };

struct DelegateTraits {
  std::string name;     // as the command line has it: "onednn"
  std::string version;  // of what computes; for people
  MemoryDomain domain = MemoryDomain::host;
  bool computes_backward = false;  // compile_training() works; without it nothing of a training is given to it
  // Rough figures of the machine, for the choice of parts (partition.h) alone. Nanoseconds: to begin a part, to take a
  // byte over its border, and how much sooner an operation is done than by our kernels.
  double launch_nanoseconds = 0;
  double nanoseconds_per_byte = 0;
  double saved_nanoseconds_per_flop = 0;
};

// A model as delegates see it. Everything in it outlives compile() and no longer.
struct DelegateGraph {
  const ModelGraph& graph;
  std::span<const TensorType> types;  // per tensor, the batch included
  std::span<const float> parameters;  // the payload of the model
  // In a training, per tensor: whether it is a parameter that the training changes. Null: the model predicts. What is
  // not trained keeps its values.
  const std::vector<bool>* trained = nullptr;

  bool is_trained(uint32_t tensor) const { return trained != nullptr && (*trained)[tensor]; }
  const Shape& shape(uint32_t tensor) const { return types[tensor].shape; }
  // Whether it is a parameter, state or constant: its values are known, but of one that is trained only those of the
  // training's begin.
  bool is_stored(uint32_t tensor) const {
    const TensorRole role = graph.tensors[tensor].role;
    return role == TensorRole::constant || has_payload(role);
  }
  // Those values. Precondition: is_stored(), float32.
  std::span<const float> stored(uint32_t tensor) const {
    const TensorInfo& info = graph.tensors[tensor];
    const uint64_t count = elements(types[tensor].shape);
    if (has_payload(info.role)) return parameters.subspan(info.payload_offset / sizeof(float), count);
    return {reinterpret_cast<const float*>(info.data.data()), count};
  }
};

// What compile() is given: ops in an order in which they can be computed; which tensors come in and which go out.
struct DelegatePart {
  DelegateGraph model;
  std::vector<uint32_t> ops;      // ascending; takes() took each
  std::vector<uint32_t> inputs;   // of these some op reads each; none is stored
  std::vector<uint32_t> outputs;  // of these some op writes each
  uint32_t threads = 1;           // that it may use at most
  // In a training; else empty. All ascending.
  std::vector<uint32_t> parameters = {};        // that are trained, and that some op of the part reads
  std::vector<uint32_t> output_gradients = {};  // outputs whose gradients backward is given
  std::vector<uint32_t> gradients = {};         // inputs and parameters whose gradients it gives
};

// A device's memory. Errors: unavailable, too_large.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual Result<void*> allocate(uint64_t bytes) = 0;
  virtual void release(void* buffer) = 0;  // of allocate()
  virtual Status write(void* to, const float* from, uint64_t bytes) = 0;
  virtual Status read(float* to, const void* from, uint64_t bytes) = 0;
};

class CompiledPart {
 public:
  virtual ~CompiledPart() = default;
  // Computes the part once. inputs[i] is the buffer of DelegatePart::inputs[i], outputs likewise, each in the
  // delegate's domain and as large as its tensor. Inputs keep their values; outputs are written whole, and may have
  // held anything. The buffers are the caller's, and others at each call. Returns when the outputs are there. Any
  // error: the runtime falls back.
  virtual Status run(std::span<void* const> inputs, std::span<void* const> outputs) = 0;
};

// The buffers of one training part, by the lists of its DelegatePart; each as large as its tensor.
struct TrainingBuffers {
  std::span<void* const> inputs, parameters, outputs;
  std::span<void* const> output_gradients, gradients;  // of backward alone
};

// A part of a training. Buffers as CompiledPart::run has them; parameters have their present values, which the next
// step changes.
class TrainingPart {
 public:
  virtual ~TrainingPart() = default;
  // Reads inputs and parameters, writes outputs whole; may keep whatever backward() needs.
  virtual Status forward(const TrainingBuffers& buffers) = 0;
  // Behind the forward() of the same batch, at most once. Reads all but the gradients, where inputs, parameters and
  // outputs have forward's values; writes each of the gradients whole: of the sum of all elements of the outputs, each
  // times its output gradient. That counts only readers outside of the part. Not called where `gradients` is empty.
  virtual Status backward(const TrainingBuffers& buffers) = 0;
};

class Delegate {
 public:
  virtual ~Delegate() = default;
  virtual DelegateTraits traits() const = 0;
  // Why not to give it this op (an index of the graph), as the end of "op NAME: ..."; empty if it takes it. The runtime
  // asks of ops alone whose tensors are float32 and have the batch in front, or are stored; and of a training
  // (model.trained) of none that differs there, such as dropout, or a batch norm that follows its batches.
  virtual std::string refusal(const DelegateGraph& model, uint32_t op) const = 0;
  // Any error: the part is our kernels' own. What is made may outlive neither the delegate nor its memory.
  virtual Result<std::unique_ptr<CompiledPart>> compile(const DelegatePart& part) = 0;
  // The same for a training; only where traits() say computes_backward.
  virtual Result<std::unique_ptr<TrainingPart>> compile_training(const DelegatePart& part);
  // Not null where the domain is device.
  virtual DeviceMemory* memory() { return nullptr; }
};

inline Result<std::unique_ptr<TrainingPart>> Delegate::compile_training(const DelegatePart&) {
  return Error(ErrorCode::unavailable, "it computes no backward");
}

}  // namespace coterie
