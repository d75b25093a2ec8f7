#include "tools/debug/record_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "device_sdk/runtime/graph_index.h"
#include "device_sdk/runtime/model.h"
#include "secure/crypto/digest.h"

namespace coterie {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they are");

constexpr std::string_view kMagic = "COTSTEP1";
constexpr size_t kDigestAt = kMagic.size(), kHeadSizeAt = kDigestAt + sizeof(Digest::bytes);
constexpr size_t kHeadAt = kHeadSizeAt + sizeof(uint64_t);
constexpr size_t kAlignment = 64;
constexpr size_t kErrorBytesMax = 4096;
constexpr uint32_t kExamplesMax = 1 << 20;  // of a micro-batch
constexpr uint32_t kEntriesMax = 1 << 20;   // steps of a program, and what one of them reads or makes

Error bad(const std::string& what) { return Error(ErrorCode::malformed, what); }
Error damaged(const std::string& what) { return Error(ErrorCode::data_loss, what); }

size_t aligned(size_t at) { return (at + kAlignment - 1) / kAlignment * kAlignment; }

class Writer {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    head_.insert(head_.end(), bytes, bytes + sizeof value);
  }
  void put_size(size_t size) { put(static_cast<uint32_t>(size)); }
  void put(ByteView bytes) { head_.insert(head_.end(), bytes.begin(), bytes.end()); }
  void put(const TrainingSummary& summary) {
    for (const uint64_t value : {summary.steps, summary.examples, summary.correct, summary.rows, summary.skipped}) {
      put(value);
    }
    put(summary.loss_sum);
  }
  void put(const TensorView& view) {
    put(static_cast<uint8_t>(view.type));
    put(view.count);
    tensors_.push_back(view);
  }
  void put(std::span<const float> values) { put(TensorView{ElementType::float32, values.data(), values.size()}); }

  Bytes file() const {
    size_t size = aligned(kHeadAt + head_.size());
    for (const TensorView& view : tensors_) size = aligned(size + view.count * size_of(view.type));
    Bytes file(size);
    std::ranges::copy(kMagic, file.begin());
    const uint64_t head_size = head_.size();
    std::memcpy(file.data() + kHeadSizeAt, &head_size, sizeof head_size);
    std::ranges::copy(head_, file.begin() + kHeadAt);
    size_t at = aligned(kHeadAt + head_.size());
    for (const TensorView& view : tensors_) {
      const size_t bytes = view.count * size_of(view.type);
      if (bytes > 0) std::memcpy(file.data() + at, view.data, bytes);
      at = aligned(at + bytes);
    }
    const Digest digest = content_digest(ByteView(file).subspan(kHeadSizeAt));
    std::ranges::copy(digest.bytes, file.begin() + kDigestAt);
    return file;
  }

 private:
  Bytes head_;
  std::vector<TensorView> tensors_;
};

// After the first thing that is wrong everything is 0, and error() says what it was.
class Reader {
 public:
  Reader(ByteView head, ByteView tensors) : head_(head), tensors_(tensors) {}

  template <typename T>
  T take() {
    T value{};
    if (head_.size() < sizeof value) {
      fail("its head ends too early");
      return value;
    }
    std::memcpy(&value, head_.data(), sizeof value);
    head_ = head_.subspan(sizeof value);
    return value;
  }
  // A number below `end`.
  uint32_t index(const char* what, uint64_t end) {
    const auto value = take<uint32_t>();
    if (value < end) return value;
    fail(std::string(what) + " " + std::to_string(value) + " is not one of " + std::to_string(end));
    return 0;
  }
  // How many elements follow, of at least `bytes` bytes each: no more than there is room for.
  uint32_t size(const char* what, uint64_t most, size_t bytes) {
    const auto value = take<uint32_t>();
    if (value <= most && value <= head_.size() / bytes) return value;
    fail(std::to_string(value) + " " + what + " are too many");
    return 0;
  }
  bool flag(const char* what) {
    const auto value = take<uint8_t>();
    if (value > 1) fail(std::string(what) + " is neither 0 nor 1");
    return value == 1;
  }
  ByteView bytes(size_t count) {
    if (count > head_.size()) {
      fail("its head ends too early");
      return {};
    }
    const ByteView taken = head_.first(count);
    head_ = head_.subspan(count);
    return taken;
  }
  TrainingSummary summary() {
    TrainingSummary summary;
    for (uint64_t* const value :
         {&summary.steps, &summary.examples, &summary.correct, &summary.rows, &summary.skipped}) {
      *value = take<uint64_t>();
    }
    summary.loss_sum = take<double>();
    return summary;
  }
  TensorView tensor() {
    const auto type = take<uint8_t>();
    const auto count = take<uint64_t>();
    if (type > static_cast<uint8_t>(ElementType::float64)) fail("a tensor has a type that is none");
    if (is_wrong()) return {};
    TensorView view{static_cast<ElementType>(type), tensors_.data(), count};
    const size_t element = size_of(view.type);
    if (count > tensors_.size() / element) {
      fail("its tensors end too early");
      return {};
    }
    tensors_ = tensors_.subspan(std::min(aligned(count * element), tensors_.size()));
    return view;
  }
  std::span<const float> floats(const char* what, uint64_t count) {
    const TensorView view = tensor();
    if (!is_wrong() && (view.type != ElementType::float32 || (view.count != 0 && view.count != count))) {
      fail(std::string(what) + " are not those of the model");
    }
    if (is_wrong() || view.count == 0) return {};
    return {static_cast<const float*>(view.data), view.count};
  }

  void fail(std::string what) {
    if (!is_wrong()) error_ = std::move(what);
  }
  bool is_wrong() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  bool is_done() const { return head_.empty() && tensors_.empty(); }

 private:
  ByteView head_, tensors_;
  std::string error_;
};

void write_program(const StepRecord& record, Writer& to) {
  to.put_size(record.program.size());
  for (const WatchedStep& step : record.program) {
    to.put(step.op);
    to.put_size(step.reads.size());
    for (const size_t slot : step.reads) to.put_size(slot);
    to.put_size(step.data.size());
    for (const auto& [slot, view] : step.data) to.put_size(slot);
    to.put_size(step.gradients.size());
    for (const auto& [tensor, view] : step.gradients) {
      to.put(tensor);
      to.put(view);
    }
    to.put_size(step.made.size());
    for (const MadeTensor& made : step.made) {
      to.put(made.number);
      to.put(static_cast<uint8_t>(made.is_gradient));
      to.put(static_cast<uint8_t>(made.is_first));
      to.put(made.units);
      to.put(made.tensor);
    }
  }
}

constexpr size_t kTensorBytes = 9;                // in the head
constexpr size_t kMadeBytes = 14 + kTensorBytes;  // likewise
constexpr size_t kStepBytes = 20;                 // of one that reads and makes nothing

WatchedStep read_step(const ModelGraph& graph, const StepRecord& record, Reader& from) {
  const uint64_t tensors = graph.tensors.size(), slots = 2 * tensors;
  WatchedStep step;
  step.op = from.take<uint32_t>();
  if (step.op != kNoOp && step.op >= graph.ops.size()) from.fail("an op is none of the model");
  for (uint32_t left = from.size("operands", kEntriesMax, 4); left > 0; --left) {
    step.reads.push_back(from.index("operand", slots));
  }
  for (uint32_t left = from.size("inputs", kEntriesMax, 4); left > 0; --left) {
    const size_t slot = from.index("operand", slots);
    const auto input = std::ranges::find(record.inputs, static_cast<uint32_t>(slot / 2), &RecordedInput::tensor);
    if (input == record.inputs.end()) from.fail("an op reads an input that is not there");
    else step.data.emplace_back(slot, input->values);
  }
  for (uint32_t left = from.size("gradients", kEntriesMax, 4 + kTensorBytes); left > 0; --left) {
    const uint32_t tensor = from.index("tensor", tensors);
    step.gradients.emplace_back(tensor, from.tensor());
  }
  for (uint32_t left = from.size("results", kEntriesMax, kMadeBytes); left > 0; --left) {
    MadeTensor made;
    made.number = from.index("tensor", tensors);
    made.is_gradient = from.flag("is_gradient");
    made.is_first = from.flag("is_first");
    made.units = from.take<uint64_t>();
    made.tensor = from.tensor();
    if (made.units > made.tensor.count || (made.units > 0 && made.tensor.count % made.units != 0)) {
      from.fail("a tensor of " + std::to_string(made.tensor.count) + " elements has no " + std::to_string(made.units) +
                " units");
    }
    step.made.push_back(made);
  }
  return step;
}

RecordFile read_head(const Model& model, Reader& from) {
  const ModelGraph& graph = model.graph();
  RecordFile file;
  StepRecord& record = file.record;
  std::ranges::copy(from.bytes(sizeof(Digest::bytes)), file.training.model.bytes.begin());
  file.training.steps_an_epoch = from.take<uint64_t>();
  if (file.training.steps_an_epoch == 0) from.fail("an epoch has no steps");
  const uint32_t tensors = from.size("tensors", graph.tensors.size(), 1);
  if (tensors != graph.tensors.size()) from.fail("its tensors are not those of the model");
  for (uint32_t i = 0; i < tensors; ++i) file.training.is_trained.push_back(from.flag("is_trained"));
  record.step = from.take<uint32_t>();
  record.from = from.summary();
  record.summary = from.summary();
  record.loss = from.take<double>();
  record.learning_rate = from.take<double>();
  record.next_learning_rate = from.take<double>();
  record.left_out = from.take<uint64_t>();
  record.error = as_text(from.bytes(from.size("bytes of an error", kErrorBytesMax, 1)));
  for (uint32_t left = from.size("examples", kExamplesMax, 4); left > 0; --left) {
    record.examples.push_back(from.take<uint32_t>());
  }
  record.before = from.floats("parameters in front of the step", model.value_count());
  record.behind = from.floats("parameters behind the step", model.value_count());
  for (uint32_t left = from.size("inputs", graph.inputs.size() + 1, 4 + kTensorBytes); left > 0; --left) {
    RecordedInput input{.tensor = from.take<uint32_t>(), .values = from.tensor()};
    const bool is_input = std::ranges::find(graph.inputs, input.tensor) != graph.inputs.end();
    if (!is_input && input.tensor != kNoTensor) from.fail("an input is none of the model");
    record.inputs.push_back(input);
  }
  for (uint32_t left = from.size("steps", kEntriesMax, kStepBytes); left > 0 && !from.is_wrong(); --left) {
    record.program.push_back(read_step(graph, record, from));
  }
  return file;
}

}  // namespace

Bytes encode_record(const RecordedTraining& training, const StepRecord& record) {
  Writer to;
  to.put(training.model.view());
  to.put(training.steps_an_epoch);
  to.put_size(training.is_trained.size());
  for (const bool is_trained : training.is_trained) to.put(static_cast<uint8_t>(is_trained));
  to.put_size(record.step);
  to.put(record.from);
  to.put(record.summary);
  to.put(record.loss);
  to.put(record.learning_rate);
  to.put(record.next_learning_rate);
  to.put(record.left_out);
  const std::string error = record.error.substr(0, kErrorBytesMax);
  to.put_size(error.size());
  to.put(as_bytes(error));
  to.put_size(record.examples.size());
  for (const uint32_t example : record.examples) to.put(example);
  to.put(record.before);
  to.put(record.behind);
  to.put_size(record.inputs.size());
  for (const RecordedInput& input : record.inputs) {
    to.put(input.tensor);
    to.put(input.values);
  }
  write_program(record, to);
  return to.file();
}

Result<RecordFile> decode_record(Bytes file, const Model& model) {
  if (!as_text(file).starts_with(kMagic)) return bad("is no recorded step: it does not begin with COTSTEP1");
  if (file.size() < kHeadAt) return damaged("a recorded step is cut off");
  Digest written;
  std::copy_n(file.begin() + kDigestAt, written.bytes.size(), written.bytes.begin());
  if (content_digest(ByteView(file).subspan(kHeadSizeAt)) != written) {
    return damaged("a recorded step is cut off or damaged: its digest is another");
  }
  uint64_t head_size = 0;
  std::memcpy(&head_size, file.data() + kHeadSizeAt, sizeof head_size);
  if (head_size > kRecordHeadBytesMax || head_size > file.size() - kHeadAt) return bad("has a head beyond its end");
  const ByteView all = file;
  const ByteView tensors = all.subspan(std::min(aligned(kHeadAt + head_size), file.size()));
  const ByteView digest = all.subspan(kHeadAt, std::min<size_t>(head_size, sizeof(Digest::bytes)));
  if (!std::ranges::equal(digest, model.digest().bytes)) {
    return Error(ErrorCode::conflict, "is a step of another model");
  }
  Reader reader(all.subspan(kHeadAt, head_size), tensors);
  RecordFile read = read_head(model, reader);
  if (!reader.is_wrong() && !reader.is_done()) reader.fail("there is more than its head names");
  if (reader.is_wrong()) return bad("a recorded step is malformed: " + reader.error());
  read.record.blocks.push_back(std::move(file));  // whose bytes stay where they are
  return read;
}

}  // namespace coterie
