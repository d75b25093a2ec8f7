// coterie model export: its grammar. A model leaves as ONNX, or as C.
#include "tools/cli/arguments.h"
#include "tools/cli/byte_count.h"
#include "tools/cli/help.h"
#include "tools/cli/model_micro.h"
#include "tools/cli/onnx_commands.h"

namespace coterie {

void add_export(CLI::App& model, Invocation& invocation) {
  CLI::App* command = add_command(model, "export", "write a model file as an ONNX model (opset 17), or as C",
                                  "  coterie model export net.cotf --format onnx -o net.onnx\n"
                                  "  coterie model export net.cotf --c firmware/ --train --arena-max 64K\n"
                                  "  coterie model export net.cotf --c firmware/ --train --client\n"
                                  "  coterie model export int8.cotf --c firmware/ --int8\n\n"
                                  "The C is C99 for microcontrollers: no heap, no libm, a static arena.\n");
  const auto options = std::make_shared<ExportOptions>();
  const auto micro = std::make_shared<ExportCOptions>();
  const auto format = std::make_shared<std::string>("onnx");
  command->add_option("FILE", options->from, "model file")->required()->type_name("");
  CLI::Option* file = command->add_option("-o,--file", options->to, "where to write the ONNX model")->type_name("FILE");
  command->add_option("--format", *format, "onnx")->capture_default_str()->check(one_of({"onnx"}))->needs(file);
  CLI::Option* folder =
      command->add_option("--c", micro->folder, "where to write NAME.h and NAME.c, named as the model is")
          ->type_name("DIR")
          ->excludes(file);
  CLI::Option* train =
      command->add_flag("--train", micro->trains, "the C trains, too: SGD on softmax cross-entropy")->needs(folder);
  command
      ->add_flag("--client", micro->has_client,
                 "the C takes part in rounds of a server, too: coterie_tiny.h and .c beside it")
      ->needs(train);
  command->add_flag("--int8", micro->is_int8, "the C computes in int8, if FILE does")->needs(folder)->excludes(train);
  command
      ->add_option_function<std::string>(
          "--arena-max", [micro](const std::string& text) { micro->arena_bytes_max = *parse_byte_count(text); },
          "RAM that the C may use, else nothing is written")
      ->type_name("BYTES")
      ->check(checked_by(parse_byte_count))
      ->needs(folder);
  command->callback([&invocation, options, micro, file, folder] {
    if (file->count() + folder->count() == 0) throw CLI::RequiredError("--file or --c");
    micro->from = options->from;
    if (folder->count() != 0) invocation.run = [micro] { return export_c(*micro); };
    else invocation.run = [options] { return export_model(*options); };
  });
}

}  // namespace coterie
