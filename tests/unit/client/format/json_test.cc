#include "client/format/json.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "client/format/proto_json.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/format/written.h"

namespace profd::client {
namespace {

const Exporter kJson = JsonExporter();

Result<v1::Profile> Read(const std::string& text, std::size_t max_bytes = kMaxJsonBytes) {
  std::istringstream in(text);
  return ReadJson(in, max_bytes);
}

Error ReadError(const std::string& text, std::size_t max_bytes = kMaxJsonBytes) {
  const auto read = Read(text, max_bytes);
  EXPECT_FALSE(read) << text.substr(0, 200);
  return read ? Error{} : read.error();
}

TEST(Json, MatchesItsGolden) {
  ExpectGolden(Written(kJson, testing::SmallProfile()), "small.json");
}

TEST(Json, ComesBackWhole) {
  v1::Profile profile = testing::TypicalProfile();
  profile.mutable_threads(0)->set_closure_error(-0.1 / 3);
  profile.set_daemon_cpu_ns(~0ull);
  for (const v1::Profile& source : {profile, testing::EmptyProfile(), testing::LargeProfile(2000),
                                    testing::ManyThreadsProfile(30), v1::Profile()}) {
    const auto read = Read(Written(kJson, source));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, source));
    EXPECT_EQ(read->SerializeAsString(), source.SerializeAsString());
  }
}

TEST(Json, LabelsOfProcessesAreAnObject) {
  v1::Profile profile = testing::SmallProfile();
  auto& labels = *profile.mutable_processes(0)->mutable_labels();
  labels["service.name"] = "cart \"x\"";
  labels["k8s.pod.name"] = "cart-5f";
  const std::string text = Written(kJson, profile);
  const auto file = nlohmann::json::parse(text);
  EXPECT_EQ(file["profile"]["processes"][0]["labels"],
            (nlohmann::json{{"k8s.pod.name", "cart-5f"}, {"service.name", "cart \"x\""}}));
  const auto read = Read(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, profile));
  for (const char* wrong : {"[]", "{\"a\":1}", "\"x\""}) {
    std::string broken = file.dump();
    const std::string whole = file["profile"]["processes"][0]["labels"].dump();
    broken.replace(broken.find(whole), whole.size(), wrong);
    EXPECT_FALSE(Read(broken)) << wrong;
  }
}

TEST(Json, SaysWhatItIsAndNamesFieldsAsTheProtocolDoes) {
  const auto file = nlohmann::json::parse(Written(kJson, testing::SmallProfile()));
  EXPECT_EQ(file["format"], "profd-profile");
  EXPECT_EQ(file["version"], 1);
  EXPECT_EQ(file["profile"]["samples"]["weight_ns"][0], 1500000400);
  EXPECT_EQ(file["profile"]["samples"]["state"][1], "STATE_RUNNABLE");
}

TEST(Json, NumbersOf64BitsAreNumbersWhereADoubleHoldsThem) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 53) - 1;
  v1::Profile profile;
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, kMost, kMost + 1, kMost + 2, ~std::uint64_t{0}}) {
    auto& count = *profile.add_counters();
    count.set_name("n");
    count.set_count(number);
  }
  const std::string text = Written(kJson, profile);
  const auto counters = nlohmann::json::parse(text)["profile"]["counters"];
  EXPECT_FALSE(counters[0].contains("count")) << "zeros are left out";
  EXPECT_EQ(counters[1]["count"], 1);
  EXPECT_EQ(counters[2]["count"], kMost);
  EXPECT_EQ(counters[3]["count"], "9007199254740992");
  EXPECT_EQ(counters[4]["count"], "9007199254740993");
  EXPECT_EQ(counters[5]["count"], "18446744073709551615");
  const auto read = Read(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, profile));
}

TEST(Json, SamplesHaveTheRuleThatDecided) {
  const v1::Profile source = testing::SpinningProfile();
  const auto json = nlohmann::json::parse(Written(kJson, source))["profile"];
  EXPECT_EQ(json["samples"]["rule"], (std::vector<int>{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(json["rules"][1]["frame_class"], "CLASS_GPU_WAIT");
  EXPECT_EQ(json["rules"][1]["place"], "rules.toml:2");
}

TEST(Json, FilesOfOlderVersionsAreRead) {
  std::ifstream old(test::TestData() + "/export/small.strings.json");
  ASSERT_TRUE(old);
  const auto read = ReadJson(old);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*read, testing::SmallProfile()));
}

TEST(Json, WhatIsWrittenIsWhatProtobufWritesButForNumbers) {
  v1::Profile profile = testing::TypicalProfile();
  profile.mutable_threads(0)->set_closure_error(-0.1 / 3);
  profile.mutable_threads(1)->set_closure_error(1e-9);
  profile.mutable_processes(0)->set_comm("a\"\\<&>\x01\x7f\n\u2028\u00e9\U0001F600");
  profile.mutable_frames(0)->set_kind(static_cast<v1::FrameKind>(99));
  std::string of_protobuf;
  google::protobuf::util::JsonPrintOptions print;
  print.preserve_proto_field_names = true;
  ASSERT_TRUE(google::protobuf::util::MessageToJsonString(profile, &of_protobuf, print).ok());
  auto expected = nlohmann::json::parse(of_protobuf);
  auto written = nlohmann::json::parse(Written(kJson, profile))["profile"];
  // Every number as text, as protobuf has those of 64 bits.
  const std::function<void(nlohmann::json&)> to_text = [&](nlohmann::json& value) {
    if (value.is_number_integer()) value = value.dump();
    if (value.is_structured())
      for (auto& element : value) to_text(element);
  };
  to_text(expected);
  to_text(written);
  EXPECT_EQ(written, expected);
}

TEST(Json, SaysWhatIsWrongWithAFile) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "it is empty"},
      {"\x1f\x8b\x08 pprof", "it is compressed, perhaps a pprof file"},
      {"main;f 12\n", "it does not begin with '{'"},
      {"   ", "it does not begin with '{'"},
      {"{}", "it has no \"format\""},
      {R"({"$schema":"https://www.speedscope.app/file-format-schema.json"})",
       "it has no \"format\""},
      {R"({"format":"other","version":1,"profile":{}})", "its format is another one"},
      {R"({"format":"profd-profile","profile":{}})", "it holds no profile"},
      {R"({"format":"profd-profile","version":1})", "it holds no profile"}};
  for (const auto& [text, why] : kCases) {
    const Error error = ReadError(text);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_EQ(error.message, "this is not a profd profile: " + why);
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(Json, ANewerVersionIsNotMisread) {
  const Error error = ReadError(R"({"format":"profd-profile","version":2,"profile":{"new":[]}})");
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "the profile is of version 2 and this profctl reads version 1");
}

TEST(Json, FieldsOfANewerProfdAreIgnored) {
  EXPECT_TRUE(
      Read(R"({"format":"profd-profile","version":1,"by":"x","profile":{"moon":{"a":1}}})"));
}

TEST(Json, WhatProtobufWritesIsRead) {
  v1::Profile profile = testing::WaitingProfile();
  profile.mutable_threads(0)->set_closure_error(-0.1 / 3);
  profile.mutable_frames(0)->set_kind(static_cast<v1::FrameKind>(99));
  profile.set_daemon_cpu_ns(~0ull);
  for (const bool names_of_proto : {false, true}) {
    google::protobuf::util::JsonPrintOptions print;
    print.preserve_proto_field_names = names_of_proto;
    std::string text;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(profile, &text, print).ok());
    v1::Profile read;
    const auto result = ReadProtoJson(text, read);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, profile));
  }
}

TEST(Json, ValuesOfOtherKindsAreErrorsThatNameTheField) {
  const auto error_of = [](const std::string& profile) {
    return ReadError(R"({"format":"profd-profile","version":1,"profile":)" + profile + "}").message;
  };
  const std::string prefix = "this is not a profd profile: ";
  EXPECT_EQ(error_of(R"({"host":7})"), prefix + "\"host\" holds no text");
  EXPECT_EQ(error_of(R"({"nodes":7})"), prefix + "\"nodes\" holds no list");
  EXPECT_EQ(error_of(R"({"nodes":[7]})"), prefix + "\"nodes\" holds no objects");
  EXPECT_EQ(error_of(R"({"samples":[]})"), prefix + "\"samples\" holds no object");
  for (const char* number : {"-1", "4294967296", "1.5", "true", "\"1x\"", "1e30", "[]"})
    EXPECT_EQ(error_of(R"({"samples":{"thread":[)" + std::string(number) + "]}}"),
              prefix + "\"thread\" holds no numbers of its range")
        << number;
}

TEST(Json, NumbersAreReadInEachForm) {
  const auto read =
      Read(R"({"format":"profd-profile","version":"1","profile":{"daemonCpuNs":1e3,"host":null,)"
           R"("processes":[{"pid":7.0}],"threads":[{"closure_error":"-Infinity","tid":"8"}],)"
           R"("frames":[{"kind":"FRAME_OF_TOMORROW"},{"kind":2}]}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->daemon_cpu_ns(), 1000u);
  EXPECT_EQ(read->processes(0).pid(), 7u);
  EXPECT_EQ(read->threads(0).tid(), 8u);
  EXPECT_LT(read->threads(0).closure_error(), -1e300);
  EXPECT_EQ(read->frames(0).kind(), 0);
  EXPECT_EQ(read->frames(1).kind(), 2);
}

TEST(Json, EveryCutOfAFileIsAnErrorAndNoCrash) {
  const std::string text = Written(kJson, testing::SmallProfile());
  for (std::size_t size = 0; size + 2 < text.size(); ++size)
    EXPECT_EQ(ReadError(text.substr(0, size)).code, ErrorCode::kCorrupt) << size;
}

TEST(Json, DamagedBytesAreAnErrorOrAProfileThatCanBeWritten) {
  const std::string text = Written(kJson, testing::SmallProfile());
  for (std::size_t at = 0; at < text.size(); at += 3) {
    for (const char byte : {'9', '"', ',', '}', '-', '\xff'}) {
      std::string damaged = text;
      damaged[at] = byte;
      const auto read = Read(damaged);
      if (!read) continue;
      for (const Exporter& exporter : Exporters()) {
        std::ostringstream out;
        const auto written = exporter.write(*read, {}, out);
        EXPECT_TRUE(written) << exporter.name << " at " << at << " " << byte;
      }
    }
  }
}

TEST(Json, NestingAndLengthAreBounded) {
  std::string deep = R"({"format":"profd-profile","version":1,"profile":)";
  for (int i = 0; i < 100'000; ++i) deep += R"({"x":[)";
  EXPECT_EQ(ReadError(deep).code, ErrorCode::kCorrupt);
  const std::string text = Written(kJson, testing::SmallProfile());
  EXPECT_TRUE(Read(text, text.size()));
  EXPECT_EQ(ReadError(text, text.size() - 1).code, ErrorCode::kExhausted);
  EXPECT_EQ(ReadError(std::string(kMaxJsonObjects + 1, '{')).code, ErrorCode::kExhausted);
}

TEST(Json, IndexesOutOfRangeAreFound) {
  const Error error =
      ReadError(R"({"format":"profd-profile","version":1,"profile":{"nodes":[{"frame":7}]}})");
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_EQ(error.message, "the profile is damaged: stack node 1 points at frame 7 of 0");
}

TEST(Json, AStreamThatFailsIsSaidToFail) {
  std::istringstream in("{}");
  in.setstate(std::ios::badbit);
  const auto read = ReadJson(in);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace profd::client
