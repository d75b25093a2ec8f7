// Values that may be absent.
#include <map>

#include "model_import/interpret/operator.h"

namespace coterie::model_import {
namespace {

Result<Outputs> compute_optional(const Call& call) {
  Array made;
  made.form = Form::optional;
  if (call.has(0)) {
    if (call.operand(0).form == Form::optional) return bad_form("an optional value of an optional value");
    made.items.push_back(call.operand(0));
  }
  return one(std::move(made));
}

// What is no optional value is there.
bool has_element(const Call& call) {
  return call.has(0) && (call.operand(0).form != Form::optional || !call.operand(0).items.empty());
}

Result<Outputs> compute_has_element(const Call& call) {
  return one(Array{Element::boolean, {}, {has_element(call) ? 1.0 : 0.0}});
}

Result<Outputs> compute_get_element(const Call& call) {
  if (!has_element(call)) return bad_form("an optional value that holds nothing");
  const Array& given = call.operand(0);
  return one(given.form == Form::optional ? given.items[0] : given);
}

Result<Outputs> compute_identity(const Call& call) {
  COT_TRY(needs_operands(call, 1));
  return one(call.operand(0));
}

}  // namespace

Operator optional_operator(const std::string& op) {
  static const std::map<std::string, Operator> table = {
      {"Optional", compute_optional},
      {"OptionalHasElement", compute_has_element},
      {"OptionalGetElement", compute_get_element},
      {"Identity", compute_identity},
  };
  return entry_of(table, op);
}

}  // namespace coterie::model_import
