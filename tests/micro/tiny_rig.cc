#include "tests/micro/tiny_rig.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/file.h"
#include "proto/codec/codec.h"
#include "tests/micro/host_run.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tools/micro/client_files.h"
#include "tools/micro/model_frame.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

Bytes answer_of(ByteView body) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.coterie.frame\r\nContent-Length: " +
                           std::to_string(body.size()) + "\r\n\r\n";
  Bytes answer(head.begin(), head.end());
  answer.insert(answer.end(), body.begin(), body.end());
  return answer;
}

Bytes assignment_of(const ScriptedRound& round) {
  return encode(Assignment{.job = round.plan.job,
                           .round = {RoundId(7), Attempt(1)},
                           .model_version = ModelVersion(3),
                           .plan = {},
                           .model = {},
                           .plan_bytes = static_cast<uint32_t>(encode(round.plan).size()),
                           .model_bytes = round.model.size(),
                           .not_after = wall_time_from_unix_ms(10'000),
                           .ticket = Bytes(100, 9),
                           .signature = Bytes(64, 1)});
}

}  // namespace

ScriptedRound ScriptedRound::small() {
  ScriptedRound round{.model = *make_model(ModelKind::logistic, {2, 2, 1}, 3, 7), .plan = {}, .facts = {}};
  for (int e = 0; e < 6; ++e) {
    const auto x = static_cast<float>(e);
    round.facts.inputs.push_back({x, 1 - x, 0.5f * x, 2});
    round.facts.labels.push_back(e % 3);
  }
  round.plan = {.job = JobId("digits"),
                .training = {.batch_size = 4, .local_epochs = 2, .optimizer = {.learning_rate = 0.25f}},
                .update = {.value_count = decode_model(round.model)->payload.size() / sizeof(float),
                           .clip_l2 = 10,
                           .fixed_point = FixedPointSpec::finest(64, 16, 8)}};
  return round;
}

size_t ScriptedRound::assignment_bytes() const { return assignment_of(*this).size(); }

std::vector<Bytes> ScriptedRound::answers() const {
  return {answer_of(assignment_of(*this)), answer_of(encode(plan)), answer_of(model), answer_of(model),
          answer_of(encode(Receipt{.round = {RoundId(7), Attempt(1)}, .receipt = Bytes(32, 5)}))};
}

MicroProgram write_tiny_program(const std::string& folder, const Bytes& model_file, const RigCase& facts) {
  const Result<Model> model = Model::load(model_file);
  const Result<MicroModelFrame> frame = micro_model_frame(model_file);
  EXPECT_OK(model);
  EXPECT_OK(frame);
  Result<MicroProgram> program = write_micro_program(*model, {.trains = true, .frame = &*frame});
  EXPECT_OK(program);
  RigCase trained = facts;
  trained.steps = 1;  // with labels
  EXPECT_EQ(write_case(folder, *program, trained), "");
  std::filesystem::rename(folder + "/case.h", folder + "/examples.h");
  EXPECT_OK(os::write_file_atomically(folder + "/coterie_tiny.h", kTinyHeaderBytes));
  EXPECT_OK(os::write_file_atomically(folder + "/coterie_tiny.c", kTinySourceBytes));
  return *std::move(program);
}

void compile_tiny_program(const std::string& folder, const MicroProgram& program, const std::string& name,
                          const TinyHost& host) {
  const std::string cc = host_compilers().front() + " -O0 -fsanitize=address,undefined -fno-sanitize-recover=all ";
  std::string sources;
  for (const std::string& source : host.sources) sources += " " + source_dir() + "/" + source;
  // The client and the program are as strict as for a board; what is the host's may include what it likes.
  const ShellOutcome built =
      shell("set -e; cd " + folder + "; for f in " + program.prefix + " coterie_tiny; do [ -e $f.o ] || " + cc +
            kMicroWarnings + " " + host.options + " -c $f.c; done; " + cc +
            "-std=c99 -pedantic -Wall -Wextra -Werror -I. " + host.options + " " + host.own_options +
            " -DMODEL=" + program.prefix + "_model" + sources + " *.o -o " + name + " -lssl -lcrypto");
  EXPECT_EQ(built.code, 0) << built.out;
}

void write_scripted_answers(const std::string& folder, const ScriptedRound& round) {
  std::string text = "#include <stddef.h>\n#include <stdint.h>\n#include \"examples.h\"\n", names, sizes;
  for (const Bytes& answer : round.answers()) {
    const std::string name = "answer" + std::to_string(answer.size()) + "_" + std::to_string(names.size());
    text += "static const uint8_t " + name + "[] = {";
    for (const uint8_t byte : answer) text += std::to_string(byte) + ",";
    text += "};\n";
    names += name + ", ";
    sizes += std::to_string(answer.size()) + ", ";
  }
  text += "static const uint8_t* const answers[] = {" + names + "};\nstatic const size_t answer_sizes[] = {" + sizes +
          "};\n";
  EXPECT_OK(os::write_file_atomically(folder + "/answers.h", as_bytes(text)));
}

}  // namespace coterie::test
