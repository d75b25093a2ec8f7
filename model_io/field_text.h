// The text of one field of a table: whether it is a number, and whether it says that there is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coterie {

// A finite number and nothing else: 3, -0.5, 1e6.
std::optional<double> number_in(std::string_view field);

// Whether a field says that there is no value: nothing, or ?, NA, N/A, NaN, null, None in any case.
bool is_missing(std::string_view field);

// The order of categories and classes: numbers by size, then texts by bytes.
bool comes_before(const std::string& a, const std::string& b);

}  // namespace coterie
