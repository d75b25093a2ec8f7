// What the doctor's user reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/doctor/doctor.h"

namespace coterie {
namespace {

TEST(DoctorReport, SaysWhatWasSeenAndBelowItWhatToDo) {
  EXPECT_EQ(report_text({{Health::good, "disk", "38.2 GiB of 252.0 GiB are free at /data", ""},
                         {Health::bad, "keys", "/data/keys can be read or written by others", "chmod go= /data/keys"}}),
            "ok       disk: 38.2 GiB of 252.0 GiB are free at /data\n"
            "bad      keys: /data/keys can be read or written by others\n"
            "         do: chmod go= /data/keys\n"
            "\n"
            "1 thing bad, 0 warnings.\n");
}

TEST(DoctorReport, NoLineIsWiderThanATerminal) {
  const std::string text =
      report_text({{Health::warning, "memory of the cgroup", std::string(40, 'a') + " " + std::string(60, 'b'),
                    "lower one thing or another, or a third, or whatever else there is to be lowered here"}});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DoctorReport, ShowsNoControlCharacters) {
  EXPECT_EQ(report_text({{Health::good, "version", "the server is \x1b[2J", ""}}).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace coterie
