// The layers of a model as a table of at most 80 columns.
#pragma once

#include <string>

#include "tools/model/inspect.h"

namespace coterie {

// Names that are too long have ".." in their middle: their ends tell them apart.
std::string layers_table(const ModelReport& report);

}  // namespace coterie
