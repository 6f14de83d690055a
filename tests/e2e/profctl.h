// Profctl: runs the real profctl (and through it the real profd) for end-to-end tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "client/format/json.h"
#include "profd/v1/profile.pb.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace profd::e2e {

inline std::string Binary(const std::string& name) {
  return test::BinaryDirectory() + "/bin/" + name;
}

inline std::string TestProgram(const std::string& name) {
  return test::BinaryDirectory() + "/testprogs/" + name;
}

// Skips without root; gives each test an empty directory and no daemon from the environment.
class ProfctlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: real BPF programs are loaded";
    std::string pattern = std::filesystem::temp_directory_path() / "profd-e2e-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    options_.environment["PROFD_HOST"] = "";
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  [[nodiscard]] std::string File(const std::string& name) const { return directory_ / name; }

  [[nodiscard]] static std::vector<std::string> Command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Binary("profctl"));
    return arguments;
  }
  [[nodiscard]] testing::Outcome Profctl(std::vector<std::string> arguments) const {
    return testing::Run(Command(std::move(arguments)), options_);
  }
  [[nodiscard]] Result<testing::Subprocess> StartProfctl(std::vector<std::string> arguments) const {
    return testing::Subprocess::Start(Command(std::move(arguments)), options_);
  }

  [[nodiscard]] static v1::Profile ReadProfile(const std::string& path) {
    std::ifstream in(path);
    auto profile = client::ReadJson(in);
    EXPECT_TRUE(profile.ok()) << path << ": " << (profile ? "" : profile.error().message);
    return profile ? *profile : v1::Profile{};
  }
  // What `profctl collect` measures of a process in so many seconds, at 500 Hz.
  [[nodiscard]] v1::Profile CollectProcess(const std::string& pid, const std::string& seconds,
                                           const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"collect",       "-p", pid, "-d", seconds, "-F", "500", "-o",
                                       File("out.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto outcome = Profctl(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return ReadProfile(File("out.json"));
  }
  [[nodiscard]] static std::string ReadFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  [[nodiscard]] std::set<std::string> FilesLeft() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  static void RemoveFile(const std::string& path) { std::filesystem::remove(path); }

  std::filesystem::path directory_;
  testing::SubprocessOptions options_;
};

// Members of groups count one by one.
inline std::size_t ProcessesCalled(const v1::Profile& profile, const std::string& comm) {
  std::size_t count = 0;
  for (const auto& process : profile.processes())
    if (process.comm() == comm) count += std::max(process.group_size(), 1u);
  return count;
}

// The ns of each wait reason and state in which `function` stands on the stack.
struct FunctionTime {
  std::uint64_t on_cpu_ns = 0;
  std::uint64_t runnable_ns = 0;
  std::map<v1::WaitReason, std::uint64_t> blocked_ns;
  std::uint64_t samples = 0;
};

inline FunctionTime TimeIn(const v1::Profile& profile, const std::string& function) {
  std::vector<char> holds(static_cast<std::size_t>(profile.nodes_size()) + 1, 0);
  for (int i = 0; i < profile.nodes_size(); ++i) {
    const auto& node = profile.nodes(i);
    const bool named = profile.frames(static_cast<int>(node.frame())).name() == function;
    holds[static_cast<std::size_t>(i) + 1] = static_cast<char>(named || holds[node.parent()] != 0);
  }
  FunctionTime time;
  const auto& samples = profile.samples();
  for (int i = 0; i < samples.time_ns_size(); ++i) {
    if (holds[samples.node(i)] == 0) continue;
    time.samples += samples.count(i);
    const std::uint64_t weight = samples.weight_ns(i);
    if (samples.state(i) == v1::STATE_ON_CPU) time.on_cpu_ns += weight;
    if (samples.state(i) == v1::STATE_RUNNABLE) time.runnable_ns += weight;
    if (samples.state(i) == v1::STATE_BLOCKED) time.blocked_ns[samples.wait(i)] += weight;
  }
  return time;
}

inline std::uint64_t ClockSum(const v1::ThreadClock& clock) {
  return clock.on_cpu_ns() + clock.runnable_after_wakeup_ns() +
         clock.runnable_after_preemption_ns() + clock.runnable_after_yield_ns() +
         clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
         clock.blocked_iowait_ns() + clock.stolen_exact_ns() + clock.stolen_spread_ns();
}

}  // namespace profd::e2e
