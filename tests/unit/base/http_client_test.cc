#include "daemon/base/http/http_client.h"

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <string>

#include "daemon/base/http/content_encoding.h"

namespace profd {
namespace {

std::string Unzipped(const std::string& bytes) {
  google::protobuf::io::ArrayInputStream from(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream gzip(&from);
  std::string text;
  const void* part = nullptr;
  int size = 0;
  while (gzip.Next(&part, &size))
    text.append(static_cast<const char*>(part), static_cast<std::size_t>(size));
  EXPECT_EQ(gzip.ZlibErrorMessage(), nullptr);
  return text;
}

std::string WithoutZstd(const std::string& bytes) {
  std::string text(1u << 20, '\0');
  const std::size_t length =
      ::ZSTD_decompress(text.data(), text.size(), bytes.data(), bytes.size());
  EXPECT_EQ(::ZSTD_isError(length), 0u);
  text.resize(length);
  return text;
}

TEST(ContentEncodingTest, PackedBytesAreTheSame) {
  const std::string text = "main;work;work\n" + std::string(100'000, 'x');
  EXPECT_EQ(Packed(text, ContentEncoding::kNone), text);
  EXPECT_EQ(Unzipped(Packed(text, ContentEncoding::kGzip)), text);
  const std::string packed = Packed(text, ContentEncoding::kZstd);
  EXPECT_EQ(WithoutZstd(packed), text);
  EXPECT_LT(packed.size(), 200u);
  EXPECT_EQ(WithoutZstd(Packed("", ContentEncoding::kZstd)), "");
  EXPECT_EQ(NameOf(ContentEncoding::kZstd), "zstd");
}

TEST(Gzipped, GivesTheSameBytesBack) {
  EXPECT_EQ(Unzipped(Gzipped("")), "");
  EXPECT_EQ(Unzipped(Gzipped("text")), "text");
  // Bytes that cannot be packed take more room than one step of the packer has.
  std::string noise;
  std::uint64_t state = 1;
  while (noise.size() < 300'000) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    noise += static_cast<char>(state >> 56);
  }
  EXPECT_EQ(Unzipped(Gzipped(noise)), noise);
  EXPECT_LT(Gzipped(std::string(1'000'000, 'x')).size(), 5'000u);
}

TEST(UrlEncoded, LeavesOnlyWhatIsSafe) {
  EXPECT_EQ(UrlEncoded("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(UrlEncoded("a b/c?d=e&f\xff"), "a%20b%2Fc%3Fd%3De%26f%FF");
}

TEST(HttpClient, SaysWhyThereIsNoAnswer) {
  HttpClient client;
  // Port 1 of the loopback has no server, and no name is looked up.
  const auto answer = client.Do({.url = "http://127.0.0.1:1/"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answer.error().message.find("http: "), std::string::npos);
  EXPECT_FALSE(client.Do({.url = "file:///etc/hostname"}));
}

}  // namespace
}  // namespace profd
