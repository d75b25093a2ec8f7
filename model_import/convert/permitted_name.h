// Names as a model file may have them.
#pragma once

#include <string>

namespace coterie::model_import {

// The name with other characters than letters, digits and . _ - / as underscores, and the end of one that is too long.
std::string permitted_name(const std::string& name);

}  // namespace coterie::model_import
