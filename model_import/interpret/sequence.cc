// Sequences: made, changed, taken apart.
#include <algorithm>
#include <map>

#include "model_import/interpret/operator.h"
#include "model_import/interpret/parts.h"

namespace coterie::model_import {
namespace {

constexpr size_t kItemsMax = 1 << 16;

Array empty_sequence() {
  Array sequence;
  sequence.form = Form::sequence;
  return sequence;
}

// A sequence that is made item by item, and counts its elements as they come.
class Filling {
 public:
  Filling() : sequence_(empty_sequence()) {}
  explicit Filling(Array sequence) : sequence_(std::move(sequence)) {
    for (const Array& item : sequence_.items) elements_ += item.values.size();
  }

  Status insert(size_t position, Array item) {
    if (item.form != Form::tensor && item.form != Form::text) return bad_form("an item that is no tensor");
    if (sequence_.items.size() >= kItemsMax)
      return Error(ErrorCode::too_large, "a sequence of more than 65536 tensors");
    elements_ += item.values.size();
    if (elements_ > kArrayElementsMax) return Error(ErrorCode::too_large, "a sequence of more than 2^27 elements");
    sequence_.items.insert(sequence_.items.begin() + static_cast<std::ptrdiff_t>(position), std::move(item));
    return {};
  }
  Status add(Array item) { return insert(sequence_.items.size(), std::move(item)); }
  Array take() { return std::move(sequence_); }

 private:
  Array sequence_;
  uint64_t elements_ = 0;
};

Result<const Array*> sequence_at(const Call& call, size_t i) {
  COT_TRY(needs_operands(call, i + 1));
  if (call.operand(i).form != Form::sequence) return bad_form("an operand that is no sequence");
  return &call.operand(i);
}

// Operand `i` as a place among `count`; negative: from the end.
Result<size_t> position_at(const Call& call, size_t i, size_t count) {
  const Array& given = call.operand(i);
  if (given.form != Form::tensor || given.element != Element::integer || given.size() != 1)
    return bad_form("a position that is not one integer");
  const int64_t position = whole(given.values[0]), size = static_cast<int64_t>(count);
  if (position < -size || position >= size) {
    return bad_form("position " + std::to_string(position) + " of a sequence of " + std::to_string(size));
  }
  return static_cast<size_t>(position < 0 ? position + size : position);
}

Result<Outputs> compute_empty(const Call&) { return one(empty_sequence()); }

Result<Outputs> compute_construct(const Call& call) {
  COT_TRY(needs_operands(call, std::max<size_t>(1, call.node.inputs.size())));
  Filling sequence;
  for (const Array* item : call.operands) COT_TRY(sequence.add(*item));
  return one(sequence.take());
}

// Before the item at the position, or behind the last.
Result<Outputs> compute_insert(const Call& call) {
  COT_ASSIGN(const Array* given, sequence_at(call, 0));
  COT_TRY(needs_operands(call, 2));
  size_t position = given->items.size();
  if (call.has(2)) {
    // Behind the last is a place, too.
    const Array& wanted = call.operand(2);
    const bool is_behind =
        wanted.form == Form::tensor && wanted.size() == 1 && wanted.values[0] == static_cast<double>(position);
    if (!is_behind) {
      COT_ASSIGN(position, position_at(call, 2, given->items.size()));
    }
  }
  Filling sequence(*given);
  COT_TRY(sequence.insert(position, call.operand(1)));
  return one(sequence.take());
}

Result<Outputs> compute_erase(const Call& call) {
  COT_ASSIGN(const Array* given, sequence_at(call, 0));
  if (given->items.empty()) return bad_form("an empty sequence");
  size_t position = given->items.size() - 1;
  if (call.has(1)) {
    COT_ASSIGN(position, position_at(call, 1, given->items.size()));
  }
  Array sequence = *given;
  sequence.items.erase(sequence.items.begin() + static_cast<std::ptrdiff_t>(position));
  return one(std::move(sequence));
}

Result<Outputs> compute_at(const Call& call) {
  COT_ASSIGN(const Array* given, sequence_at(call, 0));
  COT_TRY(needs_operands(call, 2));
  COT_ASSIGN(const size_t position, position_at(call, 1, given->items.size()));
  return one(given->items[position]);
}

Result<Outputs> compute_length(const Call& call) {
  COT_ASSIGN(const Array* given, sequence_at(call, 0));
  return one(Array{Element::integer, {}, {static_cast<double>(given->items.size())}});
}

Result<Outputs> compute_concat_from(const Call& call) {
  COT_ASSIGN(const Array* given, sequence_at(call, 0));
  if (given->items.empty()) return bad_form("an empty sequence");
  std::vector<const Array*> parts;
  for (const Array& item : given->items) {
    if (item.form != Form::tensor) return unknown_form("a sequence of texts");
    parts.push_back(&item);
  }
  const int64_t axis = call.node.integer("axis", 0);
  COT_ASSIGN(Array y, call.node.integer("new_axis", 0) != 0 ? stacked(given->items, axis) : concatenated(parts, axis));
  return one(std::move(y));
}

// Parts of one size (the last may be smaller), of the sizes of a list, or without either of one position each, where
// `keepdims` of 0 takes the axis away.
Result<Outputs> compute_split_to(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  const Array& x = call.operand(0);
  if (x.form != Form::tensor) return unknown_form("an operand that is no tensor");
  COT_ASSIGN(const size_t axis, axis_of(call.node.integer("axis", 0), x.rank()));
  const int64_t size = x.shape[axis];
  std::vector<int64_t> sizes;
  if (call.has(1) && call.operand(1).rank() == 1) {
    COT_ASSIGN(sizes, integers_of(call.operand(1)));
  } else {
    const int64_t each = call.has(1) && call.operand(1).size() == 1 ? whole(call.operand(1).values[0]) : 1;
    if (each < 1) return bad_form("parts of no size");
    for (int64_t start = 0; start < size; start += std::min(each, size - start)) {
      if (sizes.size() >= kItemsMax) return Error(ErrorCode::too_large, "more than 65536 parts");
      sizes.push_back(std::min(each, size - start));
    }
  }
  const bool drops_axis = !call.has(1) && call.node.integer("keepdims", 1) == 0;
  Filling sequence;
  int64_t start = 0;
  for (const int64_t part : sizes) {
    if (part < 0 || part > size - start) return bad_form("parts that are larger than the dimension");
    COT_ASSIGN(Array item, drops_axis ? at_position(x, axis, start) : part_of(x, axis, start, part, 1));
    COT_TRY(sequence.add(std::move(item)));
    start += part;
  }
  if (start != size) return bad_form("parts that do not add up to the dimension");
  return one(sequence.take());
}

// The body once for each item of the first sequence; other sequences give theirs, tensors are given whole.
Result<Outputs> compute_map(const Call& call) {
  COT_ASSIGN(const Array* first, sequence_at(call, 0));
  COT_TRY(needs_operands(call, call.node.inputs.size()));
  COT_ASSIGN(const Graph* body, body_of(call, "body"));
  std::vector<Filling> sequences(body->outputs.size());
  for (size_t i = 0; i < first->items.size(); ++i) {
    std::vector<Array> given;
    for (const Array* operand : call.operands) {
      if (operand->form != Form::sequence) {
        given.push_back(*operand);
        continue;
      }
      if (operand->items.size() != first->items.size()) return bad_form("sequences of different lengths");
      given.push_back(operand->items[i]);
    }
    COT_ASSIGN(Outputs made, run_body(call, *body, std::move(given)));
    for (size_t k = 0; k < sequences.size(); ++k) COT_TRY(sequences[k].add(std::move(made[k])));
  }
  Outputs outputs;
  for (Filling& sequence : sequences) outputs.push_back(sequence.take());
  return outputs;
}

}  // namespace

Operator sequence_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"SequenceEmpty", compute_empty},
      {"SequenceConstruct", compute_construct},
      {"SequenceInsert", compute_insert},
      {"SequenceErase", compute_erase},
      {"SequenceAt", compute_at},
      {"SequenceLength", compute_length},
      {"SequenceMap", compute_map},
      {"ConcatFromSequence", compute_concat_from},
      {"SplitToSequence", compute_split_to},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
