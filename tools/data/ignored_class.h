// A label that stands for none, where a source has taken it for a class.
//
// Tables and arrays number the values of a target in their order. With -100 or 255 among them these would be a class,
// and -100 would move all others by one.
#pragma once

#include <cstdint>

#include "model_io/input_contract.h"
#include "tools/data/example_table.h"

namespace coterie {

// The number that the class has which is called as the label is, once it is behind all others; the label itself where
// no class is called so, or where an example has anything but one label.
int32_t number_of_ignored(int32_t label, const ContractTarget& target);

// Moves that class of the examples behind all others, whose numbers then are as if it were not there. Returns its
// number.
int32_t ignore_class(int32_t label, const ContractTarget& target, ExampleTable& table);

}  // namespace coterie
