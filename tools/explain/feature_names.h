// What the values of an input are called: by the columns of the table that they come from, by their place in an image,
// or by number. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_io/input_contract.h"

namespace coterie {

// Values of an input that come from one column, or one value.
struct Feature {
  std::string name;
  uint64_t first = 0, count = 1;
};

// The features of one input of this shape. `contract`: how a table was read, or null; one that does not fit the shape
// is left out of account.
std::vector<Feature> features_of(const Shape& shape, const InputContract* contract);

// Those of features_of() that are numbers, of which the first value is the number itself; all where no contract fits.
std::vector<Feature> number_features(const Shape& shape, const InputContract* contract);

// A name for each value: "age", "job=clerk", "age is missing"; "3,4" for row 3 and column 4 of an image, counted from
// 0, "3,4,0" with its channel where there are several; "x1", "x2" ...
std::vector<std::string> value_names(const Shape& shape, const InputContract* contract);

}  // namespace coterie
