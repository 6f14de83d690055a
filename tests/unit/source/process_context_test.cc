#include "daemon/source/procfs/process_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "bpf/shared/labels.h"

namespace profd::source {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Field(std::uint32_t number, const std::string& bytes) {
  return Varint(number << 3 | 2) + Varint(bytes.size()) + bytes;
}
std::string Attribute(const std::string& key, const std::string& value) {
  return Field(1, Field(1, key) + Field(2, value));
}
std::string Text(const std::string& text) { return Field(1, text); }
std::string List(const std::vector<std::string>& texts) {
  std::string values;
  for (const std::string& text : texts) values += Field(1, Text(text));
  return Field(5, values);
}

ProcessContextHeader Header() {
  ProcessContextHeader header{};
  std::memcpy(header.signature, "OTEL_CTX", sizeof header.signature);
  header.version = 2;
  header.payload_bytes = 10;
  header.published_ns = 1;
  return header;
}

TEST(ProcessContextTest, SchemaAndNames) {
  const auto context = ParsePayload(
      Attribute("service.name", Text("cart")) +
      Attribute("threadlocal.attribute_key_map", List({"http_route", "", "step"})) +
      Attribute("threadlocal.schema_version", Text("tls_v1")) + Varint(2 << 3) + Varint(300));
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->schema, "tls_v1");
  EXPECT_THAT(context->keys, ElementsAre("http_route", "", "step"));
  EXPECT_EQ(context->attributes, (ResourceAttributes{{"service.name", "cart"}}));
}

TEST(ProcessContextTest, NoLabels) {
  const auto context = ParsePayload(Attribute("service.name", Text("cart")));
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->schema, "");
  EXPECT_THAT(context->keys, IsEmpty());
  EXPECT_TRUE(ParsePayload(""));
}

TEST(ProcessContextTest, NamesAreBounded) {
  const auto context = ParsePayload(Attribute(
      "threadlocal.attribute_key_map", List(std::vector<std::string>(300, std::string(400, 'x')))));
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_EQ(context->keys.size(), std::size_t{PROFD_MAX_LABEL_KEYS});
  EXPECT_EQ(context->keys[0].size(), ProcessContext::kMaxNameBytes);
}

TEST(ProcessContextTest, DamagedPayloads) {
  const std::string whole = Attribute("threadlocal.schema_version", Text("tls_v1"));
  for (std::size_t i = 1; i < whole.size(); ++i)
    EXPECT_FALSE(ParsePayload(whole.substr(0, i))) << i << " bytes of it";
  EXPECT_FALSE(ParsePayload(Varint(1 << 3 | 3))) << "a group";
  EXPECT_FALSE(ParsePayload(std::string(11, '\xff')));
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same bytes in every run
  for (int round = 0; round < 10'000; ++round) {
    std::string bytes = whole;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)ParsePayload(bytes);  // whatever it says, it ends
  }
}

TEST(ProcessContextTest, Headers) {
  EXPECT_TRUE(CheckHeader(Header()));
  auto header = Header();
  header.signature[0] = 'o';
  EXPECT_FALSE(CheckHeader(header));
  header = Header();
  header.version = 1;
  EXPECT_FALSE(CheckHeader(header));
  header = Header();
  header.payload_bytes = ProcessContext::kMaxPayloadBytes + 1;
  EXPECT_FALSE(CheckHeader(header));
  header = Header();
  header.published_ns = 0;
  ASSERT_FALSE(CheckHeader(header));
  EXPECT_EQ(CheckHeader(header).error().code, ErrorCode::kUnavailable);
}

TEST(ProcessContextTest, Mappings) {
  EXPECT_TRUE(MayHoldContext("/memfd:OTEL_CTX (deleted)"));
  EXPECT_TRUE(MayHoldContext("[anon:OTEL_CTX]"));
  EXPECT_TRUE(MayHoldContext("[anon_shmem:OTEL_CTX]"));
  EXPECT_FALSE(MayHoldContext("/usr/lib/OTEL_CTX"));
  EXPECT_FALSE(MayHoldContext(""));
}

}  // namespace
}  // namespace profd::source
