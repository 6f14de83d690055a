// Names for addresses of real processes whose files are gone, replaced, or somewhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/proc/maps_parser.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/symbolize/live/host_symbolizer.h"
#include "tests/support/direct_objects.h"
#include "tests/support/subprocess.h"

namespace profd::symbolize {
namespace {

using profd::testing::Subprocess;
using ::testing::HasSubstr;

class MappedFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: map_files of other processes, mounts";
    std::string name = (std::filesystem::temp_directory_path() / "profd-mapped-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  struct Puppet {
    std::unique_ptr<Subprocess> process;
    process::AddressFrame function;  // in its main program
  };

  // Starts a command that becomes a puppet.
  static Puppet Start(const std::vector<std::string>& command) {
    Puppet puppet;
    Result<Subprocess> started = Subprocess::Start(command);
    EXPECT_TRUE(started) << started.error().message;
    if (!started) return puppet;
    puppet.process = std::make_unique<Subprocess>(std::move(started).value());
    const Result<std::string> line = puppet.process->ReadLine();
    EXPECT_TRUE(line) << line.error().message;
    if (line) puppet.function = AddressIn(puppet.process->pid(), std::stoull(*line, nullptr, 16));
    return puppet;
  }

  // An address of a process with the module that its maps name.
  static process::AddressFrame AddressIn(pid_t pid, std::uint64_t address) {
    process::AddressFrame frame;
    frame.address = address;
    const Result<std::string> maps = ProcFs().Read(std::to_string(pid) + "/maps");
    EXPECT_TRUE(maps);
    if (!maps) return frame;
    ParseMaps(*maps, [&](MapsLine&& line) {
      if (address < line.start || address >= line.end) return;
      frame.file_offset = line.file_offset + (address - line.start);
      frame.module = std::make_shared<process::Module>(
          process::Module{line.path, line.device_major, line.device_minor, line.inode,
                          static_cast<std::uint32_t>(pid), line.start, line.end});
    });
    EXPECT_TRUE(frame.module) << std::hex << address << " is in no mapping";
    return frame;
  }

  static Frame Resolve(const process::AddressFrame& address) {
    ReplayKernelSymbols kernel;
    test::DirectObjects objects;
    HostSymbolizer symbolizer(kernel, objects);
    std::vector<Frame> frames;
    symbolizer.Resolve(address, Detail::kSource, frames);
    EXPECT_EQ(frames.size(), 1u);
    const bool has_symbol =
        !frames[0].name.empty() && frames[0].name.find("!fn_") == std::string::npos;
    EXPECT_NE(has_symbol, !frames[0].reason.empty()) << frames[0].name << frames[0].reason;
    return frames[0];
  }

  void Install(const std::string& puppet, const std::string& name) const {
    // As installers do: a new file takes the name.
    std::filesystem::copy_file(puppet, Path("new"));
    std::filesystem::rename(Path("new"), Path(name));
  }

  std::string folder_;
};

TEST_F(MappedFilesTest, DeletedWhileItRuns) {
  Install(PROFD_FIRST_PUPPET, "program");
  const Puppet puppet = Start({Path("program")});
  EXPECT_EQ(Resolve(puppet.function).name, "first_function");
  std::filesystem::remove(Path("program"));
  EXPECT_EQ(Resolve(puppet.function).name, "first_function");
  // As a process that was found by then has it: "... (deleted)".
  const process::AddressFrame late = AddressIn(puppet.process->pid(), puppet.function.address);
  EXPECT_THAT(late.module->path, HasSubstr("(deleted)"));
  EXPECT_EQ(Resolve(late).name, "first_function");
}

TEST_F(MappedFilesTest, ReplacedWhileItRuns) {
  Install(PROFD_FIRST_PUPPET, "program");
  const Puppet before = Start({Path("program")});
  Install(PROFD_SECOND_PUPPET, "program");
  const Puppet after = Start({Path("program")});
  EXPECT_EQ(before.function.module->path, after.function.module->path);
  EXPECT_EQ(Resolve(before.function).name, "first_function");
  EXPECT_EQ(Resolve(after.function).name, "second_function");
}

TEST_F(MappedFilesTest, ReplacedAndEndedHasNoName) {
  Install(PROFD_FIRST_PUPPET, "program");
  Puppet puppet = Start({Path("program")});
  Install(PROFD_SECOND_PUPPET, "program");
  puppet.process->CloseInput();
  (void)puppet.process->Wait();
  const Frame frame = Resolve(puppet.function);
  EXPECT_EQ(frame.name, "") << "the other file's name would be wrong";
  EXPECT_THAT(frame.reason, HasSubstr("file gone: "));
  EXPECT_THAT(frame.reason, HasSubstr(Path("program") + ": another file is there now"));
  EXPECT_EQ(frame.module, Path("program"));
  EXPECT_EQ(frame.offset, puppet.function.file_offset);
}

TEST_F(MappedFilesTest, EndedButStillThere) {
  Install(PROFD_FIRST_PUPPET, "program");
  Puppet puppet = Start({Path("program")});
  puppet.process->CloseInput();
  (void)puppet.process->Wait();
  EXPECT_EQ(Resolve(puppet.function).name, "first_function");
}

TEST_F(MappedFilesTest, InAnotherMountNamespace) {
  std::filesystem::create_directory(Path("mount"));
  Install(PROFD_SECOND_PUPPET, "mount/program");  // what the same path means to us
  const Puppet puppet =
      Start({"unshare", "--mount", "sh", "-c",
             "mount -t tmpfs none \"$1\" && cp \"$2\" \"$1/program\" && exec \"$1/program\"", "sh",
             Path("mount"), PROFD_FIRST_PUPPET});
  ASSERT_TRUE(puppet.function.module);
  // Seen from the new namespace; where / is not the root of ours, more stands before it.
  EXPECT_TRUE(puppet.function.module->path.ends_with(Path("mount/program")))
      << puppet.function.module->path;
  EXPECT_EQ(Resolve(puppet.function).name, "first_function");
  // By the root of the process alone, too: its map_files may be closed to us.
  process::AddressFrame other_range = puppet.function;
  process::Module module = *other_range.module;
  module.map_start = module.map_end = 0;
  other_range.module = std::make_shared<process::Module>(module);
  EXPECT_EQ(Resolve(other_range).name, "first_function");
}

TEST_F(MappedFilesTest, OnOverlay) {
  for (const char* name : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directory(Path(name));
  Install(PROFD_FIRST_PUPPET, "lower/program");
  const std::string options =
      "lowerdir=" + Path("lower") + ",upperdir=" + Path("upper") + ",workdir=" + Path("work");
  if (::mount("overlay", Path("merged").c_str(), "overlay", 0, options.c_str()) != 0)
    GTEST_SKIP() << "cannot mount an overlay here";
  {
    const Puppet puppet = Start({Path("merged/program")});
    EXPECT_EQ(Resolve(puppet.function).name, "first_function");
    std::filesystem::remove(Path("merged/program"));
    EXPECT_EQ(Resolve(puppet.function).name, "first_function");
  }
  EXPECT_EQ(::umount(Path("merged").c_str()), 0);
}

TEST_F(MappedFilesTest, TheVdsoOfAnotherProcess) {
  const Puppet puppet = Start({PROFD_FIRST_PUPPET});
  const auto maps = ProcFs().Read(std::to_string(puppet.process->pid()) + "/maps");
  ASSERT_TRUE(maps);
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  ParseMaps(*maps, [&](MapsLine&& line) {
    if (line.path == "[vdso]") start = line.start, end = line.end;
  });
  if (start == 0) GTEST_SKIP() << "this kernel maps no vdso";
  int named = 0;
  for (std::uint64_t address = start; address < end; address += 16)
    named += Resolve(AddressIn(puppet.process->pid(), address)).name.find("gettime") !=
             std::string::npos;
  EXPECT_GT(named, 0) << "clock_gettime";
}

}  // namespace
}  // namespace profd::symbolize
