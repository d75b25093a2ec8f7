// Percent-encoding (RFC 3986, section 2.1): letters, digits and -._~ stay, every other byte is %XX in upper case. Forms
// have it too (application/x-www-form-urlencoded), whose readers take "%20" for a blank as they take "+".
#pragma once

#include <string>
#include <string_view>

namespace coterie {

// `kept`: characters that stay as well, such as "/" in a path.
std::string percent_encoded(std::string_view text, std::string_view kept = {});

}  // namespace coterie
