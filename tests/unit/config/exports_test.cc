#include "daemon/config/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/config/command_line.h"
#include "daemon/config/config_file.h"
#include "tests/support/temp_folder.h"

namespace profd::config {
namespace {

using ::testing::HasSubstr;

const std::string kTo = "to = \"otlp+grpc://127.0.0.1:4317\"\n";

std::string Problem(const std::string& lines) {
  const auto file = ParseConfig("[[export]]\n" + lines, "p.toml");
  return file ? "none" : file.error().message;
}

std::vector<fleet::ExportSettings> Parsed(const std::string& text) {
  auto file = ParseConfig(text, "p.toml");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? std::move(file->exports) : std::vector<fleet::ExportSettings>();
}

TEST(ExportsTest, DefaultsAreThoseOfTheManual) {
  const auto exports = Parsed("[[export]]\nname = \"a\"\n" + kTo);
  ASSERT_EQ(exports.size(), 1u);
  const auto& one = exports[0];
  EXPECT_EQ(one.kind, fleet::TargetKind::kOtlpGrpc);
  EXPECT_EQ(one.address, "127.0.0.1:4317");
  EXPECT_FALSE(one.tls);
  EXPECT_EQ(one.what, fleet::What::kWall);
  EXPECT_EQ(one.compression, fleet::Compression::kGzip);
  EXPECT_EQ(one.interval, std::chrono::minutes(1));
  EXPECT_EQ(one.timeout, std::chrono::seconds(10));
  EXPECT_EQ(one.spool_bytes, 256u << 20);
  EXPECT_EQ(one.request_bytes, 4u << 20);
}

TEST(ExportsTest, SeveralWithAllKeys) {
  const auto exports = Parsed(R"(
[[export]]
name = "far"
to = "otlp+grpcs://[::1]:443"
what = "on_cpu"
interval = "5min"
timeout = "3s"
compression = "none"
spool = "1GiB"
request = "20MiB"
headers_from = ["/etc/a", "/etc/b"]
tls_ca = "/etc/ca.pem"
[[export.relabel]]
action = "keep"
source_labels = ["service.name", "host.name"]
separator = "/"
regex = 'cart/.*'
[[export.relabel]]
target_label = "team"
replacement = "shop"
[[export]]
name = "near"
to = "files:/var/lib/profd/out"
)");
  ASSERT_EQ(exports.size(), 2u);
  EXPECT_TRUE(exports[0].tls);
  EXPECT_EQ(exports[0].address, "[::1]:443");
  EXPECT_EQ(exports[0].spool_bytes, 1u << 30);
  EXPECT_EQ(exports[0].headers_from, (std::vector<std::string>{"/etc/a", "/etc/b"}));
  ASSERT_EQ(exports[0].relabel.size(), 2u);
  EXPECT_EQ(exports[0].relabel[0].action, fleet::RelabelAction::kKeep);
  EXPECT_EQ(exports[0].relabel[0].regex, "cart/.*");
  EXPECT_EQ(exports[0].relabel[1].target_label, "team");
  EXPECT_EQ(exports[1].kind, fleet::TargetKind::kFiles);
  EXPECT_EQ(exports[1].address, "/var/lib/profd/out");
  // What --print-config shows gives the same settings.
  std::string text;
  for (const auto& one : exports) text += ExportToml(one);
  EXPECT_EQ(Parsed(text), exports);
}

TEST(ExportsTest, HttpHasThePathOfOtlpOrAnother) {
  const auto exports = Parsed(
      "[[export]]\nname = \"a\"\nto = \"otlp+http://127.0.0.1:4318\"\n"
      "[[export]]\nname = \"b\"\nto = \"otlp+https://x:4318/otlp/v1?y=1\"\nrequest = \"1MiB\"\n");
  ASSERT_EQ(exports.size(), 2u);
  EXPECT_EQ(exports[0].kind, fleet::TargetKind::kOtlpHttp);
  EXPECT_EQ(exports[0].address, "http://127.0.0.1:4318/v1development/profiles");
  EXPECT_EQ(exports[0].request_bytes, 20u << 20);
  EXPECT_FALSE(exports[0].tls);
  EXPECT_EQ(exports[1].address, "https://x:4318/otlp/v1?y=1");
  EXPECT_EQ(exports[1].request_bytes, 1u << 20);
  EXPECT_TRUE(exports[1].tls);
}

TEST(ExportsTest, ClickHouseHasADatabaseAndRows) {
  const auto exports = Parsed(
      "[[export]]\nname = \"a\"\nto = \"clickhouse://agent@x/fleet\"\nrows = 500\n"
      "[[export]]\nname = \"b\"\nto = \"clickhouses://x:1/?cluster=c\"\ntls_ca = \"/ca.pem\"\n"
      "tls_certificate = \"/me.pem\"\ntls_key = \"/me.key\"\n");
  ASSERT_EQ(exports.size(), 2u);
  EXPECT_EQ(exports[0].kind, fleet::TargetKind::kClickHouse);
  EXPECT_EQ(exports[0].clickhouse.url, "http://x:8123");
  EXPECT_EQ(exports[0].clickhouse.user, "agent");
  EXPECT_EQ(exports[0].compression, fleet::Compression::kZstd);
  EXPECT_EQ(exports[0].clickhouse.database, "fleet");
  EXPECT_EQ(exports[0].rows, 500u);
  EXPECT_EQ(exports[1].clickhouse.url, "https://x:1");
  EXPECT_EQ(exports[1].clickhouse.cluster, "c");
  EXPECT_TRUE(exports[1].tls);
  EXPECT_EQ(exports[1].tls_files, (TlsFiles{"/ca.pem", "/me.pem", "/me.key"}));
  EXPECT_EQ(exports[1].rows, 2'000u);
  for (const auto& one : exports) EXPECT_EQ(Parsed(ExportToml(one)).at(0), one);
  const std::string start = "name = \"a\"\nto = \"clickhouse://x/d\"\n";
  EXPECT_THAT(Problem(start + "rows = 1\n"), HasSubstr("rows must be a number from 10 to 100000"));
  EXPECT_THAT(Problem(start + "rows = \"9\"\n"), HasSubstr("rows must be a number"));
  EXPECT_THAT(Problem("name = \"a\"\nto = \"files:/x\"\nrows = 100\n"),
              HasSubstr("rows is for clickhouse:// alone"));
  EXPECT_THAT(Problem("name = \"a\"\nto = \"files:/x\"\ncompression = \"zstd\"\n"),
              HasSubstr("which is for clickhouse alone: write gzip or none"));
  for (const char* key : {"tls_ca", "tls_certificate", "tls_key"})
    EXPECT_THAT(Problem(start + key + " = \"/x\"\n"),
                HasSubstr(std::string(key) + " needs a target with TLS"));
  EXPECT_THAT(Problem("name = \"a\"\nto = \"clickhouses://x\"\ntls_key = \"/x\"\n"),
              HasSubstr("tls_key is of use only with the other one"));
}

TEST(ExportsTest, PyroscopeAndParcaHaveTheirOwnDefaults) {
  const auto exports = Parsed(
      "[[export]]\nname = \"a\"\nto = \"pyroscope+http://127.0.0.1:4040\"\n"
      "[[export]]\nname = \"b\"\nto = \"pyroscope+https://x:443/base/\"\nmax_age = \"2h\"\n"
      "[[export]]\nname = \"c\"\nto = \"pyroscope+grpcs://x:4040\"\n"
      "[[export]]\nname = \"d\"\nto = \"parca+grpc://x:7070\"\n");
  ASSERT_EQ(exports.size(), 4u);
  EXPECT_EQ(exports[0].kind, fleet::TargetKind::kPyroscopeHttp);
  EXPECT_EQ(exports[0].address, "http://127.0.0.1:4040/push.v1.PusherService/Push");
  EXPECT_EQ(exports[0].request_bytes, 1u << 20);
  EXPECT_EQ(exports[0].max_age, std::chrono::hours(1));
  EXPECT_EQ(exports[1].address, "https://x:443/base/push.v1.PusherService/Push");
  EXPECT_TRUE(exports[1].tls);
  EXPECT_EQ(exports[1].max_age, std::chrono::hours(2));
  EXPECT_EQ(exports[2].kind, fleet::TargetKind::kPyroscopeGrpc);
  EXPECT_EQ(exports[2].address, "x:4040");
  EXPECT_TRUE(exports[2].tls);
  EXPECT_EQ(exports[3].kind, fleet::TargetKind::kParcaGrpc);
  EXPECT_EQ(exports[3].address, "x:7070");
  EXPECT_EQ(exports[3].max_age, std::chrono::nanoseconds(0));
  std::string text;
  for (const auto& one : exports) text += ExportToml(one);
  EXPECT_EQ(Parsed(text), exports);
}

TEST(ExportsTest, S3HasABucketAPrefixAndKeysInAFile) {
  const std::string keys = "credentials_from = \"/etc/keys\"\n";
  const auto exports = Parsed(
      "[[export]]\nname = \"a\"\nto = "
      "\"s3://bucket/a/b?endpoint=http://127.0.0.1:9000&region=eu-1\"\n" +
      keys + "[[export]]\nname = \"b\"\nto = \"s3://bucket\"\n" + keys);
  ASSERT_EQ(exports.size(), 2u);
  EXPECT_EQ(exports[0].kind, fleet::TargetKind::kS3);
  EXPECT_EQ(exports[0].address, "http://127.0.0.1:9000/bucket/a/b");
  EXPECT_EQ(exports[0].region, "eu-1");
  EXPECT_EQ(exports[0].credentials_from, "/etc/keys");
  EXPECT_FALSE(exports[0].tls);
  EXPECT_EQ(exports[1].address, "https://s3.us-east-1.amazonaws.com/bucket");
  EXPECT_TRUE(exports[1].tls);
  std::string text;
  for (const auto& one : exports) text += ExportToml(one);
  EXPECT_EQ(Parsed(text), exports);
  EXPECT_THAT(Problem("name = \"a\"\nto = \"s3://b\"\n"),
              HasSubstr("credentials_from must be set: a file with lines 'access_key: ...'"));
  EXPECT_THAT(Problem("name = \"a\"\nto = \"s3://b\"\nrequest = \"1MiB\"\n" + keys),
              HasSubstr("request is not for files"));
  EXPECT_THAT(Problem("name = \"a\"\n" + kTo + keys),
              HasSubstr("credentials_from is for s3 alone"));
}

TEST(ExportsTest, QuotesOfAnySort) {
  auto exports = Parsed("[[export]]\nname = \"a\"\nto = \"files:/x\\\"\\\\\\u0001\"\n");
  ASSERT_EQ(exports.size(), 1u);
  EXPECT_EQ(exports[0].address, "/x\"\\\x01");
  EXPECT_EQ(Parsed(ExportToml(exports[0])), exports);
}

TEST(ExportsTest, ProblemsNameTheirLineAndWhatIsRight) {
  EXPECT_EQ(Problem(kTo),
            "p.toml:1: name must be set, of at most 32 small letters, digits, - and _");
  EXPECT_THAT(Problem("name = \"../x\"\n" + kTo), HasSubstr("p.toml:2: name must be set"));
  EXPECT_EQ(Problem("name = \"a\"\n"),
            "p.toml:1: to is ''; it must be files:/DIR, otlp+grpc://HOST:PORT, "
            "otlp+http://HOST:PORT, pyroscope+http://HOST:PORT, pyroscope+grpc://HOST:PORT, "
            "parca+grpc://HOST:PORT (with grpcs or https by TLS), "
            "clickhouse://[USER@]HOST[:PORT]/DATABASE or clickhouses://..., or "
            "s3://BUCKET/PREFIX?endpoint=https://HOST:PORT&region=REGION");
  for (const char* to : {"files:x",
                         "files:/",
                         "http://x:1",
                         "otlp+grpc://x",
                         "otlp+grpc://x:0",
                         "otlp+grpc://:4317",
                         "otlp+grpc://x:65536",
                         "otlp+http://x",
                         "otlp+httpx://y:1",
                         "otlp+http://a@b:1/",
                         "otlp+http://x:1/ y",
                         "clickhouse://",
                         "clickhouse://x:0/d",
                         "clickhouse://u:p@x/d",
                         "otlp+grpc://x:1/y",
                         "otlp+grpc://::1:4317",
                         "otlp+grpc://a@b:1",
                         "pyroscope://x:1",
                         "pyroscope+grpcx://y:1",
                         "pyroscope+http://x",
                         "parca+http://x:1",
                         "parca+grpc://x",
                         "s3://",
                         "s3:///x",
                         "s3://b/../x",
                         "s3://b/x/",
                         "s3://b/a b",
                         "s3://b?endpoint=x:1",
                         "s3://b?endpoint=http://x:1/y",
                         "s3://b?region=",
                         "s3://b?region=a/b",
                         "s3://b?key=secret"})
    EXPECT_THAT(Problem("name = \"a\"\nto = \"" + std::string(to) + "\"\n"),
                HasSubstr("p.toml:3: to is '"))
        << to;
  const std::string good = "name = \"a\"\n" + kTo;
  EXPECT_EQ(Problem(good + "what = \"cpu\"\n"),
            "p.toml:4: what is 'cpu'; it must be one of wall, on_cpu");
  EXPECT_THAT(Problem(good + "interval = \"1ms\"\n"), HasSubstr("from 1s to 1h"));
  EXPECT_THAT(Problem(good + "interval = 3\n"), HasSubstr("interval must be a string"));
  EXPECT_THAT(Problem(good + "spool = \"1KiB\"\n"), HasSubstr("at least 1024KiB"));
  EXPECT_THAT(Problem(good + "request = \"1GiB\"\n"), HasSubstr("at most 64MiB"));
  EXPECT_THAT(Problem(good + "headers_from = \"x\"\n"), HasSubstr("list of strings"));
  EXPECT_THAT(Problem(good + "tls_ca = \"x\"\n"), HasSubstr("grpcs://"));
  EXPECT_THAT(Problem(good + "url = \"x\"\n"),
              HasSubstr("p.toml:4: unknown key 'url'; [[export]] has name, to, what"));
  EXPECT_THAT(Problem("name = \"a\"\nto = \"files:/x\"\ntimeout = \"1s\"\n"),
              HasSubstr("timeout is not for files"));
  EXPECT_THAT(Problem(good + "[[export]]\n" + good), HasSubstr("p.toml:4: name 'a' is that of"));
}

TEST(ExportsTest, WrongRulesNameTheirLine) {
  const std::string rule = "name = \"a\"\n" + kTo + "[[export.relabel]]\n";
  EXPECT_THAT(Problem(rule + "action = \"hashmod\"\n"),
              HasSubstr("p.toml:5: action is 'hashmod'; it must be one of replace, keep"));
  EXPECT_THAT(Problem(rule + "target_label = \"x\"\nregex = \"(\"\n"),
              HasSubstr("p.toml:4: regex '(' is wrong"));
  EXPECT_THAT(Problem(rule + "label = \"x\"\n"), HasSubstr("unknown key 'label'"));
  EXPECT_THAT(Problem("name = \"a\"\n" + kTo + "relabel = 3\n"),
              HasSubstr("write [[export.relabel]]"));
}

TEST(ExportsTest, OtherShapesAreErrors) {
  for (const char* text : {"export = 3\n", "[export]\nname = \"a\"\n", "export = [3]\n"}) {
    const auto file = ParseConfig(text, "p.toml");
    ASSERT_FALSE(file) << text;
    EXPECT_THAT(file.error().message, HasSubstr("write [[export]]"));
  }
  std::string many;
  for (int i = 0; i < 17; ++i) many += "[[export]]\nname = \"e" + std::to_string(i) + "\"\n" + kTo;
  EXPECT_FALSE(ParseConfig(many, "p.toml"));
}

class ExportLineTest : public ::testing::Test {
 protected:
  Result<CommandLine> Parse(const std::string& text, std::vector<const char*> flags = {}) {
    const std::string path = folder_.Write("profd.toml", text);
    std::vector<const char*> arguments{"profd", "--config", path.c_str()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(),
                            {[](const char*) -> const char* { return nullptr; }, ""});
  }
  const test::TempFolder folder_;
};

TEST_F(ExportLineTest, TheyNeedAHistory) {
  const std::string one = "[[export]]\nname = \"a\"\n" + kTo;
  EXPECT_TRUE(Parse(one).ok());
  const auto off = Parse("[history]\ndirectory = \"off\"\n" + one);
  ASSERT_FALSE(off);
  EXPECT_THAT(off.error().message, HasSubstr("history.directory is off"));
}

TEST_F(ExportLineTest, PrintConfigHasThem) {
  const auto line = Parse("[[export]]\nname = \"a\"\n" + kTo, {"--print-config"});
  ASSERT_TRUE(line);
  ASSERT_EQ(line->options.exports.size(), 1u);
  EXPECT_THAT(*line->text, HasSubstr("[[export]]\nname = \"a\"\n" + kTo));
  EXPECT_EQ(Parsed(*line->text), line->options.exports);
}

}  // namespace
}  // namespace profd::config
