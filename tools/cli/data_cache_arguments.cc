// --data-cache of whatever loads data; coterie data cache ...: their grammar.
#include <memory>

#include "tools/cli/arguments.h"
#include "tools/cli/byte_count.h"
#include "tools/cli/data_cache_commands.h"
#include "tools/cli/help.h"

namespace coterie {

void add_data_cache_options(CLI::App& app, Invocation& invocation) {
  // The variable is read for every command that has the option: what was not called must not overrule what was given.
  app.add_option_function<std::string>(
         "--data-cache",
         [&app, &invocation](const std::string& directory) {
           if (app.parsed()) invocation.data_cache = directory;
         },
         "a folder that keeps data as they were read, for the next run; see docs/DATA.md")
      ->type_name("DIR")
      ->envname("COTERIE_DATA_CACHE");
  app.add_option_function<std::string>(
         "--data-cache-max-bytes",
         [&invocation](const std::string& text) { invocation.data_cache_bytes_max = parse_byte_count(text).value(); },
         "of all that the folder keeps")
      ->default_str("8G")
      ->type_name("N")
      ->check(checked_by(&parse_byte_count));
}

void add_data_cache(CLI::App& data, Invocation& invocation) {
  CLI::App* cache = add_group(data, "cache", "look after a folder that keeps data as they were read",
                              "  export COTERIE_DATA_CACHE=~/.cache/coterie\n"
                              "  coterie sweep job.json --data 'csv:adult.csv?target=income' ...\n"
                              "  coterie data cache stats ~/.cache/coterie\n");
  const auto add = [&](CacheAction action, const char* name, const char* what) {
    CLI::App* command =
        add_command(*cache, name, what, std::string("  coterie data cache ") + name + " ~/.cache/coterie\n");
    const auto options = std::make_shared<DataCacheCommand>();
    options->action = action;
    command->add_option("DIR", options->directory, "the folder")->required()->type_name("");
    add_output_option(*command, invocation.admin);
    command->callback([&invocation, options] {
      invocation.run = [&invocation, options] {
        options->as_json = invocation.admin.wants_json();
        return run_data_cache(*options);
      };
    });
  };
  add(CacheAction::stats, "stats", "hits, misses, bytes, and the time that was saved");
  add(CacheAction::clear, "clear", "remove what nobody reads now: private data lie there");
  add(CacheAction::verify, "verify", "read every entry and check its checksums");
}

}  // namespace coterie
