#include "daemon/containers/container_labels.h"

#include <gtest/gtest.h>

namespace profd::containers {
namespace {

using Map = std::map<std::string, std::string>;

TEST(ParseImage, NameAndTag) {
  const auto parts = [](const char* image) {
    const ImageName name = ParseImage(image);
    return name.name + " " + name.tag;
  };
  EXPECT_EQ(parts("shop/cart:1.2"), "shop/cart 1.2");
  EXPECT_EQ(parts("registry:5000/shop/cart"), "registry:5000/shop/cart ");
  EXPECT_EQ(parts("registry:5000/shop/cart:1.2@sha256:ab"), "registry:5000/shop/cart 1.2");
  EXPECT_EQ(parts("cart@sha256:ab"), "cart ");
  EXPECT_EQ(parts(""), " ");
}

TEST(OwnerOf, IsInTheNameOfThePodWhereItsLabelsSaySo) {
  const Map deployment{{"pod-template-hash", "5d8f7c9b6d"}};
  EXPECT_EQ(OwnerOf("my-cart-5d8f7c9b6d-x2x9z", deployment).name, "my-cart");
  EXPECT_TRUE(OwnerOf("my-cart-5d8f7c9b6d-x2x9z", deployment).deployment);
  for (const char* other : {"my-cart-5d8f7c9b6d", "my-cart-5d8f7c9b6e-x2x9z", "-x2x9z", "",
                            "5d8f7c9b6d-x2x9z", "my-cart-5d8f7c9b6d-aeiou"})
    EXPECT_EQ(OwnerOf(other, deployment).name, "") << other;
  EXPECT_EQ(OwnerOf("db-0", {{"statefulset.kubernetes.io/pod-name", "db-0"}}).name, "db");
  EXPECT_EQ(OwnerOf("agent-x2x9z", {{"controller-revision-hash", "7"}}).name, "agent");
  EXPECT_FALSE(OwnerOf("agent-x2x9z", {{"controller-revision-hash", "7"}}).deployment);
  EXPECT_EQ(OwnerOf("cart-5d8f7c9b6d-x2x9z", {}).name, "");
}

ContainerFacts Cart() {
  return {.container = "main",
          .image = "shop/cart:1.2",
          .pod = "cart-5d8f7c9b6d-x2x9z",
          .pod_uid = "u",
          .pod_namespace = "shop",
          .pod_labels = {{"pod-template-hash", "5d8f7c9b6d"}, {"team", "a"}, {"tier", "b"}}};
}

TEST(ContainerLabels, HaveTheNamesOfOpenTelemetry) {
  const auto made = LabelsOf(Cart(), {"te*"});
  EXPECT_EQ(made.labels, (Map{{"container.image.name", "shop/cart"},
                              {"container.image.tags", "1.2"},
                              {"container.name", "main"},
                              {"k8s.container.name", "main"},
                              {"k8s.deployment.name", "cart"},
                              {"k8s.namespace.name", "shop"},
                              {"k8s.pod.label.team", "a"},
                              {"k8s.pod.name", "cart-5d8f7c9b6d-x2x9z"},
                              {"k8s.pod.uid", "u"}}));
}

TEST(ContainerLabels, TheServiceIsALabelElseWhatHasMadeThePod) {
  ContainerFacts facts = Cart();
  EXPECT_EQ(LabelsOf(facts, {}).service, "cart");
  EXPECT_EQ(LabelsOf(facts, {}).version, "1.2");
  facts.pod_labels["app"] = "shop-cart";
  EXPECT_EQ(LabelsOf(facts, {}).service, "shop-cart");
  facts.pod_labels["app.kubernetes.io/name"] = "the-cart";
  facts.pod_labels["app.kubernetes.io/version"] = "7";
  EXPECT_EQ(LabelsOf(facts, {}).service, "the-cart");
  EXPECT_EQ(LabelsOf(facts, {}).version, "7");
  facts = {.container = "main",
           .image = "cart:latest",
           .pod = "cart",
           .pod_uid = "",
           .pod_namespace = "",
           .pod_labels = {}};
  EXPECT_EQ(LabelsOf(facts, {}).service, "");
  EXPECT_EQ(LabelsOf(facts, {}).version, "");
}

TEST(ContainerLabels, AreBoundedAndSafe) {
  ContainerFacts facts = Cart();
  facts.pod = std::string(10'000, 'x');
  facts.pod_namespace = "a\x1b\xff";
  for (int i = 0; i < 1'000; ++i) facts.pod_labels["l" + std::to_string(i)] = "v";
  const auto made = LabelsOf(facts, {"*"});
  EXPECT_EQ(made.labels.at("k8s.pod.name").size(), 256u);
  EXPECT_EQ(made.labels.at("k8s.namespace.name"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_LE(made.labels.size(), 32u + 9u);
}

}  // namespace
}  // namespace profd::containers
