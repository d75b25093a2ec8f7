#include "tests/micro/program_rig.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/os/file.h"
#include "tools/data/digits.h"
#include "tools/micro/number_text.h"

namespace coterie::test {
namespace {

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string case_header(const MicroProgram& program, const RigCase& facts) {
  const std::string big = upper(program.prefix);
  std::ostringstream text;
  text << "#include \"" << program.prefix << ".h\"\n";
  const auto define = [&](const std::string& name, const std::string& value) {
    text << "#define CASE_" << name << " " << value << "\n";
  };
  define("OUTPUTS", big + "_OUTPUTS");
  define("PREDICT", program.prefix + "_predict");
  define("EXAMPLES", std::to_string(facts.inputs.size()));
  if (facts.steps != 0) {
    define("STEPS", std::to_string(facts.steps));
    define("BATCH", std::to_string(facts.batch));
    define("PARAMETERS", big + "_PARAMETERS");
    define("LEARNING_RATE", float_text(facts.learning_rate));
    for (const char* const name : {"init", "accumulate", "apply"}) define(upper(name), program.prefix + "_" + name);
    define("PARAMETERS_OF", program.prefix + "_parameters");
    text << "static const size_t case_labels[CASE_EXAMPLES] = {";
    for (const int32_t label : facts.labels) text << label << ", ";
    text << "};\n";
  }
  text << "static const float case_inputs[CASE_EXAMPLES][" << big << "_INPUTS] = {\n";
  for (const std::vector<float>& input : facts.inputs) text << "{\n" << list_text(input) << "},\n";
  text << "};\n";
  return text.str();
}

}  // namespace

RigCase digit_case(size_t examples, bool is_large) {
  const LabelledImages digits = built_in_digits();
  const size_t side = is_large ? 28 : 8, scale = is_large ? 3 : 1, border = is_large ? 2 : 0;
  RigCase made;
  for (size_t e = 0; e < examples; ++e) {
    std::vector<float>& input = made.inputs.emplace_back(side * side);
    for (size_t at = 0; at < 64 * scale * scale; ++at) {
      const size_t row = at / (8 * scale), column = at % (8 * scale);
      const uint8_t pixel = digits.pixels[e * 64 + row / scale * 8 + column / scale];
      input[(row + border) * side + column + border] = static_cast<float>(pixel) / static_cast<float>(digits.white);
    }
    made.labels.push_back(digits.labels[e]);
  }
  return made;
}

std::string write_case(const std::string& folder, const MicroProgram& program, const RigCase& facts) {
  const auto write = [&](const std::string& name, const std::string& text) -> std::string {
    const Status written = os::write_file_atomically(folder + "/" + name, as_bytes(text));
    return written ? "" : written.error().message();
  };
  return write(program.prefix + ".h", program.header) + write(program.prefix + ".c", program.source) +
         write("case.h", case_header(program, facts));
}

ShellOutcome shell(const std::string& command) {
  std::FILE* pipe = ::popen(("( " + command + " ) 2>&1").c_str(), "r");
  if (pipe == nullptr) return {};
  ShellOutcome outcome;
  char piece[4096];
  for (size_t n; (n = std::fread(piece, 1, sizeof piece, pipe)) > 0;) outcome.out.append(piece, n);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

DriverWords parse_words(const std::string& text) {
  DriverWords words;
  std::istringstream lines(text);
  std::string what, word;
  while (lines >> what >> word) {
    const auto value = static_cast<uint32_t>(std::stoul(word, nullptr, 16));
    if (what == "output") words.output.push_back(value);
    else if (what == "loss") words.loss.push_back(value);
    else if (what == "trained") words.trained.push_back(value);
    else if (what == "parameters") words.parameters = value;
    else if (what == "predict_instructions") words.predict_instructions = value;
    else if (what == "accumulate_instructions") words.accumulate_instructions = value;
  }
  return words;
}

}  // namespace coterie::test
