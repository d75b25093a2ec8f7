// completion, man: what the command line says of itself to shells and to man.
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "base/os/file.h"
#include "tools/cli/arguments.h"
#include "tools/cli/command_text.h"
#include "tools/cli/completion.h"
#include "tools/cli/help.h"
#include "tools/cli/man_page.h"

namespace coterie {
namespace {

ExitCode print_completion(const CommandText& root, const std::string& shell) {
  const std::string script = shell == "bash"  ? bash_completion(root)
                             : shell == "zsh" ? zsh_completion(root)
                                              : fish_completion(root);
  std::fputs(script.c_str(), stdout);
  return ExitCode::ok;
}

ExitCode write_pages(const CommandText& root, const std::string& directory) {
  Status written = os::make_directories(directory);
  const auto write = [&](const CommandText& command) {
    const std::string page = man_page(root, command, COTERIE_VERSION);
    const std::string path = directory + "/" + man_page_file(command);
    if (written) written = os::write_file_atomically(path, as_bytes(page));
    std::error_code ignored;  // what is written is its owner's; pages are for everybody
    std::filesystem::permissions(path, std::filesystem::perms(0644), ignored);
  };
  write(root);
  for (const CommandText& command : root.commands) write(command);
  if (written) return ExitCode::ok;
  std::fprintf(stderr, "coterie man: %s\n", written.error().message().c_str());
  return ExitCode::failure;
}

ExitCode print_page(const CommandText& root, const std::string& name) {
  const CommandText* shown = &root;
  for (const CommandText& command : root.commands) {
    if (command.name() == name) shown = &command;
  }
  std::fputs(man_page(root, *shown, COTERIE_VERSION).c_str(), stdout);
  return ExitCode::ok;
}

}  // namespace

void add_texts(CLI::App& app, Invocation& invocation) {
  CLI::App* completion = add_command(app, "completion", "print a script that completes this command line in a shell",
                                     "  source <(coterie completion bash)\n"
                                     "  coterie completion zsh > ~/.zfunc/_coterie      with ~/.zfunc in fpath\n"
                                     "  coterie completion fish > ~/.config/fish/completions/coterie.fish\n");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  completion->callback([&app, &invocation, shell] {
    invocation.run = [root = command_text(app), shell] { return print_completion(root, *shell); };
  });

  std::vector<std::string> pages;
  for (const CLI::App* command : std::as_const(app).get_subcommands(std::function<bool(const CLI::App*)>()))
    pages.push_back(command->get_name());
  pages.push_back("man");
  CLI::App* man = add_command(app, "man", "print a manual page, or write all of them",
                              "  coterie man job | man -l -\n"
                              "  coterie man -o /usr/local/share/man/man1\n");
  const auto page = std::make_shared<std::string>();
  const auto directory = std::make_shared<std::string>();
  man->add_option("COMMAND", *page, "the command whose page it is; coterie's own unless one is named")
      ->check(one_of(pages));
  man->add_option("-o,--output", *directory, "write every page into this directory")->type_name("DIR");
  man->callback([&app, &invocation, page, directory] {
    invocation.run = [root = command_text(app), page, directory] {
      return directory->empty() ? print_page(root, *page) : write_pages(root, *directory);
    };
  });
}

}  // namespace coterie
