#include "daemon/containers/cri_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "daemon/base/unique_fd.h"
#include "tests/unit/containers/fake_runtime.h"

namespace profd::containers {
namespace {

TEST(CriClient, ListsContainersWithTheirPods) {
  FakeRuntime runtime;
  runtime.AddPod("p1", "cart-0");
  runtime.AddContainer("c1", "p1", "shop/cart:1.2");
  runtime.AddContainer("c2", "gone", "x");
  CriClient client(runtime.socket());
  const auto listing = client.List();
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_EQ(listing->runtime, "fake 1");
  EXPECT_EQ(listing->containers.size(), 3u);
  const ContainerFacts& cart = listing->containers.at("c1");
  EXPECT_EQ(cart.pod, "cart-0");
  EXPECT_EQ(cart.pod_namespace, "shop");
  EXPECT_EQ(cart.pod_uid, "uid-of-cart-0");
  EXPECT_EQ(cart.container, "main");
  EXPECT_EQ(cart.image, "shop/cart:1.2");
  EXPECT_EQ(cart.pod_labels.at("app"), "cart");
  EXPECT_EQ(listing->containers.at("p1").container, "");
  EXPECT_EQ(listing->containers.at("c2").pod, "");
  EXPECT_EQ(runtime.authority, "localhost");
}

TEST(CriClient, AnImageThatIsAnIdGetsItsName) {
  FakeRuntime runtime;
  runtime.AddContainer("c1", "", "sha256:ab");
  runtime.AddContainer("c2", "", "sha256:cd");
  runtime.AddContainer("c3", "", "sha256:ab");
  runtime.containers.mutable_containers(2)->mutable_image()->set_user_specified_image("as/said:1");
  auto& image = *runtime.images.add_images();
  image.set_id("sha256:ab");
  image.add_repo_tags("shop/cart:1.2");
  CriClient client(runtime.socket());
  const auto listing = client.List();
  ASSERT_TRUE(listing.ok());
  EXPECT_EQ(listing->containers.at("c1").image, "shop/cart:1.2");
  EXPECT_EQ(listing->containers.at("c2").image, "");
  EXPECT_EQ(listing->containers.at("c3").image, "as/said:1");
}

TEST(CriClient, TooManyContainersAreCut) {
  FakeRuntime runtime;
  for (std::size_t i = 0; i < CriClient::kMaxContainers + 10; ++i)
    runtime.AddContainer("c" + std::to_string(i), "p", "i");
  runtime.AddContainer(std::string(1'000, 'c'), "p", "i");
  CriClient client(runtime.socket());
  const auto listing = client.List();
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_TRUE(listing->cut);
  EXPECT_EQ(listing->containers.size(), CriClient::kMaxContainers);
}

TEST(CriClient, AnAnswerBeyondTheBoundIsRefused) {
  FakeRuntime runtime;
  runtime.AddContainer("c", "p", std::string(CriClient::kMaxAnswerBytes + 1, 'x'));
  CriClient client(runtime.socket());
  EXPECT_FALSE(client.List().ok());
}

TEST(CriClient, TextsAreCut) {
  FakeRuntime runtime;
  runtime.AddPod("p", std::string(100'000, 'x'));
  CriClient client(runtime.socket());
  EXPECT_LE(client.List()->containers.at("p").pod.size(), 1'024u);
}

TEST(CriClient, ARuntimeThatHangsIsGivenUp) {
  FakeRuntime runtime;
  runtime.hangs = true;
  CriClient client(runtime.socket());
  const auto listing = client.List();
  ASSERT_FALSE(listing.ok());
  EXPECT_EQ(listing.error().message, "it does not answer");
  runtime.hangs = false;
  EXPECT_TRUE(client.List().ok());
}

TEST(CriClient, CancelEndsACallAndAllLaterOnes) {
  FakeRuntime runtime;
  runtime.hangs = true;
  CriClient client(runtime.socket());
  std::thread caller([&client] { EXPECT_FALSE(client.List().ok()); });
  client.Cancel();
  caller.join();
  runtime.hangs = false;
  EXPECT_FALSE(client.List().ok());
}

TEST(CriClient, WithoutASocketThereIsNoRuntime) {
  FakeRuntime runtime;
  CriClient none((runtime.folder() / "none.sock").string());
  EXPECT_EQ(none.List().error().code, ErrorCode::kNotFound);
  std::ofstream(runtime.folder() / "file") << "x";
  CriClient file((runtime.folder() / "file").string());
  EXPECT_EQ(file.List().error().code, ErrorCode::kInvalidArgument);
}

TEST(CriClient, GarbageIsAnError) {
  FakeRuntime runtime;
  const std::string path = (runtime.folder() / "garbage.sock").string();
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  std::jthread speaker([&listener](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const UniqueFd client(::accept(listener.get(), nullptr, nullptr));
      if (!client.valid()) return;
      const std::string nonsense(4'096, '\xa7');
      (void)::send(client.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    }
  });
  CriClient client(path);
  EXPECT_FALSE(client.List().ok());
  speaker.request_stop();
  ::shutdown(listener.get(), SHUT_RDWR);
}

}  // namespace
}  // namespace profd::containers
