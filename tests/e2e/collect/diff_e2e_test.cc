// profctl diff of two real collections of a program whose phases differ in a known way.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/profctl.h"

namespace profd::e2e {
namespace {

using nlohmann::json;

class DiffTest : public ProfctlTest {
 protected:
  // A profile of the program from its first instruction to its end.
  void Collect(const std::string& file, const std::string& compute_ms, const std::string& sleep_ms,
               const std::string& seconds) {
    const auto outcome =
        Profctl({"collect", "-q", "-o", File(file), "--", TestProgram("phases"), "--seconds",
                 seconds, "--fsyncs", "0", "--compute", compute_ms, "--sleep", sleep_ms});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  [[nodiscard]] static const json* Function(const json& diff, const std::string& name) {
    for (const json& function : diff["functions"])
      if (function["name"] == name) return &function;
    return nullptr;
  }
};

TEST_F(DiffTest, ShowsWhatChangedBetweenTwoRuns) {
  ASSERT_NO_FATAL_FAILURE(Collect("a.json", "40", "10", "1"));
  ASSERT_NO_FATAL_FAILURE(Collect("b.json", "5", "60", "2"));
  const auto outcome = Profctl({"diff", File("a.json"), File("b.json"), "-o", File("d.json"), "-o",
                                File("d.svg"), "-o", File("d.folded"), "-q"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out + outcome.err, "");
  const json diff = json::parse(ReadFile(File("d.json")));
  const json* compute = Function(diff, "phases::Compute");
  const json* sleep = Function(diff, "phases::Sleep");
  ASSERT_TRUE(compute != nullptr && sleep != nullptr) << diff["functions"];
  // By construction 40 of 80 ms and 5 of 95 ms; and 10 of 80 ms and 60 of 95 ms.
  const auto ns = [](const json& function, const char* side) {
    return function["total"][side].get<double>();
  };
  EXPECT_GT(ns(*compute, "a_ns"), 2 * ns(*compute, "b_ns"));
  EXPECT_LT(2 * ns(*sleep, "a_ns"), ns(*sleep, "b_ns"));
  // Both sides are what the profiles hold, A scaled to B's time.
  const v1::Profile a = ReadProfile(File("a.json"));
  const v1::Profile b = ReadProfile(File("b.json"));
  std::uint64_t b_ns = 0;
  for (const std::uint64_t weight : b.samples().weight_ns()) b_ns += weight;
  EXPECT_EQ(diff["b"]["total_ns"], b_ns);
  EXPECT_NEAR(diff["scale_of_a"].get<double>(),
              static_cast<double>(b.end_ns() - b.start_ns()) /
                  static_cast<double>(a.end_ns() - a.start_ns()),
              1e-6);
  EXPECT_NE(ReadFile(File("d.svg")).find("Widths of A"), std::string::npos);
  EXPECT_NE(ReadFile(File("d.folded")).find(";phases::Sleep;"), std::string::npos);
}

TEST_F(DiffTest, PrintsATableAndPipesFoldedStacks) {
  ASSERT_NO_FATAL_FAILURE(Collect("a.json", "20", "10", "0.5"));
  const auto table = Profctl({"diff", File("a.json"), File("a.json"), "-f", "table"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_NE(table.out.find("no function changed"), std::string::npos) << table.out;
  const auto folded = Profctl({"diff", File("a.json"), File("a.json")});
  std::istringstream lines(folded.out);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::size_t second = line.rfind(' ');
    const std::size_t first = line.rfind(' ', second - 1);
    EXPECT_EQ(line.substr(first + 1, second - first - 1), line.substr(second + 1)) << line;
  }
  EXPECT_GT(count, 3u);
}

TEST_F(DiffTest, ErrorsSayWhatIsWrong) {
  ASSERT_NO_FATAL_FAILURE(Collect("a.json", "20", "10", "0.3"));
  const auto expect = [&](std::vector<std::string> more, int code, const std::string& what) {
    std::vector<std::string> arguments{"diff", File("a.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(arguments);
    EXPECT_EQ(outcome.exit_code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  };
  expect({}, 2, "only one side");
  expect({"2h..soon"}, 1, "nor is it a range of times");
  expect({File("a.json"), "--comm", "x"}, 2, "both sides are files");
  expect({File("none.json")}, 1, "none.json");
  expect({File("a.json"), "--filter-a", "pid=1"}, 3, "no thread is left");
  expect({File("a.json"), "--filter-a", "uid=1"}, 2, "no filter");
  expect({File("a.json"), "-o", File("x.pb.gz")}, 2, "names no format");
  expect({File("a.json"), "-f", "pprof"}, 2, "no format of a diff");
}

}  // namespace
}  // namespace profd::e2e
