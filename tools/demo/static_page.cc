#include "tools/demo/static_page.h"

#include "tools/demo/hash_source.h"
#include "tools/demo/svg.h"

namespace coterie {

std::string static_page(const StaticPage& page, const std::string& body) {
  std::string policy = "default-src 'none'; style-src " + hash_source(page.style);
  // A drawing's style sheet begins on a line of its own.
  for (const std::string_view style : page.drawing_styles) policy += " " + hash_source("\n" + std::string(style));
  if (page.has_images) policy += "; img-src data:";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         policy + "\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>" +
         xml_escaped(page.title) + "</title>\n<style>" + std::string(page.style) +
         "</style>\n</head>\n<body>\n<main>\n<h1>" + xml_escaped(page.title) + "</h1>\n" + body +
         "</main>\n</body>\n</html>\n";
}

}  // namespace coterie
