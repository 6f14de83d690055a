#include "daemon/fleet/targets/files_target.h"

#include <array>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/fleet/targets/pprof_encoder.h"

namespace profd::fleet {
namespace {

std::string TimeText(std::uint64_t unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm fields{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &fields);
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &fields);
  return {text.data(), length};
}

}  // namespace

std::string FileNamePart(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, 64)) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || (c == '.' && !name.empty());
    name += safe ? c : '_';
  }
  return name.empty() ? "_" : name;
}

std::string ProfileFileName(std::string_view host, std::uint64_t from_unix_ns, std::uint64_t number,
                            Compression how) {
  return FileNamePart(host) + "-" + TimeText(from_unix_ns) + "-" + std::to_string(number) +
         (how == Compression::kGzip ? ".pb.gz" : ".pb");
}

Result<EncodedProfile> EncodePprofFile(const ExportProfile& profile, Compression how) {
  EncodedProfile encoded;
  if (profile.rows.empty()) return encoded;
  auto bytes = PprofBytes(EncodePprof(profile), how);
  if (!bytes) return bytes.error();
  encoded.payloads.push_back(*std::move(bytes));
  return encoded;
}

Result<EncodedProfile> FilesTarget::Encode(const ExportProfile& profile) {
  return EncodePprofFile(profile, settings_.compression);
}

Verdict FilesTarget::Send(const SpoolEntry& entry, std::uint64_t number) {
  std::error_code failed;
  std::filesystem::create_directories(settings_.address, failed);
  const std::string path =
      settings_.address + "/" +
      ProfileFileName(host_, entry.from_unix_ns, number, settings_.compression);
  // A disk that is full or a folder that is missing may be there again: nothing is refused.
  if (const auto written = WriteWhole(path, entry.payload, 0640); !written)
    return {.kind = Verdict::Kind::kLater, .message = written.error().message};
  return {};
}

}  // namespace profd::fleet
