#include "daemon/fleet/profile/labels.h"

#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

aggregate::ProfileProcess Cart() {
  aggregate::ProfileProcess process;
  process.shown_pid = 4242;
  process.comm = "cart-main";
  process.command_line = "/opt/cart --secret=x";
  process.executable = "/opt/cart/bin/cart-server";
  process.build_id = "feed01";
  process.cgroup = "/system.slice/cart.service";
  process.unit = "cart.service";
  process.owner = {1000, true, "shop"};
  return process;
}

TEST(LabelsTest, NamesAreThoseOfOpenTelemetry) {
  const Labels labels = LabelsOf(Cart(), "web-1");
  EXPECT_EQ(labels, (Labels{{"__process.cgroup", "/system.slice/cart.service"},
                            {"__process.comm", "cart-main"},
                            {"__process.command_line", "/opt/cart --secret=x"},
                            {"__process.executable.path", "/opt/cart/bin/cart-server"},
                            {"__process.owner.uid", "1000"},
                            {"__process.pid", "4242"},
                            {"host.name", "web-1"},
                            {"process.executable.build_id.gnu", "feed01"},
                            {"process.executable.name", "cart-server"},
                            {"process.owner", "shop"},
                            {"service.name", "cart"},
                            {"systemd.unit", "cart.service"}}));
}

TEST(LabelsTest, TheServiceIsTheUnitElseTheProgramElseTheKernel) {
  auto process = Cart();
  process.unit = "session-3.scope";
  EXPECT_EQ(LabelsOf(process, "").at("service.name"), "cart-server");
  process.unit = "containerd.service";
  process.container = std::string(64, 'a');
  EXPECT_EQ(LabelsOf(process, "").at("service.name"), "cart-server");
  EXPECT_EQ(LabelsOf(process, "").at("container.id"), std::string(64, 'a'));
  process.executable.clear();
  EXPECT_EQ(LabelsOf(process, "").at("service.name"), "cart-main");
  aggregate::ProfileProcess kernel;
  kernel.comm = "kworker/3:1";
  EXPECT_EQ(LabelsOf(kernel, "").at("service.name"), "kernel");
}

TEST(LabelsTest, AGroupHasNoPid) {
  auto process = Cart();
  process.group_size = 12;
  EXPECT_FALSE(LabelsOf(process, "").contains("__process.pid"));
}

TEST(LabelsTest, ValuesOfOthersAreBoundedAndUtf8) {
  auto process = Cart();
  process.command_line = std::string(10'000, 'x');
  process.owner.user = "a\xff";
  const Labels labels = LabelsOf(process, "");
  EXPECT_EQ(labels.at("__process.command_line").size(), 1024u);
  EXPECT_EQ(labels.at("process.owner"), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace profd::fleet
