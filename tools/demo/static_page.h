// A page that asks for nothing and runs nothing: no script, and a policy (CSP) of default-src 'none' and the hashes of
// its own style sheets. Well-formed XML behind its first line. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace coterie {

struct StaticPage {
  std::string title;                                 // text of anybody; escaped here
  std::string_view style;                            // of the page
  std::span<const std::string_view> drawing_styles;  // of the drawings in the body, as Svg::document takes them
  bool has_images = false;                           // in data: addresses
};

// `body`: what is in <main> behind the title, already escaped.
std::string static_page(const StaticPage& page, const std::string& body);

}  // namespace coterie
