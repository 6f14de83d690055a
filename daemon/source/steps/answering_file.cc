#include "daemon/source/steps/answering_file.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <vector>

namespace profd::source {
namespace {

constexpr std::size_t kMaxMountInfoBytes = 16u << 20;
constexpr std::size_t kMaxFdInfoBytes = 4'096;

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto space = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw": a hyphen ends the optional part.
MountLine ParseMountLine(std::string_view line) {
  const auto words = WordsOf(line);
  constexpr std::size_t kDevice = 2;
  const auto hyphen = std::ranges::find(words, std::string_view("-"));
  if (words.size() <= kDevice || hyphen == words.end() || hyphen + 1 == words.end()) return {};
  return {NumberOf(words[0]), words[kDevice], *(hyphen + 1)};
}

MountLine FindMount(std::string_view mountinfo, const std::function<bool(const MountLine&)>& fits) {
  while (!mountinfo.empty()) {
    const auto newline = std::min(mountinfo.find('\n'), mountinfo.size());
    const MountLine mount = ParseMountLine(mountinfo.substr(0, newline));
    if (mount.id != 0 && fits(mount)) return mount;
    mountinfo.remove_prefix(std::min(newline + 1, mountinfo.size()));
  }
  return {};
}

// "mnt_id:\t28" in fdinfo.
std::uint64_t MountIdIn(std::string_view fdinfo) {
  constexpr std::string_view kKey = "mnt_id:";
  auto at = fdinfo.find(kKey);
  if (at == std::string_view::npos) return 0;
  at = fdinfo.find_first_of("0123456789", at + kKey.size());
  return at == std::string_view::npos ? 0 : NumberOf(fdinfo.substr(at));
}

Error Refused(const std::string& what) {
  return Error{ErrorCode::kUnsupported,
               "the file lies on " + what +
                   ", which may never answer, and no process of the host "
                   "could begin meanwhile",
               "copy it to a local file system"};
}

}  // namespace

MountLine FindMountById(std::string_view mountinfo, std::uint64_t id) {
  return FindMount(mountinfo, [id](const MountLine& mount) { return mount.id == id; });
}

bool HasMountOf(std::string_view mountinfo, const MountLine& mount) {
  return FindMount(mountinfo, [&](const MountLine& one) {
           return one.device == mount.device && one.type == mount.type;
         }).id != 0;
}

Result<void> CheckAnswers(reader::FileOpener& opener, int file, std::uint32_t pid) {
  const auto fdinfo = reader::ReadProcessFile(opener, static_cast<std::uint32_t>(::getpid()),
                                              "fdinfo/" + std::to_string(file), kMaxFdInfoBytes);
  const auto seen = reader::ReadProcessFile(opener, pid, "mountinfo", kMaxMountInfoBytes);
  const auto host = reader::ReadProcessFile(opener, 1, "mountinfo", kMaxMountInfoBytes);
  if (!fdinfo || !seen || !host) return Refused("a mount that cannot be found out");
  const std::uint64_t id = MountIdIn(*fdinfo);
  MountLine mount = FindMountById(*seen, id);
  if (mount.id == 0) mount = FindMountById(*host, id);
  if (id == 0 || mount.id == 0) return Refused("a mount that cannot be found out");
  if (mount.type.starts_with("fuse")) return Refused("a FUSE file system");
  if (mount.type == "overlay" && !HasMountOf(*host, mount)) return Refused("an overlay of a user");
  return {};
}

}  // namespace profd::source
