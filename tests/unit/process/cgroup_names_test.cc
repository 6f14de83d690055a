#include "daemon/process/cgroup_names.h"

#include <gtest/gtest.h>

namespace profd::process {
namespace {

const std::string kId = "5d6fa5e5d3c0f2ad1b2a64a6e7d22a1ee4a3aa0a1c1a2d6f8f2c19e6b1e0c3f7";
const std::string kOther = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const std::string kPod = "pod1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809";

TEST(CgroupNames, NoContainer) {
  for (const char* path : {"", "/", "/init.scope", "/system.slice/redis-server.service",
                           "/user.slice/user-1000.slice/session-3.scope", "/docker", "/lxc"})
    EXPECT_EQ(ContainerOf(path), "") << path;
  EXPECT_EQ(ContainerOf("/docker/" + kId.substr(1)), "") << "one digit short";
  EXPECT_EQ(ContainerOf("/docker/" + kId.substr(1) + "G"), "");
}

TEST(CgroupNames, Docker) {
  EXPECT_EQ(ContainerOf("/system.slice/docker-" + kId + ".scope"), kId);
  EXPECT_EQ(ContainerOf("/docker/" + kId), kId);
  EXPECT_EQ(ContainerOf("/../../docker/" + kId), kId) << "seen from another cgroup namespace";
  EXPECT_EQ(ContainerOf("/docker/" + kId + "/system.slice/nginx.service"), kId)
      << "with systemd inside";
  EXPECT_EQ(ContainerOf("/docker/" + kOther + "/docker/" + kId), kId) << "the innermost one";
}

TEST(CgroupNames, Kubernetes) {
  const std::string slice = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + kPod;
  EXPECT_EQ(ContainerOf(slice + ".slice/cri-containerd-" + kId + ".scope"), kId);
  EXPECT_EQ(ContainerOf(slice + ".slice/crio-" + kId + ".scope"), kId);
  EXPECT_EQ(ContainerOf(slice + ".slice/crio-" + kId + ".scope/container"), kId);
  EXPECT_EQ(ContainerOf(slice + ".slice/docker-" + kId + ".scope"), kId);
  EXPECT_EQ(ContainerOf("/kubepods/besteffort/" + kPod + "/" + kId), kId);
  EXPECT_EQ(ContainerOf("/system.slice/containerd.service/kubepods-burstable-" + kPod +
                        ".slice:cri-containerd:" + kId),
            kId);
  EXPECT_EQ(ContainerOf("/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-" + kPod +
                        ".slice/cri-containerd-" + kId + ".scope"),
            kId)
      << "kind";
}

TEST(CgroupNames, PodmanAndOthers) {
  EXPECT_EQ(ContainerOf("/machine.slice/libpod-" + kId + ".scope/container"), kId);
  EXPECT_EQ(ContainerOf("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId +
                        ".scope"),
            kId);
  EXPECT_EQ(ContainerOf("/machine.slice/libpod-conmon-" + kId + ".scope"), "");
  EXPECT_EQ(ContainerOf("/kubepods.slice/crio-conmon-" + kId + ".scope"), "");
  EXPECT_EQ(ContainerOf("/system.slice/nerdctl-" + kId + ".scope"), kId);
  EXPECT_EQ(ContainerOf("/ecs/8f2c19e6b1e0c3f7/" + kId), kId);
  EXPECT_EQ(ContainerOf("/lxc.payload.web1/system.slice/nginx.service"), "web1");
  EXPECT_EQ(ContainerOf("/lxc/web1"), "web1");
}

TEST(CgroupNames, Units) {
  EXPECT_EQ(UnitOf("/system.slice/redis-server.service"), "redis-server.service");
  EXPECT_EQ(UnitOf("/system.slice/system-postgresql.slice/postgresql@15-main.service"),
            "postgresql@15-main.service");
  EXPECT_EQ(UnitOf("/init.scope"), "init.scope");
  EXPECT_EQ(UnitOf("/user.slice/user-1000.slice/session-3.scope"), "session-3.scope");
  EXPECT_EQ(UnitOf("/user.slice/user-1000.slice/user@1000.service/app.slice/app-code.scope"),
            "user@1000.service");
  EXPECT_EQ(UnitOf("/system.slice/docker-" + kId + ".scope/system.slice/nginx.service"),
            "docker-" + kId + ".scope");
  EXPECT_EQ(UnitOf("/system.slice/_cpu.service"), "cpu.service") << "as systemd writes \"cpu.\"";
}

TEST(CgroupNames, NoUnit) {
  const std::string pod = "/kubepods/besteffort/" + kPod + "/" + kId;
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/system.slice"), "/docker/" + kId, pod,
        std::string("/my.service.d/x"), std::string("/.service")})
    EXPECT_EQ(UnitOf(path), "") << path;
}

TEST(PodUidOf, PodsOfBothDriversOfKubelet) {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  EXPECT_EQ(PodUidOf("/kubepods/burstable/pod" + uid + "/" + std::string(64, 'a')), uid);
  EXPECT_EQ(PodUidOf("/kubepods/pod" + uid), uid);
  EXPECT_EQ(PodUidOf("/kubepods.slice/kubepods-burstable.slice/"
                     "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
                     "cri-containerd-" +
                     std::string(64, 'a') + ".scope"),
            uid);
  EXPECT_EQ(PodUidOf("/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice"),
            uid);
  EXPECT_EQ(PodUidOf("/system.slice/kubelet.service/kubepods/besteffort/pod" + uid), uid);
}

TEST(PodUidOf, OtherPathsAreNoPods) {
  for (const char* path : {"", "/", "/system.slice/cart.service", "/kubepods/podshort",
                           "/kubepods/pod0A1B2C3D-1111-2222-3333-444455556666",
                           "/kubepods/pod0a1b2c3d_1111_2222_3333_444455556666",
                           "/x/mypod0a1b2c3d-1111-2222-3333-444455556666",
                           "/user.slice/user-pod0a1b2c3d_1111_2222_3333_444455556666.slice"})
    EXPECT_EQ(PodUidOf(path), "") << path;
}

}  // namespace
}  // namespace profd::process
