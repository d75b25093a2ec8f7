// Which operators of ONNX are imported: the one list. The matrix of operators has rows for each of them
// (tests/unit/model_import/matrix), and what is not in it is refused as unknown, whatever converts it.
#pragma once

#include <span>
#include <string_view>

namespace coterie::model_import {

// Sorted by name; all of ONNX's own domain. Constant is none of them: a reader makes constants of it.
std::span<const std::string_view> imported_operators();
bool is_imported(std::string_view op);

}  // namespace coterie::model_import
