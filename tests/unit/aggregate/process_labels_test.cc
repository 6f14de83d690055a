#include "daemon/aggregate/process_labels.h"

#include <gtest/gtest.h>

namespace profd::aggregate {
namespace {

using Map = std::map<std::string, std::string>;

ProfileProcess Cart() {
  ProfileProcess process;
  process.comm = "cart-main";
  process.executable = "/opt/cart/bin/cart-server";
  process.build_id = "feed01";
  process.cgroup = "/system.slice/cart.service";
  process.unit = "cart.service";
  process.owner = {1000, true, "shop"};
  return process;
}

TEST(ProcessLabels, FollowFromTheProcess) {
  EXPECT_EQ(ProcessLabels(Cart(), "web-1"), (Map{{"host.name", "web-1"},
                                                 {"process.executable.build_id.gnu", "feed01"},
                                                 {"process.executable.name", "cart-server"},
                                                 {"process.owner", "shop"},
                                                 {"service.name", "cart"},
                                                 {"systemd.unit", "cart.service"}}));
}

TEST(ProcessLabels, WhatIsGivenComesFirst) {
  ProfileProcess process = Cart();
  process.executable = "/usr/bin/cart (deleted)";
  EXPECT_EQ(ProcessLabel(process, "web-1", "process.executable.name"), "cart");
  EXPECT_EQ(ProcessLabel(process, "web-1", "service.name"), "cart");
  process.labels = {{"service.name", "shop-cart"}, {"host.name", "vm"}, {"team", "a"}};
  const Map labels = ProcessLabels(process, "web-1");
  EXPECT_EQ(labels.at("service.name"), "shop-cart");
  EXPECT_EQ(labels.at("host.name"), "vm");
  EXPECT_EQ(labels.at("team"), "a");
  EXPECT_EQ(ProcessLabel(process, "web-1", "systemd.unit"), "cart.service");
  EXPECT_EQ(ProcessLabel(process, "web-1", "other"), "");
}

TEST(ProcessLabels, APodHasANode) {
  ProfileProcess process = Cart();
  EXPECT_EQ(ProcessLabel(process, "node-1", "k8s.node.name"), "");
  process.cgroup = "/kubepods/pod0a1b2c3d-1111-2222-3333-444455556666/" + std::string(64, 'a');
  process.container = std::string(64, 'a');
  EXPECT_EQ(ProcessLabel(process, "node-1", "k8s.node.name"), "node-1");
  EXPECT_EQ(ProcessLabel(process, "node-1", "k8s.pod.uid"), "0a1b2c3d-1111-2222-3333-444455556666");
  process.labels = {{"k8s.node.name", "other"}};
  EXPECT_EQ(ProcessLabel(process, "node-1", "k8s.node.name"), "other");
}

TEST(GivenLabels, AServiceNamesItselfAndTheRuntimeNamesThePod) {
  const Map resource{{"service.name", "cart"},
                     {"k8s.pod.name", "as-it-says"},
                     {"k8s.namespace.name", "shop"},
                     {"team", "a"}};
  const process::ContainerLabels container{
      .labels = {{"k8s.pod.name", "cart-5f-x"}, {"container.image.name", "shop/cart"}},
      .service = "from-a-label",
      .version = "7"};
  ProfileProcess process;
  GiveLabels(&resource, &container, process);
  EXPECT_EQ(process.labels, (Map{{"__resource.team", "a"},
                                 {"container.image.name", "shop/cart"},
                                 {"k8s.namespace.name", "shop"},
                                 {"k8s.pod.name", "cart-5f-x"},
                                 {"service.name", "cart"},
                                 {"service.version", "7"}}));
}

TEST(GivenLabels, AServiceSaysItsZone) {
  const Map resource{{"cloud.availability_zone", "eu-1a"}, {"cloud.region", "eu-1"}};
  ProfileProcess process;
  GiveLabels(&resource, nullptr, process);
  EXPECT_EQ(process.labels,
            (Map{{"__resource.cloud.region", "eu-1"}, {"cloud.availability_zone", "eu-1a"}}));
}

TEST(GivenLabels, ANameThatOnlySaysThatThereIsNoneIsNone) {
  const Map resource{{"service.name", "unknown_service:java"}};
  ProfileProcess process;
  process.executable = "/usr/bin/java";
  GiveLabels(&resource, nullptr, process);
  EXPECT_EQ(ProcessLabel(process, "", "service.name"), "java");
  const process::ContainerLabels container{.labels = {}, .service = "shop", .version = ""};
  GiveLabels(&resource, &container, process);
  EXPECT_EQ(ProcessLabel(process, "", "service.name"), "shop");
}

TEST(GivenLabels, OthersAreBounded) {
  Map resource;
  for (int i = 0; i < 60; ++i) resource["x" + std::to_string(i)] = std::string(5'000, 'v');
  ProfileProcess process;
  GiveLabels(&resource, nullptr, process);
  EXPECT_EQ(process.labels.size(), 16u);
  EXPECT_EQ(process.labels.begin()->second.size(), 1'024u);
}

TEST(ProcessLabels, TheKeyOfAServiceIsEmptyWhereNothingIsGiven) {
  ProfileProcess process = Cart();
  process.labels = {{"service.instance.id", "7"}};
  EXPECT_EQ(ServiceKey(process), "");
  process.labels["service.version"] = "1";
  const std::string one = ServiceKey(process);
  process.labels["service.version"] = "2";
  EXPECT_NE(ServiceKey(process), one);
}

TEST(ProcessLabels, OnlyWhatIsSharedIsKept) {
  Map labels{{"a", "1"}, {"b", "2"}, {"c", "3"}};
  KeepShared({{"a", "1"}, {"b", "0"}}, labels);
  EXPECT_EQ(labels, (Map{{"a", "1"}}));
}

}  // namespace
}  // namespace profd::aggregate
