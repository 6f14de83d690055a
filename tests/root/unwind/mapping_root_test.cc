// Stacks in code that came to its place in unusual ways: unloaded, mapped over, deleted, replaced,
// behind other mounts. Held against what the functions say themselves of where they return to.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "tests/root/gdb/programs.h"
#include "tests/root/source/live_source.h"
#include "tests/root/unwind/direct_tables.h"
#include "tests/support/paths.h"

namespace profd::unwind {
namespace {

using gdb::Program;

constexpr int kRoundsUntilTablesAreReady = 100;
// Block, and the three functions of the library.
constexpr std::size_t kReportedFrames = 4;

const std::string kFolder = test::BinaryDirectory() + "/testprogs/mapped/";
const std::string kProgram = kFolder + "mapped_program";
const std::string kOther = kFolder + "mapped_program_other";
const std::string kOne = kFolder + "one.so";
const std::string kTwo = kFolder + "two.so";

// What a program says when it blocks.
struct Reported {
  std::uint32_t pid = 0;
  std::vector<std::uint64_t> returns_to;  // leaf first
};

class MappingRootTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0) return;
    auto live = source::LiveSource::Start({}, [](source::BpfSource& source) {
      auto& maps = source.unwind_maps();
      auto tables = std::make_shared<DirectTables>(maps);
      source.OnWanted([service = tables.get()](const profd_wanted& wanted) {
        service->service().Want(wanted);
      });
      return tables;
    });
    ASSERT_TRUE(live) << live.error().message;
    live_ = *std::move(live);
  }
  static void TearDownTestSuite() { live_.reset(); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_TRUE(live_);
  }

  [[nodiscard]] static Program Start(const std::vector<std::string>& command) {
    auto program = Program::Start(command, SIGKILL);
    if (!program) ADD_FAILURE() << program.error().message;
    return *std::move(program);
  }
  // In a mount namespace of its own, where `mounts` (of sh) have been made.
  [[nodiscard]] static Program StartBehind(const std::string& mounts, const std::string& command) {
    return Start({"unshare", "--mount", "sh", "-ec", mounts + "\nexec " + command});
  }
  static void GoOn(Program& program) { program.subprocess().WriteInput("\n"); }

  [[nodiscard]] static Reported Hear(Program& program) {
    const auto line = program.subprocess().ReadLine();
    Reported reported;
    std::istringstream words(line ? *line : "");
    words >> reported.pid >> std::hex;
    for (std::uint64_t address = 0; words >> address;) reported.returns_to.push_back(address);
    EXPECT_EQ(reported.returns_to.size(), kReportedFrames)
        << (line ? *line : line.error().message) << program.subprocess().Wait().err;
    return reported;
  }

  // The stack of its one thread, when no table is missing any more.
  [[nodiscard]] static wire::StackEvent StackOf(std::uint32_t pid) {
    session::SessionSpec spec;
    spec.target = *session::ParseTarget("pid " + std::to_string(pid));
    wire::StackEvent found;
    for (int round = 0; round < kRoundsUntilTablesAreReady; ++round) {
      for (auto& stack : live_->End(live_->Begin(spec)).All<wire::StackEvent>())
        if (stack.origin == wire::SampleOrigin::kSnapshot) found = std::move(stack);
      if ((found.stack_flags & PROFD_STACK_TABLES_NOT_READY) == 0) break;
    }
    return found;
  }

  // A whole stack, of what it said.
  static void ExpectStack(const Reported& reported) {
    if (reported.returns_to.size() != kReportedFrames) return;
    gdb::AwaitAsleep(reported.pid, 1);
    const wire::StackEvent stack = StackOf(reported.pid);
    EXPECT_EQ(stack.stack_flags, PROFD_STACK_COMPLETE);
    EXPECT_EQ(stack.uncertain_from, PROFD_ALL_CERTAIN);
    const auto& frames = stack.user_frames;
    const auto at = std::ranges::search(frames, reported.returns_to);
    std::ostringstream text;
    for (const std::uint64_t frame : frames) text << ' ' << std::hex << frame;
    EXPECT_FALSE(at.empty()) << "stack:" << text.str();
    // Below Block there is libc's read; above the outermost at least main, what called it, _start.
    EXPECT_GT(at.begin(), frames.begin());
    EXPECT_GE(frames.end() - at.end(), 3);
  }

  // Copies of their own, which no tables have been made of.
  [[nodiscard]] std::string Copy(const std::string& file, const std::string& name) const {
    const std::string to = folder_.path() + "/" + name;
    std::filesystem::copy_file(file, to);
    return to;
  }

  static inline std::unique_ptr<source::LiveSource> live_;
  gdb::TemporaryFolder folder_;
};

TEST_F(MappingRootTest, ALibraryWhereAnotherWasUnloaded) {
  auto program = Start({kProgram, "reload", Copy(kOne, "one.so"), Copy(kTwo, "two.so")});
  ExpectStack(Hear(program));
  GoOn(program);
  ExpectStack(Hear(program));
}

TEST_F(MappingRootTest, AFileMappedOverALibrary) {
  auto program = Start({kProgram, "over", Copy(kOne, "one.so"), Copy(kTwo, "two.so")});
  ExpectStack(Hear(program));
  GoOn(program);
  ExpectStack(Hear(program));
}

// All that is said of it, it says before anybody has looked at it.
TEST_F(MappingRootTest, FilesThatAreDeletedBeforeTheyAreLookedAt) {
  const std::string program_file = Copy(kProgram, "program");
  const std::string library = Copy(kOne, "library.so");
  auto program = Start({program_file, "load", library});
  const Reported reported = Hear(program);
  std::filesystem::remove(program_file);
  std::filesystem::remove(library);
  ExpectStack(reported);
}

TEST_F(MappingRootTest, FilesThatAreReplacedBeforeTheyAreLookedAt) {
  const std::string program_file = Copy(kProgram, "program");
  const std::string library = Copy(kOne, "library.so");
  auto program = Start({program_file, "load", library});
  const Reported reported = Hear(program);
  std::filesystem::rename(Copy(kOther, "program.new"), program_file);
  std::filesystem::rename(Copy(kTwo, "library.new"), library);
  ExpectStack(reported);
  auto after = Start({program_file, "load", library});
  ExpectStack(Hear(after));
}

TEST_F(MappingRootTest, FilesOnAMountOfAnotherNamespace) {
  const std::string& there = folder_.path();
  auto program = StartBehind("mount -t tmpfs none " + there + "\n" +              //
                                 "cp " + kProgram + " " + there + "/program\n" +  //
                                 "cp " + kOne + " " + there + "/library.so",
                             there + "/program load " + there + "/library.so");
  ExpectStack(Hear(program));
  EXPECT_FALSE(std::filesystem::exists(there + "/program"));
}

TEST_F(MappingRootTest, AChildAndAProgramAfterExec) {
  auto parent = Start({Copy(kProgram, "program"), "fork", Copy(kOne, "library.so")});
  ExpectStack(Hear(parent));
  auto program = Start({Copy(kProgram, "one"), "exec", Copy(kOther, "two"), "own"});
  ExpectStack(Hear(program));
  GoOn(program);
  ExpectStack(Hear(program));
}

// An overlay of two file systems, as containers have it. What is said after its name: how it is
// mounted, and what is done to the files in it before they run.
struct Overlay {
  const char* name;
  const char* options;
  const char* change;
};

class OverlayRootTest : public MappingRootTest, public ::testing::WithParamInterface<Overlay> {};

TEST_P(OverlayRootTest, FilesAreFound) {
  // Inode numbers of the two differ, as files are made in another order.
  const std::string mounts = "cd " + folder_.path() +
                             "\nmkdir low up merged"
                             "\nmount -t tmpfs none low && mount -t tmpfs none up"
                             "\nmkdir up/files up/work && touch low/a low/b low/c"
                             "\ncp " +
                             kProgram + " low/program && cp " + kOne +
                             " low/library.so"
                             "\nmount -t overlay none merged -o "
                             "lowerdir=low,upperdir=up/files,workdir=up/work" +
                             GetParam().options + "\ncd merged\n" + GetParam().change;
  auto program = StartBehind(mounts, "./program load ./library.so");
  ExpectStack(Hear(program));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OverlayRootTest,
    ::testing::Values(Overlay{"Lower", "", ""}, Overlay{"LowerWithLongInodes", ",xino=on", ""},
                      Overlay{"CopiedUp", "", "touch -d 2020-01-01 program library.so"},
                      Overlay{"CopiedUpWithLongInodes", ",xino=on", "chmod 700 program library.so"},
                      Overlay{"MetadataCopiedUp", ",metacopy=on", "chmod 700 program library.so"},
                      Overlay{"Upper", "", "cp program new && mv new program"}),
    [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace profd::unwind
