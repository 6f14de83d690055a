// callgrind, dot and perfetto in the programs that read them. The numbers that they must show are
// those of SmallProfile: 4.00 s, of it 1.68 s on CPU, 0.02 s runnable, 2.30 s blocked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/e2e/viewers/exported_files.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string File(const std::string& name) { return ExportedFiles() + "/" + name; }

std::string Annotated(const std::string& name, const std::vector<std::string>& options = {}) {
  std::vector<std::string> command{"callgrind_annotate", "--auto=no", "--threshold=100"};
  command.insert(command.end(), options.begin(), options.end());
  command.push_back(File(name));
  const Outcome outcome = testing::Run(command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "") << name;  // it warns of lines that it does not know
  return outcome.out;
}

TEST(Callgrind, AnnotateAgreesOnEveryTotal) {
  if (FindProgram("callgrind_annotate").empty())
    GTEST_SKIP() << "callgrind_annotate (valgrind) is not installed";
  const std::string self = Annotated("small.callgrind");
  EXPECT_THAT(self, ContainsRegex("Events shown: +Wall Working Spinning Runnable Blocked Stolen"));
  EXPECT_THAT(self,
              ContainsRegex("4,000,000,000 \\(100.0%\\).*2,300,000,000 \\(100.0%\\).*TOTALS"));
  EXPECT_THAT(self, ContainsRegex("1,700,000,000 \\(42.50%\\).*compute"));
  EXPECT_THAT(self, ContainsRegex("800,000,000 \\(20.00%\\).*fsync_\\[k\\]"));
  const std::string all = Annotated("small.callgrind", {"--inclusive=yes", "--show=Wall"});
  EXPECT_THAT(all, AllOf(ContainsRegex("4,000,000,000 \\(100.0%\\) +\\?\\?\\?:_start"),
                         ContainsRegex("2,000,000,000 \\(50.00%\\) +\\?\\?\\?:main"),
                         ContainsRegex("2,000,000,000 \\(50.00%\\) +\\?\\?\\?:run")));
  const std::string callers = Annotated("small.callgrind", {"--tree=caller", "--show=Wall"});
  EXPECT_THAT(callers, ContainsRegex("800,000,000 \\(20.00%\\) +< \\?\\?\\?:run"));
  const std::string python = Annotated("typical.callgrind", {"--show=Blocked"});
  EXPECT_THAT(python, HasSubstr("/srv/app/train.py:"));
}

TEST(Callgrind, AnnotateReadsWhatIsLargeHostileOrEmpty) {
  if (FindProgram("callgrind_annotate").empty())
    GTEST_SKIP() << "callgrind_annotate (valgrind) is not installed";
  EXPECT_THAT(Annotated("large.callgrind"), HasSubstr("PROGRAM TOTALS"));
  EXPECT_THAT(Annotated("many.callgrind"), HasSubstr("1,000,000,000,000 (100.0%)"));
  EXPECT_THAT(Annotated("hostile.callgrind"), HasSubstr("170,000,000 (100.0%)"));
}

TEST(Dot, GraphvizDrawsIt) {
  if (FindProgram("dot").empty()) GTEST_SKIP() << "dot (graphviz) is not installed";
  for (const std::string name :
       {"small", "typical", "large", "many", "hostile", "empty", "tower"}) {
    const Outcome drawn = testing::Run({"dot", "-Tsvg", File(name + ".dot")});
    EXPECT_EQ(drawn.exit_code, 0) << name << ": " << drawn.err;
    EXPECT_THAT(drawn.out, HasSubstr("Who calls whom")) << name;
    EXPECT_EQ(testing::Run({"dot", "-Tpng", "-Gdpi=60", File(name + ".dot"), "-o",
                            test::BinaryDirectory() + "/viewers/dot-" + name + ".png"})
                  .exit_code,
              0);
  }
  const Outcome plain = testing::Run({"dot", "-Tplain", File("small.dot")});
  EXPECT_THAT(plain.out, HasSubstr("self 42.5 %"));
}

// Of https://perfetto.dev; Debian has no package with it.
TEST(Perfetto, TraceProcessorAgreesOnEveryTotal) {
  const std::string program = FindProgram("trace_processor_shell");
  if (program.empty()) GTEST_SKIP() << "trace_processor_shell (Perfetto) is not installed";
  const auto query = [&](const std::string& name, const std::string& sql) {
    const std::string file = File(name + ".sql");
    std::ofstream(file) << sql;
    const Outcome outcome = testing::Run({program, "-q", file, File(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string sums =
      "select slice.name, sum(dur) from slice join track on slice.track_id = track.id "
      "where track.name = 'states' group by 1 order by 1;";
  for (const char* text : {"\"blocked:io\",800000000", "\"blocked:lock\",300000000",
                           "\"working\",1680000000", "\"runnable\",20000000"})
    EXPECT_THAT(query("small.perfetto-trace", sums), HasSubstr(text));
  for (const std::string name : {"large", "many", "hostile", "empty"})
    EXPECT_THAT(query(name + ".perfetto-trace",
                      "select value from stats where severity = 'error' and value > 0;"),
                Not(ContainsRegex("[1-9]")));
}

}  // namespace
}  // namespace profd::testing
