#include "base/text/concat.h"

namespace coterie {

const char TextPiece::kSigned[] = "signed", TextPiece::kUnsigned[] = "unsigned";

void TextPiece::append_to(std::string& text) const {
  if (text_ == kUnsigned) text += std::to_string(size_);
  else if (text_ == kSigned) text += std::to_string(static_cast<int64_t>(size_));
  else text.append(text_, size_);
}

std::string concat(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.append_to(text);
  return text;
}

}  // namespace coterie
