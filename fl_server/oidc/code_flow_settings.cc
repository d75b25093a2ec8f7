#include "fl_server/oidc/code_flow_settings.h"

#include <algorithm>

#include "fl_server/oidc/oidc_settings.h"

namespace coterie {
namespace {

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool has_word(std::string_view text, std::string_view word) {
  while (!text.empty()) {
    const std::string_view first = text.substr(0, text.find(' '));
    if (first == word) return true;
    text.remove_prefix(std::min(text.size(), first.size() + 1));
  }
  return false;
}

void check_urls(const CodeFlowSettings& settings, Problems& problems) {
  const auto is_url = [](const std::string& url) { return is_https_url(url) && url.find('#') == std::string::npos; };
  if (!is_url(settings.authorization_url)) {
    problems.push_back({"/authorization_url",
                        "must be an https:// URL: `authorization_endpoint` of the issuer's openid-configuration"});
  }
  if (!is_url(settings.token_url)) {
    problems.push_back(
        {"/token_url", "must be an https:// URL: `token_endpoint` of the issuer's openid-configuration"});
  }
  if (!settings.end_session_url.empty() && !is_url(settings.end_session_url)) {
    problems.push_back(
        {"/end_session_url", "must be an https:// URL: `end_session_endpoint` of the issuer's openid-configuration"});
  }
  const bool comes_back =
      settings.redirect_url.ends_with(kCallbackPath) && settings.redirect_url.find_first_of("?#") == std::string::npos;
  if (!is_url(settings.redirect_url) || !comes_back) {
    problems.push_back({"/redirect_url", "must be https://, the host by which browsers reach the admin plane, and " +
                                             std::string(kCallbackPath) + ", as the provider was told"});
  }
}

}  // namespace

Problems validate(const CodeFlowSettings& settings) {
  Problems problems;
  if (settings.name.empty() || settings.name.size() > kSignInNameBytesMax || has_control(settings.name)) {
    problems.push_back({"/name", "must have 1 to " + std::to_string(kSignInNameBytesMax) +
                                     " bytes and no control characters: what people call the provider"});
  }
  check_urls(settings, problems);
  if (settings.client_id.empty() || !is_printable(settings.client_id)) {
    problems.push_back({"/client_id", "must be this server's id at the provider, without blanks"});
  }
  std::string without_blanks = settings.scope;
  std::erase(without_blanks, ' ');
  if (!has_word(settings.scope, "openid") || !is_printable(without_blanks)) {
    problems.push_back({"/scope", "must be names with blanks between them, \"openid\" among them"});
  }
  const std::pair<const char*, const std::string*> texts[] = {{"/authorization_url", &settings.authorization_url},
                                                              {"/token_url", &settings.token_url},
                                                              {"/end_session_url", &settings.end_session_url},
                                                              {"/client_id", &settings.client_id},
                                                              {"/client_secret_file", &settings.client_secret_file},
                                                              {"/redirect_url", &settings.redirect_url},
                                                              {"/scope", &settings.scope}};
  for (const auto& [pointer, text] : texts) {
    if (text->size() <= kOidcTextBytesMax && text->find('\0') == std::string::npos) continue;
    problems.push_back({pointer, "must have at most " + std::to_string(kOidcTextBytesMax) + " bytes and no NUL"});
  }
  return problems;
}

}  // namespace coterie
