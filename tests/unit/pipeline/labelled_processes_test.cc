#include "daemon/pipeline/labelled_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/limits.h"
#include "tests/unit/source/fake_proc.h"

namespace profd::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::string_literals;

// What runtimes say; of a container that was looked for only when it was waited for.
class SlowRuntime : public process::ContainerNames {
 public:
  std::shared_ptr<const process::ContainerLabels> Find(const std::string& id) override {
    return waited_for && id == kId ? labels : nullptr;
  }
  bool Await(std::chrono::milliseconds /*timeout*/) override { return waited_for = true; }

  static constexpr const char* kId =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  bool waited_for = false;
  std::shared_ptr<const process::ContainerLabels> labels =
      std::make_shared<process::ContainerLabels>(
          process::ContainerLabels{{{"k8s.pod.name", "cart-5f"}}, "cart", "1.4"});
};

class LabelledProcessesTest : public ::testing::Test {
 protected:
  LabelledProcessesTest() {
    Add(11, "python3", "OTEL_SERVICE_NAME=cart\0OTEL_RESOURCE_ATTRIBUTES=service.version=1.4\0"s);
    Add(12, "python3", "OTEL_SERVICE_NAME=cart\0OTEL_RESOURCE_ATTRIBUTES=service.version=2.0\0"s);
    Add(13, "python3", "OTEL_SERVICE_NAME=checkout\0"s);
    Add(14, "nginx", "PATH=/bin\0"s);
  }
  // Owned by this test's own user alone.
  void Add(std::uint32_t pid, const std::string& comm, const std::string& environment) const {
    const std::string directory = std::to_string(pid);
    fake_.AddProcess(pid, 1'000'000'000, comm);
    fake_.Write(directory + "/environ", environment);
    const std::string uid = std::to_string(::geteuid());
    fake_.Write(directory + "/status", "Name:\t" + comm + "\nUid:\t" + uid + "\t" + uid + "\t" +
                                           uid + "\t" + uid + "\nCapPrm:\t0000000000000000\n");
  }
  Result<std::vector<std::uint32_t>> Find(std::vector<std::string> labels) {
    session::Target target{.kind = session::TargetKind::kLabels, .labels = std::move(labels)};
    target.uid = uid_;
    LabelledProcesses processes({.proc = fake_.proc(),
                                 .readers = fake_.readers(),
                                 .containers = &runtime_,
                                 .host = "web-1",
                                 .passwd = "/nonexistent"});
    return processes.Find(target);
  }
  std::vector<std::uint32_t> Found(std::vector<std::string> labels) {
    const auto found = Find(std::move(labels));
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? *found : std::vector<std::uint32_t>();
  }
  Error ErrorOf(std::vector<std::string> labels) {
    const auto found = Find(std::move(labels));
    EXPECT_FALSE(found);
    return found ? Error{} : found.error();
  }

  const source::FakeProc fake_;
  SlowRuntime runtime_;
  std::optional<std::uint32_t> uid_;
};

TEST_F(LabelledProcessesTest, TheEnvironmentAndTheProgramNameThem) {
  EXPECT_THAT(Found({"service.name=cart"}), ElementsAre(11u, 12u));
  EXPECT_THAT(Found({"service.name=c*"}), ElementsAre(11u, 12u, 13u));
  EXPECT_THAT(Found({"service.name=nginx"}), ElementsAre(14u));
  EXPECT_THAT(Found({"service.name=nginx", "service.name=checkout"}), ElementsAre(13u, 14u));
  EXPECT_THAT(Found({"service.name=cart", "service.version=2.*"}), ElementsAre(12u));
  EXPECT_THAT(Found({"process.executable.name=python3", "host.name=web-1"}),
              ElementsAre(11u, 12u, 13u));
}

TEST_F(LabelledProcessesTest, ARuntimeThatHasNotAnsweredIsWaitedFor) {
  Add(15, "server", "");
  fake_.Write("15/cgroup", "0::/kubepods.slice/cri-containerd-"s + SlowRuntime::kId + ".scope\n");
  EXPECT_THAT(Found({"k8s.pod.name=cart-*"}), ElementsAre(15u));
  EXPECT_TRUE(runtime_.waited_for);
  EXPECT_THAT(Found({"service.name=cart", "service.version=1.4"}), ElementsAre(11u, 15u));
}

TEST_F(LabelledProcessesTest, WithoutUnknownContainersNoRuntimeIsWaitedFor) {
  EXPECT_THAT(Found({"service.name=checkout"}), ElementsAre(13u));
  EXPECT_FALSE(runtime_.waited_for);
}

TEST_F(LabelledProcessesTest, WhatThereIsIsSaidWhereNothingMatches) {
  const Error error = ErrorOf({"service.name=card"});
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "no process has service.name=card");
  EXPECT_EQ(error.hint, "service.name is cart, checkout, nginx here");
  EXPECT_EQ(ErrorOf({"service.name=cart", "service.version=3"}).hint,
            "service.version is 1.4, 2.0 here");
  EXPECT_EQ(ErrorOf({"k8s.pod.name=x"}).hint,
            "profctl list --json shows the labels of the history");
  EXPECT_EQ(ErrorOf({"nothing"}).code, ErrorCode::kInvalidArgument);
}

TEST_F(LabelledProcessesTest, WhatProcessesSayIsFitForATerminal) {
  Add(16, "evil", "OTEL_RESOURCE_ATTRIBUTES=service.version=%1b[2J%0a\0"s);
  const Error error = ErrorOf({"service.version=\n9"});
  EXPECT_EQ(error.message, "no process has service.version=?9");
  EXPECT_THAT(error.hint, HasSubstr("[2J"));
  EXPECT_THAT(error.hint, Not(HasSubstr("\x1b")));
  EXPECT_THAT(error.hint, Not(HasSubstr("\n")));
}

TEST_F(LabelledProcessesTest, ManyValuesAreCutOff) {
  for (std::uint32_t pid = 20; pid < 40; ++pid) Add(pid, "worker" + std::to_string(pid), "");
  EXPECT_THAT(ErrorOf({"service.name=x"}).hint, HasSubstr(", ... here"));
}

TEST_F(LabelledProcessesTest, AUserLearnsNothingOfProcessesOfOthers) {
  fake_.Write("12/status",
              "Name:\tx\nUid:\t4200100\t4200100\t4200100\t4200100\nCapPrm:\t0000000000000000\n");
  uid_ = ::geteuid();
  EXPECT_THAT(Found({"service.name=cart"}), ElementsAre(11u));
  const Error error = ErrorOf({"service.version=2.0"});
  EXPECT_EQ(error.message, "no process of yours has service.version=2.0");
  EXPECT_EQ(error.hint, "service.version is 1.4 here");
  uid_ = 4200200;
  EXPECT_EQ(ErrorOf({"service.name=cart"}).hint,
            "profctl list --json shows the labels of the history");
}

TEST_F(LabelledProcessesTest, ThreadsOfTheKernelAndProfdItselfAreNone) {
  fake_.AddProcess(2, 0, "kthreadd");
  fake_.Write("2/cmdline", "");
  std::filesystem::remove(fake_.root() / "2/exe");
  std::filesystem::create_symlink("14", fake_.root() / "self");
  EXPECT_EQ(ErrorOf({"service.name=kernel"}).hint, "service.name is cart, checkout here");
  EXPECT_EQ(ErrorOf({"service.name=nginx"}).code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace profd::pipeline
