#include "daemon/containers/container_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/temp_folder.h"
#include "tests/unit/containers/fake_runtime.h"

namespace profd::containers {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{20'000};

DirectorySettings SettingsFor(const FakeRuntime& runtime) {
  return {.sockets = {runtime.socket()},
          .pod_labels = {"app"},
          .node = "node-1",
          .soonest = milliseconds(1),
          .again = milliseconds(0)};
}

TEST(ContainerDirectory, LooksForWhatIsNotKnown) {
  FakeRuntime runtime;
  runtime.AddPod("p1", "cart-0");
  ContainerDirectory directory(SettingsFor(runtime));
  (void)directory.Find("p1");
  ASSERT_TRUE(directory.Await(kLong));
  const auto pod = directory.Find("p1");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->labels.at("k8s.pod.name"), "cart-0");
  EXPECT_EQ(pod->labels.at("k8s.pod.label.app"), "cart");
  EXPECT_EQ(pod->labels.at("k8s.node.name"), "node-1");
  EXPECT_EQ(pod->service, "cart");
  EXPECT_EQ(directory.Describe(),
            std::vector{"fake 1 at " + runtime.socket() + ": 1 containers and pods"});
  runtime.AddContainer("c1", "p1", "shop/cart:1");
  EXPECT_EQ(directory.Find("c1"), nullptr);
  ASSERT_TRUE(directory.Await(kLong));
  ASSERT_NE(directory.Find("c1"), nullptr);
  EXPECT_EQ(directory.Find("c1")->labels.at("container.image.name"), "shop/cart");
}

TEST(ContainerDirectory, WhatNoRuntimeKnowsIsLookedForAgainMuchLater) {
  FakeRuntime runtime;
  auto settings = SettingsFor(runtime);
  settings.again = std::chrono::hours(1);
  ContainerDirectory directory(settings);
  (void)directory.Find("docker");
  ASSERT_TRUE(directory.Await(kLong));
  const int lists = runtime.lists;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(directory.Find("docker"), nullptr);
  ASSERT_TRUE(directory.Await(kLong));
  EXPECT_EQ(runtime.lists, lists);
}

TEST(ContainerDirectory, KeepsWhatItKnowsWhileTheRuntimeIsGone) {
  FakeRuntime runtime;
  runtime.AddPod("p1", "cart-0");
  ContainerDirectory directory(SettingsFor(runtime));
  (void)directory.Find("p1");
  ASSERT_TRUE(directory.Await(kLong));
  runtime.Stop();
  (void)directory.Find("other");
  ASSERT_TRUE(directory.Await(kLong));
  EXPECT_NE(directory.Find("p1"), nullptr);
}

TEST(ContainerDirectory, EndsWhileTheRuntimeHangs) {
  FakeRuntime runtime;
  runtime.hangs = true;
  {
    ContainerDirectory directory(SettingsFor(runtime));
    EXPECT_EQ(directory.Find("c"), nullptr);  // at once
  }
}

TEST(ContainerDirectory, WithoutARuntimeNothingIsKnown) {
  ContainerDirectory none(DirectorySettings{});
  EXPECT_EQ(none.Find("c"), nullptr);
  EXPECT_TRUE(none.Await(kLong));
  EXPECT_TRUE(none.Describe().empty());
  ContainerDirectory missing({.sockets = {"/nonexistent/cri.sock"}, .pod_labels = {}, .node = ""});
  EXPECT_EQ(missing.Find("c"), nullptr);
  EXPECT_TRUE(missing.Await(kLong));
  EXPECT_TRUE(missing.Describe().empty());
}

TEST(ContainerDirectory, SaysWhyARuntimeDoesNotAnswerBehindItsPath) {
  const test::TempFolder folder;
  const std::string file = folder.Write("cri.sock", "");
  ContainerDirectory directory({.sockets = {file}, .pod_labels = {}, .node = ""});
  (void)directory.Find("c");
  ASSERT_TRUE(directory.Await(kLong));
  EXPECT_EQ(directory.Describe(), std::vector{file + ": it is no socket"});
}

}  // namespace
}  // namespace profd::containers
