#include <filesystem>
#include <fstream>
#include <string>

#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

// The kernel refuses a program that takes its verifier more instructions than this
// (BPF_COMPLEXITY_LIMIT_INSNS). Another kernel or compiler needs other numbers: four times as many
// still load.
constexpr std::uint64_t kLimit = 1'000'000;
constexpr std::uint64_t kMost = kLimit / 4;

class LoadingTest : public LiveTest {};

TEST_F(LoadingTest, NoProgramIsNearTheLimitOfTheVerifier) {
  std::size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    std::string name;
    std::string program;
    std::string value;
    while (info >> name >> value) {
      if (name == "prog_id:") program = value;
      if (name != "verified_insns:") continue;
      ++programs;
      EXPECT_LT(std::stoull(value), kMost)
          << "program " << program << ": bpf/README.md says what helps";
    }
  }
  // Of the hooks of switches, processes, samples and iterators.
  EXPECT_GT(programs, 10u);
}

}  // namespace
}  // namespace profd::source
