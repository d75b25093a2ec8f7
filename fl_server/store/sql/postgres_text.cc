#include <cctype>

#include "base/assert.h"
#include "fl_server/store/sql/postgres.h"

namespace coterie {

std::string postgres_text(std::string_view sql) {
  std::string text;
  int parameters = 0;
  bool is_open = false;
  for (size_t i = 0; i < sql.size(); ++i) {
    const std::string_view rest = sql.substr(i);
    if (rest[0] == '\'') {  // a literal
      const size_t end = sql.find('\'', i + 1);
      COT_ASSERT(end != std::string_view::npos);
      text += sql.substr(i, end - i + 1);
      i = end;
    } else if (rest.starts_with("/*!")) {
      is_open = true;
      i += 2;
    } else if (is_open && rest.starts_with("*/")) {
      is_open = false;
      i += 1;
    } else if (rest[0] == '?') {
      text += '$';
      if (i + 1 < sql.size() && std::isdigit(static_cast<unsigned char>(sql[i + 1])) != 0) continue;
      text += std::to_string(++parameters);
    } else {
      text += rest[0];
    }
  }
  return text;
}

}  // namespace coterie
