// pprof, folded, perf-script, csv and json in the programs that read them. The numbers that they
// must show are those of SmallProfile: 172 samples, 4.00 s, of it 1.68 s on CPU, 0.02 s
// runnable, 2.30 s blocked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

class Pprof : public ::testing::Test {
 protected:
  void SetUp() override {
    go_ = FindProgram("go");
    if (go_.empty()) GTEST_SKIP() << "go is not installed";
  }

  std::string Pprof_(std::vector<std::string> arguments, const std::string& file) {
    std::vector<std::string> command{go_, "tool", "pprof"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.push_back(File(file));
    SubprocessOptions options;
    options.environment["PPROF_TMPDIR"] = test::BinaryDirectory() + "/viewers";
    options.environment["GOTOOLCHAIN"] = "local";
    const Outcome outcome = testing::Run(command, options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  std::string go_;
};

TEST_F(Pprof, TopAgreesInEverySampleType) {
  const std::string wall = Pprof_({"-top", "-unit=ms"}, "small.pb.gz");
  EXPECT_THAT(wall,
              AllOf(HasSubstr("Type: wall"), HasSubstr("Duration: 2s"), HasSubstr("4000ms total"),
                    ContainsRegex("1700ms .* compute"), ContainsRegex("2000ms .* main"),
                    ContainsRegex("800ms .* fsync_\\[k\\]")));
  EXPECT_THAT(wall, HasSubstr("File: demo"));
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-sample_index=cpu"}, "small.pb.gz"),
              AllOf(HasSubstr("1680ms total"), ContainsRegex("1680ms +100% .* compute")));
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-sample_index=off_cpu"}, "small.pb.gz"),
              AllOf(HasSubstr("2320ms total"), ContainsRegex("20ms .* compute")));
  EXPECT_THAT(Pprof_({"-top", "-sample_index=samples"}, "small.pb.gz"), HasSubstr("172 total"));
}

TEST_F(Pprof, LabelsSelect) {
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-tagfocus=state=blocked"}, "small.pb.gz"),
              HasSubstr("2300ms, 57.50% of 4000ms total"));
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-tagfocus=wait=io"}, "small.pb.gz"),
              HasSubstr("800ms, 20.00% of 4000ms total"));
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-tagfocus=thread=worker"}, "small.pb.gz"),
              HasSubstr("2000ms, 50.00% of 4000ms total"));
  EXPECT_THAT(Pprof_({"-top", "-unit=ms", "-tagfocus=tid=4243id"}, "small.pb.gz"),
              HasSubstr("2000ms, 50.00% of 4000ms total"));
  const std::string tags = Pprof_({"-tags", "-unit=ms"}, "small.pb.gz");
  for (const char* text : {"pid: Total 4000ms", "tid: Total 4000ms", "process: Total 4000ms",
                           "thread: Total 4000ms", "state: Total 4000ms", "wait: Total 2300ms"})
    EXPECT_THAT(tags, HasSubstr(text));
}

TEST_F(Pprof, TracesAreWholeStacks) {
  const std::string traces = Pprof_({"-traces", "-unit=ms"}, "small.pb.gz");
  EXPECT_THAT(traces, ContainsRegex("300ms +futex_wait_\\[k\\]\n +wait\n +main\n +_start\n"));
}

TEST_F(Pprof, TagsBecomeFrames) {
  EXPECT_THAT(
      Pprof_({"-traces", "-unit=ms", "-tagroot=process,thread", "-tagleaf=state,wait"},
             "small.pb.gz"),
      ContainsRegex("800ms +io\n +blocked\n +fsync_\\[k\\]\n +run\n +_start\n +worker\n +demo\n"));
}

TEST_F(Pprof, InlinedAndPythonFramesAreShownAsSuch) {
  const std::string lines = Pprof_({"-traces", "-lines", "-unit=ms"}, "typical.pb.gz");
  EXPECT_THAT(lines, ContainsRegex("Tensor.numpy /srv/app/tensor.py:31"));
  EXPECT_THAT(lines, ContainsRegex("loop .*\\(inline\\)"));
}

TEST_F(Pprof, AcceptsWhatIsLargeHostileOrEmpty) {
  EXPECT_THAT(Pprof_({"-top"}, "large.pb.gz"), HasSubstr("Type: wall"));
  EXPECT_THAT(Pprof_({"-top"}, "many.pb.gz"), HasSubstr("1000s total"));
  EXPECT_THAT(Pprof_({"-top"}, "hostile.pb.gz"), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Pprof_({"-raw"}, "empty.pb.gz"), HasSubstr("Samples:"));
}

// Debian has flamegraph.pl in libdevel-nytprof-perl, outside of PATH.
std::string FlameGraphScript() {
  const std::string found = FindProgram("flamegraph.pl");
  if (!found.empty()) return found;
  const std::string debian = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl";
  return ::access(debian.c_str(), R_OK) == 0 ? debian : "";
}

TEST(Folded, FlameGraphAgreesOnEveryTotal) {
  const std::string script = FlameGraphScript();
  if (script.empty()) GTEST_SKIP() << "flamegraph.pl (libdevel-nytprof-perl) is not installed";
  const auto draw = [&](const std::string& name) {
    const Outcome outcome = testing::Run({"perl", script, "--countname=us", File(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << name;  // it warns of lines that it ignores
    return outcome.out;
  };
  const std::string small = draw("small.folded");
  for (const char* text : {"all (4,000,000 us, 100%)", "compute (1,700,000 us, 42.50%)",
                           "[blocked:lock] (300,000 us, 7.50%)", "fsync_[k] (800,000 us, 20.00%)"})
    EXPECT_THAT(small, HasSubstr(text));
  EXPECT_THAT(draw("typical.folded"), HasSubstr("all (20,000,000 us, 100%)"));
  EXPECT_THAT(draw("many.folded"), HasSubstr("all (1,000,000,000 us, 100%)"));
  EXPECT_THAT(draw("hostile.folded"), HasSubstr("all (170,000 us, 100%)"));
  EXPECT_THAT(draw("large.folded"), HasSubstr("<svg"));
}

TEST(Json, JqReadsIt) {
  if (FindProgram("jq").empty()) GTEST_SKIP() << "jq is not installed";
  const auto jq = [&](const std::string& filter, const std::string& name) {
    const Outcome outcome = testing::Run({"jq", "-r", filter, File(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(jq(".profile.samples.weight_ns | add", "small.json"), "4000000000\n");
  EXPECT_EQ(jq("[.profile.samples | [.state, .weight_ns] | transpose[] | "
               "select(.[0] == \"STATE_BLOCKED\") | .[1] | tonumber] | add",
               "small.json"),
            "2300000000\n");
  EXPECT_EQ(jq(".profile.threads[].comm", "small.json"), "demo\nworker\n");
  EXPECT_EQ(jq(".profile.processes | length", "hostile.json"), "18\n");
}

// Of https://github.com/brendangregg/FlameGraph; Debian has no package with it.
TEST(PerfScript, StackcollapseAgreesOnEveryTotal) {
  const std::string script = FindProgram("stackcollapse-perf.pl");
  if (script.empty()) GTEST_SKIP() << "stackcollapse-perf.pl (FlameGraph) is not installed";
  const auto collapse = [&](const std::string& name) {
    const Outcome outcome = testing::Run({"perl", script, File(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << name;  // it warns of lines that it ignores
    return outcome.out;
  };
  EXPECT_EQ(collapse("small.perf"),
            "demo;_start;main;compute 1680000000\n"
            "demo;_start;main;compute;[runnable] 20000000\n"
            "demo;_start;main;wait;futex_wait;[blocked:lock] 300000000\n"
            "worker;_start;run;[blocked:sleep] 1200000000\n"
            "worker;_start;run;fsync;[blocked:io] 800000000\n");
  for (const char* name : {"typical.perf", "large.perf", "hostile.perf", "many.perf"})
    EXPECT_FALSE(collapse(name).empty()) << name;
}

TEST(Csv, PythonReadsIt) {
  if (FindProgram("python3").empty()) GTEST_SKIP() << "python3 is not installed";
  const auto sums = [&](const std::string& name) {
    const Outcome outcome =
        testing::Run({"python3", "-c",
                      "import csv, sys, collections\n"
                      "sums = collections.Counter()\n"
                      "for row in csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8'), "
                      "strict=True):\n"
                      "    assert None not in row and None not in row.values()\n"
                      "    sums[row['state']] += int(row['ns'])\n"
                      "print(sorted(sums.items()))\n",
                      File(name)});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(sums("small.csv"),
            "[('blocked', 2300000000), ('runnable', 20000000), ('working', 1680000000)]\n");
  EXPECT_EQ(sums("hostile.csv"), "[('working', 170000000)]\n");
  EXPECT_EQ(sums("many.csv"), "[('blocked', 990000000000), ('working', 10000000000)]\n");
  EXPECT_EQ(sums("empty.csv"), "[]\n");
}

}  // namespace
}  // namespace profd::testing
