// profctl collect -- make -j2: compilers that live some tens of ms each are seen, and seen whole.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "bpf/shared/events.h"
#include "tests/e2e/profctl.h"
#include "tests/support/listed_symbols.h"

namespace profd::e2e {
namespace {

constexpr std::size_t kFiles = 30;
// Each is linked in less time than the tables of a new program may take.
constexpr std::size_t kPrograms = 10;

class MakeTest : public ProfctlTest {
 protected:
  void SetUp() override {
    ProfctlTest::SetUp();
    if (IsSkipped()) return;
    for (const char* tool : {"/usr/bin/make", "/usr/bin/cc"})
      if (::access(tool, X_OK) != 0) GTEST_SKIP() << tool << " is not installed";
    WriteProject();
  }

  void WriteProject() const {
    std::string objects = "main.o";
    for (std::size_t i = 0; i < kFiles; ++i) {
      const std::string name = "part" + std::to_string(i);
      objects += " " + name + ".o";
      std::ofstream source(File(name + ".c"));
      source << "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
      for (int j = 0; j < 20; ++j) {
        source << "int f" << i << "_" << j << "(int a, const char* s) {\n"
               << "  for (int k = 0; k < " << j + 3 << "; ++k) a += (int)strlen(s) * k;\n"
               << "  return printf(\"%d\", a);\n}\n";
      }
    }
    std::ofstream(File("main.c")) << "int main(void) { return 0; }\n";
    std::string programs;
    for (std::size_t i = 0; i < kPrograms; ++i) programs += " program" + std::to_string(i);
    std::ofstream(File("Makefile"))
        << "CC = cc\nCFLAGS = -O2\nall:" << programs << "\n"
        << programs << ": " << objects << "\n\t$(CC) -o $@ " << objects << "\n";
  }
};

// Of one process, or of a group of short-lived ones. Stacks that ended as tables were not ready say
// so, and do not count: how many there are is a matter of how busy the machine is.
struct Stacks {
  int all = 0;
  int complete = 0;
};

// Of one program's processes.
struct Seen {
  std::size_t processes = 0;
  std::map<std::uint32_t, Stacks> stacks;  // by index of the process
  Stacks total;
  std::set<std::uint64_t> unnamed;  // offsets in the program's own file
  int unplaced = 0;                 // frames with neither name nor file and reason
};

// A name beside a reason is made of the function's place.
bool HasSymbol(const v1::Frame& frame) { return !frame.name().empty() && frame.reason().empty(); }

bool IsNative(const v1::Frame& frame) { return frame.kind() == v1::FRAME_NATIVE; }

Seen SeenOf(const v1::Profile& profile, const std::string& comm) {
  Seen seen;
  seen.processes = ProcessesCalled(profile, comm);
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    const auto index = profile.threads(static_cast<int>(samples.thread(i))).process();
    const auto& process = profile.processes(static_cast<int>(index));
    if (process.comm() != comm) continue;
    if (samples.node(i) == 0 || (samples.stack_flags(i) & PROFD_STACK_NO_USER) != 0) continue;
    bool native = false;
    bool in_exec = false;
    for (auto node = samples.node(i); node != 0;
         node = profile.nodes(static_cast<int>(node) - 1).parent()) {
      const auto& frame =
          profile.frames(static_cast<int>(profile.nodes(static_cast<int>(node) - 1).frame()));
      in_exec = in_exec || frame.name() == "load_elf_binary";
      native = native || IsNative(frame);
      if (!IsNative(frame) || HasSymbol(frame)) continue;
      if (frame.module() == process.executable()) seen.unnamed.insert(frame.offset());
      if (frame.module().empty() || frame.reason().empty()) ++seen.unplaced;
    }
    // In it the program of before is gone, and the next one has no stack yet.
    if (in_exec || !native) continue;
    if ((samples.stack_flags(i) & PROFD_STACK_TABLES_NOT_READY) != 0) continue;
    const int complete = (samples.stack_flags(i) & PROFD_STACK_COMPLETE) != 0 ? 1 : 0;
    for (Stacks* stacks : {&seen.stacks[index], &seen.total}) {
      ++stacks->all;
      stacks->complete += complete;
    }
  }
  return seen;
}

// "name" for each of these offsets in a file that lies inside of a function that it exports.
std::vector<std::string> ExportedAt(const std::string& path,
                                    const std::set<std::uint64_t>& offsets) {
  struct Segment {
    std::uint64_t offset, vaddr, bytes;
  };
  std::vector<Segment> segments;
  std::istringstream lines(testing::Run({"readelf", "-lW", path}).out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string type, offset, vaddr, physical, bytes;
    if (words >> type >> offset >> vaddr >> physical >> bytes && type == "LOAD")
      segments.push_back({std::stoull(offset, nullptr, 16), std::stoull(vaddr, nullptr, 16),
                          std::stoull(bytes, nullptr, 16)});
  }
  std::vector<std::string> found;
  for (const auto& symbol : testing::ListSymbols(path, true))
    for (const std::uint64_t offset : offsets)
      for (const Segment& segment : segments) {
        const std::uint64_t vaddr = offset - segment.offset + segment.vaddr;
        // Not where it begins: a return address may be the first one after the function that
        // called.
        if (symbol.function && offset >= segment.offset &&
            offset - segment.offset < segment.bytes && vaddr > symbol.start &&
            vaddr - symbol.start < symbol.size)
          found.push_back(symbol.name);
      }
  return found;
}

TEST_F(MakeTest, EachCompilerIsSeen) {
  const auto outcome = Profctl({"collect", "-q", "-F", "999", "-o", File("x.json"), "--", "make",
                                "-s", "-j2", "-C", directory_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  const Seen compiler = SeenOf(profile, "cc1");
  const Seen assembler = SeenOf(profile, "as");
  const Seen linker = SeenOf(profile, "ld");
  if (compiler.processes == 0) GTEST_SKIP() << "cc starts no cc1 here";
  EXPECT_EQ(compiler.processes, kFiles + 1);
  EXPECT_EQ(assembler.processes, kFiles + 1);
  EXPECT_EQ(linker.processes, kPrograms);
  for (const auto& [name, seen] : {std::pair("cc1", compiler), {"as", assembler}, {"ld", linker}}) {
    EXPECT_GT(seen.total.complete, 0) << name;
    EXPECT_GE(seen.total.complete * 10, seen.total.all * 9) << name;
    for (const auto& [process, stacks] : seen.stacks) {
      if (stacks.all < 3) continue;
      EXPECT_GT(stacks.complete, 0) << name << ", process " << process;
    }
    EXPECT_EQ(seen.unplaced, 0) << name;
    RecordProperty(std::string(name) + "_complete",
                   std::to_string(seen.total.complete) + " of " + std::to_string(seen.total.all));
    std::cout << name << ": " << seen.total.complete << " of " << seen.total.all
              << " stacks whole\n";
    for (const auto& process : profile.processes()) {
      if (process.comm() != name || process.executable().empty()) continue;
      EXPECT_THAT(ExportedAt(process.executable(), seen.unnamed), ::testing::IsEmpty()) << name;
      break;
    }
  }
}

TEST_F(MakeTest, EveryRootOfAWholeStackIsOne) {
  const auto outcome =
      Profctl({"collect", "-q", "-o", File("x.json"), "--", "make", "-s", "-j2", "-C", directory_});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto profile = ReadProfile(File("x.json"));
  const std::set<std::string> roots{"_start",   "_dl_start_user", "clone3",
                                    "__clone3", "clone",          "__clone"};
  int whole = 0;
  for (int i = 0; i < profile.samples().node_size(); ++i) {
    if ((profile.samples().stack_flags(i) & PROFD_STACK_COMPLETE) == 0) continue;
    const v1::Frame* root = nullptr;
    for (auto node = profile.samples().node(i); node != 0;
         node = profile.nodes(static_cast<int>(node) - 1).parent()) {
      const auto& frame =
          profile.frames(static_cast<int>(profile.nodes(static_cast<int>(node) - 1).frame()));
      if (IsNative(frame)) root = &frame;
    }
    if (root == nullptr || !HasSymbol(*root)) continue;
    ++whole;
    EXPECT_TRUE(roots.contains(root->name())) << root->name() << " in " << root->module();
  }
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace profd::e2e
