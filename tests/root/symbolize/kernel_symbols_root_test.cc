// The kernel's own symbols, as root and as nobody.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <string>

#include "daemon/base/clock.h"
#include "daemon/base/proc_fs.h"
#include "daemon/symbolize/kernel_symbols.h"

namespace profd::symbolize {
namespace {

// Addresses of a function, as /proc/kallsyms lists it.
std::uint64_t AddressOf(const std::string& name) {
  const Result<std::string> text = ProcFs().Read("kallsyms");
  if (!text) return 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 19 && line.substr(19) == name) return std::stoull(line, nullptr, 16);
  }
  return 0;
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

TEST(KernelSymbols, HiddenFromNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root: to become nobody";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setresuid(kNobody, kNobody, kNobody) != 0) ::_exit(3);
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
