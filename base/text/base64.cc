#include "base/text/base64.h"

namespace coterie {

std::string to_base64(ByteView bytes) {
  std::string text = to_base64url(bytes);
  for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

}  // namespace coterie
