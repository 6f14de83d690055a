// The kernel's own symbols, those of its modules, and of BPF; as root and as an unprivileged user.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/unique_fd.h"
#include "daemon/symbolize/live/kernel_symbols.h"
#include "tests/root/source/live_source.h"

namespace profd::symbolize {
namespace {

struct Line {
  std::uint64_t address = 0;
  char type = 0;
  std::string name;
  std::string module;  // "[bpf]"; "" for the kernel itself
};

// The first line of /proc/kallsyms that is wanted.
std::optional<Line> FindLine(const std::function<bool(const Line&)>& wanted) {
  const Result<std::string> text = ProcFs().Read("kallsyms");
  std::istringstream lines(text ? *text : "");
  for (std::string words; std::getline(lines, words);) {
    std::istringstream fields(words);
    Line line;
    fields >> std::hex >> line.address >> line.type >> line.name >> line.module;
    if (wanted(line)) return line;
  }
  return std::nullopt;
}

// Addresses of a function, as /proc/kallsyms lists it.
std::uint64_t AddressOf(const std::string& name) {
  const auto line = FindLine([&](const Line& one) { return one.name == name; });
  return line ? line->address : 0;
}

// Machine code of a BPF program that this process holds, as bpf_prog_info describes it.
struct ProgramCode {
  int fd = -1;
  std::uint32_t types = 0;  // id of its BTF
  std::string name;         // its first 15 characters
  std::uint64_t begin = 0;
  std::uint32_t bytes = 0;
};

std::vector<ProgramCode> CodeOfOwnPrograms() {
  std::vector<ProgramCode> programs;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != "anon_inode:bpf-prog") continue;
    ProgramCode code;
    bpf_prog_info info{};
    info.nr_jited_ksyms = info.nr_jited_func_lens = 1;
    info.jited_ksyms = reinterpret_cast<std::uintptr_t>(&code.begin);
    info.jited_func_lens = reinterpret_cast<std::uintptr_t>(&code.bytes);
    __u32 bytes = sizeof info;
    const int fd = std::stoi(entry.path().filename());
    if (::bpf_obj_get_info_by_fd(fd, &info, &bytes) != 0) continue;
    code.fd = fd;
    code.types = info.btf_id;
    code.name = static_cast<const char*>(info.name);
    programs.push_back(code);
  }
  return programs;
}

// A program that does nothing when profd's on_cpu_sample is entered: for that the kernel writes a
// trampoline. It is there until the second is closed.
struct Attached {
  UniqueFd program;
  UniqueFd link;
};

Attached AttachToEntryOf(const ProgramCode& target) {
  const std::array<bpf_insn, 2> instructions{
      {{.code = BPF_ALU64 | BPF_MOV | BPF_K,
        .dst_reg = BPF_REG_0,
        .src_reg = 0,
        .off = 0,
        .imm = 0},
       {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}}};
  const std::unique_ptr<btf, void (*)(btf*)> types(::btf__load_from_kernel_by_id(target.types),
                                                   ::btf__free);
  Attached attached;
  if (!types) return attached;
  const int id = ::btf__find_by_name_kind(types.get(), target.name.c_str(), BTF_KIND_FUNC);
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
              .attach_btf_id = static_cast<__u32>(id),
              .attach_prog_fd = static_cast<__u32>(target.fd));
  attached.program.Reset(::bpf_prog_load(BPF_PROG_TYPE_TRACING, "at_entry", "GPL",
                                         instructions.data(), instructions.size(), &options));
  if (attached.program.valid())
    attached.link.Reset(::bpf_raw_tracepoint_open(nullptr, attached.program.get()));
  return attached;
}

TEST(KernelSymbols, OfThisKernel) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: CAP_SYSLOG";
  const SystemClock clock;
  LiveKernelSymbols symbols{ProcFs(), clock};
  for (const std::string name : {"schedule", "do_nanosleep", "vfs_read"}) {
    const std::uint64_t address = AddressOf(name);
    if (address == 0) GTEST_SKIP() << "kernel.kptr_restrict=2 hides addresses from root, too";
    const Result<KernelSymbol> symbol = symbols.Find(address + 3);
    ASSERT_TRUE(symbol) << symbol.error().message;
    EXPECT_EQ(symbol->name, name);
    EXPECT_EQ(symbol->module, "[kernel]");
    EXPECT_EQ(symbol->begin, address);
  }
  EXPECT_EQ(symbols.reads(), 1u);
}

// Where each of profd's programs lies, and what it is called, says the kernel by another way.
TEST(KernelSymbols, OfProfdsOwnPrograms) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: to load them";
  const auto live = source::LiveSource::Start();
  ASSERT_TRUE(live) << live.error().message;
  const auto programs = CodeOfOwnPrograms();
  ASSERT_GT(programs.size(), 5u);
  const SystemClock clock;
  LiveKernelSymbols symbols{ProcFs(), clock};
  constexpr std::string_view kBegin = "bpf_prog_";
  constexpr std::size_t kTagDigits = 16;
  for (const ProgramCode& program : programs) {
    if (program.begin == 0) GTEST_SKIP() << "this kernel hides where programs are";
    SCOPED_TRACE(program.name);
    ASSERT_GT(program.bytes, 1u);
    for (const std::uint64_t address : {program.begin, program.begin + program.bytes - 1}) {
      const Result<KernelSymbol> symbol = symbols.Find(address);
      ASSERT_TRUE(symbol) << symbol.error().message;
      EXPECT_EQ(symbol->begin, program.begin);
      const std::string name(symbol->name);
      EXPECT_TRUE(name.starts_with(kBegin)) << name;
      EXPECT_TRUE(name.substr(kBegin.size() + kTagDigits).starts_with("_" + program.name)) << name;
      EXPECT_EQ(symbol->module, "[bpf]");
    }
  }
}

TEST(KernelSymbols, OfATrampoline) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: to have one written";
  const auto live = source::LiveSource::Start();
  ASSERT_TRUE(live) << live.error().message;
  const auto programs = CodeOfOwnPrograms();
  const auto target = std::ranges::find(programs, "on_cpu_sample", &ProgramCode::name);
  ASSERT_NE(target, programs.end());
  const Attached attached = AttachToEntryOf(*target);
  if (!attached.link.valid())
    GTEST_SKIP() << "this kernel attaches nothing to a program: " << std::strerror(errno);
  const auto line = FindLine([](const Line& one) {
    return one.name.starts_with("bpf_trampoline_") && one.module == "[bpf]";
  });
  ASSERT_TRUE(line && line->address != 0);
  const SystemClock clock;
  LiveKernelSymbols symbols{ProcFs(), clock};
  const Result<KernelSymbol> symbol = symbols.Find(line->address + 1);
  ASSERT_TRUE(symbol) << symbol.error().message;
  EXPECT_EQ(symbol->name, line->name);
  EXPECT_EQ(symbol->module, "[bpf]");
}

TEST(KernelSymbols, OfAModule) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: CAP_SYSLOG";
  const auto line = FindLine([](const Line& one) {
    return (one.type == 't' || one.type == 'T') && one.address != 0 && !one.module.empty() &&
           !one.module.starts_with("[bpf]") && !one.module.starts_with("[__builtin");
  });
  if (!line) GTEST_SKIP() << "no module is loaded";
  const SystemClock clock;
  LiveKernelSymbols symbols{ProcFs(), clock};
  const Result<KernelSymbol> symbol = symbols.Find(line->address);
  ASSERT_TRUE(symbol) << symbol.error().message;
  EXPECT_EQ(symbol->begin, line->address);
  EXPECT_EQ(symbol->module, line->module);
}

TEST(KernelSymbols, HiddenFromUnprivilegedUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: to become another user";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kOverflowId = 65534;
    if (::setresuid(kOverflowId, kOverflowId, kOverflowId) != 0) ::_exit(3);
    if (AddressOf("schedule") != 0) ::_exit(2);
    const SystemClock clock;
    LiveKernelSymbols symbols{ProcFs(), clock};
    const Result<KernelSymbol> symbol = symbols.Find(0xffffffff81000000);
    const std::string expected =
        "kernel addresses are hidden: needs CAP_SYSLOG or kernel.kptr_restrict=0";
    ::_exit(!symbol && symbol.error().message == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this kernel shows its addresses to everybody";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace profd::symbolize
