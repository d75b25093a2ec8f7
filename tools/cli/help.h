// How the grammar of the command line is built and shown: what a command is for, its arguments, examples.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "tools/cli/admin_command.h"

namespace coterie {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* app) const override;
};

// `examples`: lines of shell, indented by two blanks, each with its newline.
CLI::App* add_command(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples);
// A command of commands.
CLI::App* add_group(CLI::App& parent, const std::string& name, const std::string& what, const std::string& examples);
// One that talks to a server: it takes the options that say which, too.
CLI::App* add_server_command(CLI::App& group, const std::string& name, const std::string& what,
                             const std::string& examples);

// -o, --output table|json
void add_output_option(CLI::App& app, AdminCommand& command);

// "must be a whole number from 1 to 2000, is 0".
template <typename T>
CLI::Validator between(T low, T high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        T value{};
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && stopped == end && value >= low && value <= high) return std::string();
        const std::string kind = std::is_integral_v<T> ? "a whole number" : "a number";
        return "must be " + kind + " from " + CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high) +
               ", is " + text;
      },
      "");
}

// "must be one of mlp, cnn, lenet5, is cnm. Did you mean `cnn`?" Its description is this mark and the words, between
// bars.
constexpr const char* kChoicesMark = "one of ";
CLI::Validator one_of(const std::vector<std::string>& words);

// By a parser of ours, with the parser's own sentence.
template <typename Parse>
CLI::Validator checked_by(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string() : parsed.error().message();
      },
      "");
}

}  // namespace coterie
