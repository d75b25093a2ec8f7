#include "model_import/weights/pickle.h"

#include <bit>
#include <map>
#include <optional>

#include "model_import/weights/little_endian.h"
#include "model_import/weights/pickle_value.h"

namespace coterie::model_import {
namespace {

Error malformed(const std::string& what) { return Error(ErrorCode::malformed, "its pickle " + what); }
Error cut_short() { return malformed("is cut short"); }

constexpr PickleIndex kMark = ~0u;
constexpr size_t kStorageNameBytesMax = 64;  // "17": each tensor has a copy of it

class Machine {
 public:
  explicit Machine(ByteView program) : rest_(program) {}

  Result<PickleIndex> run();
  const std::vector<PickleValue>& values() const { return values_; }

 private:
  Status step(uint8_t opcode);
  Status step_text(uint8_t opcode);
  Status step_number(uint8_t opcode);
  Status step_container(uint8_t opcode);
  Status step_memo(uint8_t opcode);

  Result<ByteView> take(uint64_t bytes);
  Result<std::string> line();
  Status push(PickleValue value);
  Result<PickleIndex> pop();
  Result<std::vector<PickleIndex>> pop_to_mark();
  Status tuple_of(size_t count);
  Status remember(uint64_t key);
  Status recall(uint64_t key);
  Status global();
  Status stack_global();
  Status persistent();
  Status reduce();
  Status set_items(std::vector<PickleIndex> items);
  Status append(std::vector<PickleIndex> items);

  Result<PickleValue> called(const PickleGlobal& global, const PickleTuple& arguments) const;
  Result<PickledTensor> tensor_of(const std::vector<PickleIndex>& arguments) const;
  std::optional<std::vector<int64_t>> numbers(PickleIndex tuple) const;
  template <typename T>
  const T* as(PickleIndex index) const {
    return std::get_if<T>(&values_[index]);
  }

  ByteView rest_;
  std::vector<PickleValue> values_;
  std::vector<PickleIndex> stack_;  // kMark where a MARK stands
  std::map<uint64_t, PickleIndex> memo_;
  bool is_done_ = false;
};

Result<ByteView> Machine::take(uint64_t bytes) {
  if (bytes > rest_.size()) return cut_short();
  const ByteView taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}

Result<std::string> Machine::line() {
  const std::string_view text = as_text(rest_.first(std::min(rest_.size(), kWeightNameBytesMax)));
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return malformed("has a line that does not end");
  rest_ = rest_.subspan(end + 1);
  return std::string(text.substr(0, end));
}

Status Machine::push(PickleValue value) {
  if (values_.size() == kPickleValuesMax || stack_.size() == kPickleValuesMax) {
    return Error(ErrorCode::too_large, "its pickle makes more than 2^18 values");
  }
  stack_.push_back(static_cast<PickleIndex>(values_.size()));
  values_.push_back(std::move(value));
  return {};
}

Result<PickleIndex> Machine::pop() {
  if (stack_.empty() || stack_.back() == kMark) return malformed("takes from an empty stack");
  const PickleIndex index = stack_.back();
  stack_.pop_back();
  return index;
}

Result<std::vector<PickleIndex>> Machine::pop_to_mark() {
  size_t at = stack_.size();
  while (at > 0 && stack_[at - 1] != kMark) --at;
  if (at == 0) return malformed("has no mark where it needs one");
  std::vector<PickleIndex> items(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
  stack_.resize(at - 1);
  return items;
}

Status Machine::tuple_of(size_t count) {
  PickleTuple tuple;
  for (size_t i = 0; i < count; ++i) {
    COT_ASSIGN(const PickleIndex item, pop());
    tuple.items.insert(tuple.items.begin(), item);
  }
  return push(std::move(tuple));
}

Status Machine::remember(uint64_t key) {
  if (stack_.empty() || stack_.back() == kMark) return malformed("remembers what is not there");
  if (memo_.size() == kPickleValuesMax)
    return Error(ErrorCode::too_large, "its pickle remembers more than 2^18 values");
  memo_[key] = stack_.back();
  return {};
}

Status Machine::recall(uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return malformed("recalls what was never remembered");
  if (stack_.size() == kPickleValuesMax) return Error(ErrorCode::too_large, "its pickle's stack is too high");
  stack_.push_back(found->second);
  return {};
}

Status Machine::global() {
  COT_ASSIGN(const std::string module, line());
  COT_ASSIGN(const std::string name, line());
  COT_ASSIGN(const PickleGlobal found, pickle_global(module, name));
  return push(found);
}

Status Machine::stack_global() {
  COT_ASSIGN(const PickleIndex name, pop());
  COT_ASSIGN(const PickleIndex module, pop());
  if (as<std::string>(name) == nullptr || as<std::string>(module) == nullptr) {
    return malformed("has a name that is no text");
  }
  COT_ASSIGN(const PickleGlobal found, pickle_global(*as<std::string>(module), *as<std::string>(name)));
  return push(found);
}

// ("storage", torch.FloatStorage, "0", "cpu", 12): where the elements lie.
Status Machine::persistent() {
  COT_ASSIGN(const PickleIndex index, pop());
  const auto* const tuple = as<PickleTuple>(index);
  if (tuple == nullptr || tuple->items.size() != 5) return malformed("names a storage in an unknown way");
  const auto* const kind = as<std::string>(tuple->items[0]);
  const auto* const type = as<PickleGlobal>(tuple->items[1]);
  const auto* const name = as<std::string>(tuple->items[2]);
  const auto* const elements = as<int64_t>(tuple->items[4]);
  if (kind == nullptr || *kind != "storage" || type == nullptr || type->callable != PickleCallable::storage ||
      name == nullptr || name->size() > kStorageNameBytesMax || elements == nullptr || *elements < 0) {
    return malformed("names a storage in an unknown way");
  }
  return push(PickleStorage{type->type, *name, static_cast<uint64_t>(*elements)});
}

std::optional<std::vector<int64_t>> Machine::numbers(PickleIndex index) const {
  const auto* const tuple = as<PickleTuple>(index);
  if (tuple == nullptr || tuple->items.size() > kWeightRankMax) return std::nullopt;
  std::vector<int64_t> values;
  for (const PickleIndex item : tuple->items) {
    const auto* const number = as<int64_t>(item);
    if (number == nullptr || *number < 0) return std::nullopt;
    values.push_back(*number);
  }
  return values;
}

// (storage, first element, sizes, strides, requires_grad, hooks[, metadata])
Result<PickledTensor> Machine::tensor_of(const std::vector<PickleIndex>& arguments) const {
  if (arguments.size() < 4 || arguments.size() > 7) return malformed("rebuilds a tensor of other arguments");
  const auto* const storage = as<PickleStorage>(arguments[0]);
  const auto* const first = as<int64_t>(arguments[1]);
  const auto sizes = numbers(arguments[2]), strides = numbers(arguments[3]);
  if (storage == nullptr || first == nullptr || *first < 0 || !sizes || !strides || sizes->size() != strides->size()) {
    return malformed("rebuilds a tensor of other arguments");
  }
  return PickledTensor{storage->type, storage->name, storage->elements, static_cast<uint64_t>(*first),
                       *sizes,        *strides};
}

Result<PickleValue> Machine::called(const PickleGlobal& global, const PickleTuple& arguments) const {
  switch (global.callable) {
    case PickleCallable::ordered_dict:
      if (!arguments.items.empty()) return malformed("fills an OrderedDict in an unknown way");
      return PickleValue(PickleDict{});
    case PickleCallable::rebuild_tensor: {
      COT_ASSIGN(PickledTensor tensor, tensor_of(arguments.items));
      return PickleValue(std::move(tensor));
    }
    case PickleCallable::rebuild_parameter: {
      const auto* const tensor = arguments.items.empty() ? nullptr : as<PickledTensor>(arguments.items[0]);
      if (tensor == nullptr) return malformed("rebuilds a parameter of something else than a tensor");
      return PickleValue(*tensor);
    }
    case PickleCallable::size: {
      const auto* const sizes = arguments.items.size() == 1 ? as<PickleTuple>(arguments.items[0]) : nullptr;
      if (sizes == nullptr || sizes->items.size() > kWeightRankMax)
        return malformed("makes a torch.Size of something else than sizes");
      return PickleValue(*sizes);
    }
    case PickleCallable::storage: break;
  }
  return malformed("calls a storage, which only names a type here");
}

Status Machine::reduce() {
  COT_ASSIGN(const PickleIndex arguments, pop());
  COT_ASSIGN(const PickleIndex callable, pop());
  if (as<PickleGlobal>(callable) == nullptr || as<PickleTuple>(arguments) == nullptr) {
    return malformed("calls what cannot be called");
  }
  COT_ASSIGN(PickleValue made, called(*as<PickleGlobal>(callable), *as<PickleTuple>(arguments)));
  return push(std::move(made));
}

Status Machine::set_items(std::vector<PickleIndex> items) {
  auto* const dict =
      stack_.empty() || stack_.back() == kMark ? nullptr : std::get_if<PickleDict>(&values_[stack_.back()]);
  if (dict == nullptr || items.size() % 2 != 0) return malformed("sets items of what is no dictionary");
  for (size_t i = 0; i < items.size(); i += 2) dict->items.emplace_back(items[i], items[i + 1]);
  return {};
}

Status Machine::append(std::vector<PickleIndex> items) {
  auto* const list =
      stack_.empty() || stack_.back() == kMark ? nullptr : std::get_if<PickleList>(&values_[stack_.back()]);
  if (list == nullptr) return malformed("appends to what is no list");
  list->items.insert(list->items.end(), items.begin(), items.end());
  return {};
}

Status Machine::step_number(uint8_t opcode) {
  switch (opcode) {
    case 'K':    // BININT1
    case 'M':    // BININT2
    case 'J': {  // BININT
      const size_t width = opcode == 'K' ? 1 : opcode == 'M' ? 2 : 4;
      COT_ASSIGN(const ByteView bytes, take(width));
      const uint64_t value = integer_at(bytes, 0, width);
      return push(opcode == 'J' ? int64_t{static_cast<int32_t>(value)} : static_cast<int64_t>(value));
    }
    case 0x8a: {  // LONG1: two's complement of as many bytes as it says
      COT_ASSIGN(const ByteView size, take(1));
      COT_ASSIGN(const ByteView bytes, take(size[0]));
      if (bytes.size() > 8) return malformed("has a number of more than 8 bytes");
      uint64_t value = bytes.empty() ? 0 : integer_at(bytes, 0, bytes.size());
      if (!bytes.empty() && bytes.size() < 8 && bytes.back() >= 0x80) value |= ~uint64_t{0} << (8 * bytes.size());
      return push(std::bit_cast<int64_t>(value));
    }
    case 'G': COT_TRY(take(8).has_value() ? Status() : cut_short()); return push(PickleOther{});  // BINFLOAT
    case 0x88: return push(int64_t{1});                                                           // NEWTRUE
    case 0x89: return push(int64_t{0});                                                           // NEWFALSE
    default: return push(PickleOther{});                                                          // NONE
  }
}

Status Machine::step_text(uint8_t opcode) {
  // BINUNICODE, SHORT_BINUNICODE, BINSTRING, SHORT_BINSTRING, and SHORT_BINBYTES: the length, then as many bytes.
  const size_t width = opcode == 'X' || opcode == 'T' ? 4 : 1;
  COT_ASSIGN(const ByteView length, take(width));
  COT_ASSIGN(const ByteView text, take(integer_at(length, 0, width)));
  return push(std::string(as_text(text)));
}

Status Machine::step_container(uint8_t opcode) {
  switch (opcode) {
    case '}': return push(PickleDict{});
    case ']': return push(PickleList{});
    case ')': return push(PickleTuple{});
    case 0x85: return tuple_of(1);
    case 0x86: return tuple_of(2);
    case 0x87: return tuple_of(3);
    case 't': {  // TUPLE
      COT_ASSIGN(std::vector<PickleIndex> items, pop_to_mark());
      return push(PickleTuple{std::move(items)});
    }
    case 's': {  // SETITEM
      COT_ASSIGN(const PickleIndex value, pop());
      COT_ASSIGN(const PickleIndex key, pop());
      return set_items({key, value});
    }
    case 'u': {  // SETITEMS
      COT_ASSIGN(std::vector<PickleIndex> items, pop_to_mark());
      return set_items(std::move(items));
    }
    case 'a': {  // APPEND
      COT_ASSIGN(const PickleIndex item, pop());
      return append({item});
    }
    default: {  // APPENDS
      COT_ASSIGN(std::vector<PickleIndex> items, pop_to_mark());
      return append(std::move(items));
    }
  }
}

Status Machine::step_memo(uint8_t opcode) {
  if (opcode == 0x94) return remember(memo_.size());  // MEMOIZE
  const size_t width = opcode == 'r' || opcode == 'j' ? 4 : 1;
  COT_ASSIGN(const ByteView key, take(width));
  return opcode == 'q' || opcode == 'r' ? remember(integer_at(key, 0, width)) : recall(integer_at(key, 0, width));
}

Status Machine::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      COT_ASSIGN(const ByteView version, take(1));
      if (version[0] >= 2 && version[0] <= 5) return {};
      return Error(ErrorCode::unsupported_version,
                   "its pickle is of protocol " + std::to_string(version[0]) + ", expected 2 to 5");
    }
    case 0x95: return take(8).has_value() ? Status() : cut_short();  // FRAME: a hint for readers of streams
    case '.': is_done_ = true; return {};
    case '(':
      if (stack_.size() == kPickleValuesMax) return Error(ErrorCode::too_large, "its pickle's stack is too high");
      stack_.push_back(kMark);
      return {};
    case 'c': return global();
    case 0x93: return stack_global();
    case 'Q': return persistent();
    case 'R': return reduce();
    case 'b': {  // BUILD: attributes of a dictionary (_metadata), of which nothing is needed
      COT_TRY(pop().has_value() ? Status() : malformed("builds of nothing"));
      if (stack_.empty() || stack_.back() == kMark || as<PickleDict>(stack_.back()) == nullptr) {
        return malformed("gives attributes to something else than a dictionary");
      }
      return {};
    }
    case 'K':
    case 'M':
    case 'J':
    case 'G':
    case 'N':
    case 0x88:
    case 0x89:
    case 0x8a: return step_number(opcode);
    case 'X':
    case 'T':
    case 'U':
    case 'C':
    case 0x8c: return step_text(opcode);
    case '}':
    case ']':
    case ')':
    case 0x85:
    case 0x86:
    case 0x87:
    case 't':
    case 's':
    case 'u':
    case 'a':
    case 'e': return step_container(opcode);
    case 'q':
    case 'r':
    case 'h':
    case 'j':
    case 0x94: return step_memo(opcode);
    default:
      return Error(ErrorCode::invalid_argument,
                   "its pickle has the opcode " + std::to_string(opcode) +
                       ", which no state dict needs: save torch.save(net.state_dict(), FILE)");
  }
}

Result<PickleIndex> Machine::run() {
  while (!is_done_) {
    COT_ASSIGN(const ByteView opcode, take(1));
    COT_TRY(step(opcode[0]));
  }
  if (!rest_.empty()) return malformed("has bytes behind its end");
  COT_ASSIGN(const PickleIndex result, pop());
  if (!stack_.empty()) return malformed("leaves something on its stack");
  return result;
}

// The tensors and dictionaries in `from`. A dictionary may hold itself or the same one often, so all that is made is
// counted.
Status collect(const std::vector<PickleValue>& values, PickleIndex from, size_t depth, size_t& made, PickledDict& to) {
  if (depth > kPickleNestingMax) return Error(ErrorCode::too_large, "has dictionaries more than 16 deep");
  for (const auto& [key, value] : std::get<PickleDict>(values[from]).items) {
    const auto* const name = std::get_if<std::string>(&values[key]);
    if (name == nullptr) continue;
    if (++made > kWeightTensorsMax) return Error(ErrorCode::too_large, "has more than 65,536 tensors");
    if (name->size() > kWeightNameBytesMax) return Error(ErrorCode::too_large, "has a name of more than 1,024 bytes");
    if (const auto* const tensor = std::get_if<PickledTensor>(&values[value])) to.tensors.emplace_back(*name, *tensor);
    if (std::holds_alternative<PickleDict>(values[value])) {
      COT_TRY(collect(values, value, depth + 1, made, to.dicts.emplace_back(PickledDict{*name, {}, {}})));
    }
  }
  return {};
}

}  // namespace

Result<PickledDict> read_pickle(ByteView program) {
  if (program.size() > kPickleBytesMax) return Error(ErrorCode::too_large, "has a pickle of more than 64 MiB");
  Machine machine(program);
  COT_ASSIGN(const PickleIndex result, machine.run());
  if (!std::holds_alternative<PickleDict>(machine.values()[result])) {
    return Error(ErrorCode::invalid_argument,
                 "holds no dictionary of tensors: save torch.save(net.state_dict(), FILE)");
  }
  PickledDict dict;
  size_t made = 0;
  COT_TRY(collect(machine.values(), result, 1, made, dict));
  return dict;
}

}  // namespace coterie::model_import
