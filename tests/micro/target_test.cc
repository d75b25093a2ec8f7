// Generated programs on microcontrollers in QEMU: each bit is that of the reference, and so that of this machine
// (host_test.cc). Without the cross compilers and QEMU the tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <sstream>

#include "tests/micro/int8_case.h"
#include "tests/micro/program_rig.h"
#include "tests/micro/reference_program.h"
#include "tests/micro/tiny_rig.h"
#include "tests/support/matchers.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_directory.h"
#include "tools/micro/int8_program_text.h"
#include "tools/model/zoo.h"

namespace coterie::test {
namespace {

struct Target {
  const char *name, *compiler, *options;
  const char* source;  // in tests/micro/target: with .c and .ld
  const char* emulator;
  const char* board_option = "";
};
void PrintTo(const Target& target, std::ostream* to) { *to << target.name; }

constexpr const char* kArm = "arm-none-eabi-gcc";
constexpr const char* kRiscv = "riscv64-unknown-elf-gcc";
#define COT_ARM_QEMU(machine) \
  "qemu-system-arm -M " machine " -nographic -semihosting-config enable=on,target=native -icount shift=6 -kernel "
#define COT_LOW_MEMORY "-DBOARD_TIMER=0x40000000u -Wl,--defsym,FLASH=0,--defsym,RAM=0x20000000 "
#define COT_RISCV_QEMU                                                                                             \
  "qemu-system-riscv32 -M virt -nographic -bios none -semihosting-config enable=on,target=native -icount shift=6 " \
  "-kernel "

constexpr Target kTargets[] = {
    {"CortexM3", kArm, COT_LOW_MEMORY "-mthumb -mcpu=cortex-m3", "cortex_m", COT_ARM_QEMU("mps2-an385")},
    {"CortexM4F", kArm, COT_LOW_MEMORY "-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16", "cortex_m",
     COT_ARM_QEMU("mps2-an386")},
    {"CortexM7F", kArm, COT_LOW_MEMORY "-mthumb -mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-sp-d16", "cortex_m",
     COT_ARM_QEMU("mps2-an500")},
    {"CortexM33", kArm,
     "-Wl,--defsym,FLASH=0x10000000,--defsym,RAM=0x38000000 -mthumb -mcpu=cortex-m33 -mfloat-abi=hard "
     "-mfpu=fpv5-sp-d16",
     "cortex_m", COT_ARM_QEMU("mps2-an505")},
    // Its 512 KiB at 0x30000000 are too few for a LeNet-5 that trains; behind them are 4 MiB of plain memory.
    {"CortexM55", kArm,
     "-Wl,--defsym,FLASH=0x10000000,--defsym,RAM=0x31000000 -mthumb -mcpu=cortex-m55 -mfloat-abi=hard", "cortex_m",
     COT_ARM_QEMU("mps3-an547")},
    {"RV32IMAC", kRiscv, "-march=rv32imac -mabi=ilp32", "riscv", COT_RISCV_QEMU, " -march=rv32imac_zicsr"},
    {"RV32IMAFC", kRiscv, "-march=rv32imafc -mabi=ilp32f", "riscv", COT_RISCV_QEMU},
};
bool is_here(const std::string& program) { return shell("command -v " + program).code == 0; }

class OnTarget : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    const std::string emulator = GetParam().emulator;
    if (is_here(GetParam().compiler) && is_here(emulator.substr(0, emulator.find(' ')))) return;
    GTEST_SKIP() << "needs apt-get install gcc-arm-none-eabi qemu-system-arm gcc-riscv64-unknown-elf qemu-system-misc";
  }

  static std::string compiler() { return std::string(GetParam().compiler) + " " + GetParam().options; }
  static std::string size_tool() {
    const std::string name = GetParam().compiler;
    return name.substr(0, name.rfind('-')) + "-size ";
  }
  static std::string target_file(const std::string& name) { return source_dir() + "/tests/micro/target/" + name; }

  // What the board prints of these files of `folder`, with what each needs in front of its name, and of its own.
  static std::string compile_and_run(const std::string& folder, const std::string& optimise,
                                     const std::vector<std::string>& files) {
    std::string commands = "set -e; cd " + folder + "; ";
    for (const std::string& file : files) {
      commands += compiler() + " " + optimise + " -ffunction-sections -I. -I" + source_dir() + " " + kMicroWarnings +
                  " -c " + file + "; ";
    }
    const std::string board = target_file(GetParam().source);
    // The board's own file may have a CPU option more, which libgcc's choice must not see.
    commands += compiler() + GetParam().board_option + " -O1 -ffreestanding -I" + source_dir() + " -c " + board +
                ".c -o board.o; " + compiler() + " -nostdlib -Wl,--gc-sections -T" + board + ".ld *.o -lgcc -o run.elf";
    const ShellOutcome built = shell(commands);
    EXPECT_EQ(built.code, 0) << built.out;
    const ShellOutcome ran = shell("timeout 100 " + std::string(GetParam().emulator) + folder + "/run.elf < /dev/null");
    EXPECT_EQ(ran.code, 0) << ran.out;
    return ran.out;
  }

  DriverWords run(const MicroProgram& program, const RigCase& facts) {
    const TemporaryDirectory folder;
    EXPECT_EQ(write_case(folder.path(), program, facts), "");
    const std::string printed =
        compile_and_run(folder.path(), "-O2", {program.prefix + ".c", "-include case.h " + target_file("driver.c")});
    sizes_ = shell("cd " + folder.path() + "; " + size_tool() + program.prefix + ".o").out;
    return parse_words(printed);
  }

  // What the client prints of a scripted round.
  static std::string run_tiny(const ScriptedRound& round) {
    const TemporaryDirectory folder;
    const MicroProgram program = write_tiny_program(folder.path(), round.model, round.facts);
    write_scripted_answers(folder.path(), round);
    return compile_and_run(folder.path(), "-Os",
                           {program.prefix + ".c", "coterie_tiny.c",
                            "-include answers.h -DMODEL=" + program.prefix + "_model " + target_file("tiny_driver.c")});
  }

  // Bytes of a program that trains this model and takes part in rounds, compiled for size, without its parameters.
  uint64_t tiny_code_bytes(const Bytes& model) {
    const TemporaryDirectory folder;
    const MicroProgram program = write_tiny_program(folder.path(), model, {.inputs = {}, .labels = {}});
    const ShellOutcome built = shell("set -e; cd " + folder.path() + "; " + compiler() + " -Os -I. " + kMicroWarnings +
                                     " -c " + program.prefix + ".c coterie_tiny.c; " + size_tool() + "*.o");
    EXPECT_EQ(built.code, 0) << built.out;
    sizes_ = built.out;
    uint64_t bytes = 0;
    std::istringstream lines(built.out);
    for (std::string line; std::getline(lines, line);) bytes += std::strtoull(line.c_str(), nullptr, 10);
    return bytes - program.constant_bytes;
  }

  void show(const MicroProgram& program, const DriverWords& words) const {
    std::printf("%s %s: arena %llu, parameters %llu, predict %u instructions, accumulate %u\n%s", GetParam().name,
                program.prefix.c_str(), static_cast<unsigned long long>(program.arena_bytes),
                static_cast<unsigned long long>(program.constant_bytes), words.predict_instructions,
                words.accumulate_instructions, sizes_.c_str());
  }

  std::string sizes_;
};

TEST_P(OnTarget, BuiltInModelsPredictTheReferencesBits) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::lenet5}) {
    const int64_t side = kind == ModelKind::lenet5 ? 28 : 8;
    const Model model = *Model::load(*make_model(kind, {side, side, 1}, 10, 7));
    const Result<MicroProgram> program = write_micro_program(model, {});
    ASSERT_OK(program);
    const RigCase facts = digit_case(2, side == 28);
    const DriverWords words = run(*program, facts);
    EXPECT_EQ(words, reference_words(model, facts));
    show(*program, words);
  }
}

TEST_P(OnTarget, BuiltInModelsTrainToTheReferencesBits) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::logistic, ModelKind::cnn, ModelKind::lenet5}) {
    const int64_t side = kind == ModelKind::lenet5 ? 28 : 8;
    const Model model = *Model::load(*make_model(kind, {side, side, 1}, 10, 7));
    const Result<MicroProgram> program = write_micro_program(model, {.trains = true});
    ASSERT_OK(program);
    RigCase facts = digit_case(4, side == 28);
    facts.steps = 2;
    facts.batch = 3;
    const DriverWords words = run(*program, facts);
    EXPECT_EQ(words, reference_words(model, facts));
    EXPECT_EQ(words.trained.size(), 10u);
    show(*program, words);
  }
}

TEST_P(OnTarget, Int8NetworksPredictTheEnginesBits) {
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::cnn, ModelKind::lenet5}) {
    const int64_t side = kind == ModelKind::lenet5 ? 28 : 8;
    const Model model = *Model::load(*make_model(kind, {side, side, 1}, 10, 7));
    const RigCase facts = digit_case(2, side == 28);
    const Int8Program network = int8_program_of(model, facts);
    const Result<MicroProgram> program = write_int8_program(network, kMicroArenaBytesMax);
    ASSERT_OK(program);
    const DriverWords words = run(*program, facts);
    EXPECT_EQ(words, int8_words(network, facts));
    show(*program, words);
  }
}

class ClientOnTarget : public OnTarget {};

// The client sends the same bytes from each board, and from here, in the same round.
TEST_P(ClientOnTarget, TakesPartInARound) {
  const ScriptedRound round = ScriptedRound::small();
  EXPECT_EQ(run_tiny(round), kSmallRoundPrints);
  const uint64_t bytes = tiny_code_bytes(*make_model(ModelKind::lenet5, {28, 28, 1}, 10, 7));
  EXPECT_LT(bytes, 64u << 10);
  std::printf("%s: %llu bytes of code, the parameters' left out, of\n%s", GetParam().name,
              static_cast<unsigned long long>(bytes), sizes_.c_str());
}

INSTANTIATE_TEST_SUITE_P(Micro, OnTarget, testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });
// The least, one with a floating-point unit, and another architecture.
INSTANTIATE_TEST_SUITE_P(Micro, ClientOnTarget, testing::Values(kTargets[0], kTargets[1], kTargets[5]),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace coterie::test
