#include "daemon/source/procfs/process_texts.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/reader/message.h"
#include "daemon/source/procfs/process_context.h"
#include "daemon/source/procfs/resource_text.h"

namespace profd::source {
namespace {

using reader::Packer;
using reader::Unpacker;

constexpr std::size_t kMaxCommandLine = 2u << 20;  // as long as the kernel lets it be by default
constexpr std::size_t kMaxEnvironment = 2u << 20;  // the same
constexpr std::size_t kMaxUsers = 1'024;

std::string ReadPart(reader::FileOpener& opener, std::uint32_t pid, const std::string& name,
                     std::size_t max_bytes) {
  auto text = reader::ReadProcessFile(opener, pid, name, max_bytes);
  return text ? *std::move(text) : std::string();
}

bool ReadAt(int fd, std::uint64_t address, void* to, std::size_t bytes) {
  return ::pread(fd, to, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

// Nothing: it is none, or is being written.
std::optional<ResourceAttributes> ReadContext(int memory, std::uint64_t address) {
  ProcessContextHeader before{};
  ProcessContextHeader after{};
  if (!ReadAt(memory, address, &before, sizeof before) || !CheckHeader(before)) return std::nullopt;
  std::string payload(before.payload_bytes, '\0');
  if (!ReadAt(memory, before.payload, payload.data(), payload.size()) ||
      !ReadAt(memory, address, &after, sizeof after) || after.published_ns != before.published_ns)
    return std::nullopt;
  auto context = ParsePayload(payload);
  if (!context) return std::nullopt;
  return std::move(context->attributes);
}

// What the process publishes in its memory. Most have no mapping of that name.
ResourceAttributes ContextOf(reader::FileOpener& opener, std::uint32_t pid, std::string_view maps) {
  constexpr std::string_view kName = "OTEL_CTX";
  for (std::size_t at = maps.find(kName); at != std::string_view::npos;
       at = maps.find(kName, at + 1)) {
    const std::size_t before = maps.rfind('\n', at);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = maps.substr(begin, maps.find('\n', at) - begin);
    std::uint64_t address = 0;
    const std::size_t path = line.find_first_of("/[");
    if (path == std::string_view::npos || !MayHoldContext(line.substr(path)) ||
        std::from_chars(line.data(), line.data() + line.size(), address, 16).ec != std::errc())
      continue;
    const auto memory = opener.Open({.what = reader::OpenRequest::What::kMemory, .pid = pid});
    if (!memory) return {};
    return ReadContext(memory->fd.get(), address).value_or(ResourceAttributes{});
  }
  return {};
}

}  // namespace

Result<std::string> ProcessTextParser::Answer(std::string_view request,
                                              reader::ParserContext context) {
  struct Read {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::string command_line;
    std::string maps;
  };
  Unpacker fields(request);
  const std::uint32_t count = fields.Count(2 * sizeof(std::uint32_t));
  std::vector<Read> read;
  std::size_t bytes = 0;
  for (std::uint32_t i = 0; i < count && bytes <= kAnswerBytes; ++i) {
    Read& one = read.emplace_back();
    one.pid = fields.Number<std::uint32_t>();
    one.tid = fields.Number<std::uint32_t>();
    one.command_line = ReadPart(context.opener, one.pid, "cmdline", kMaxCommandLine);
    one.command_line.resize(std::min(one.command_line.size(), kKeptCommandLine));
    one.maps = ReadPart(context.opener, one.pid, "maps", kMaxMaps);
    // The memory of a process whose first thread has ended is seen through its other threads.
    if (one.maps.empty() && one.tid != one.pid)
      one.maps =
          ReadPart(context.opener, one.pid, "task/" + std::to_string(one.tid) + "/maps", kMaxMaps);
    bytes += one.command_line.size() + one.maps.size();
  }
  // Afterwards: a process that ends soon may go without its resource, not without its mappings.
  Packer answer;
  for (const Read& one : read) {
    std::string environment = ReadPart(context.opener, one.pid, "environ", kMaxEnvironment);
    if (environment.empty() && one.tid != one.pid)
      environment = ReadPart(context.opener, one.pid,
                             "task/" + std::to_string(one.tid) + "/environ", kMaxEnvironment);
    ResourceAttributes attributes = ResourceOf(environment);
    // The environment wins, as it does in OpenTelemetry's libraries.
    for (const auto& [name, value] : ContextOf(context.opener, one.pid, one.maps))
      AddAttribute(name, value, attributes);
    const std::string resource = PackResource(attributes);
    if (answer.size() != 0 &&
        answer.size() + one.command_line.size() + one.maps.size() + resource.size() > kAnswerBytes)
      break;
    answer.Text(one.command_line).Text(one.maps).Text(resource);
  }
  return answer.Take();
}

std::vector<std::optional<ProcessTexts>> ProcessTextClient::Read(
    std::span<const ProcessThread> processes) {
  const Time now = std::chrono::steady_clock::now();
  std::vector<std::optional<ProcessTexts>> texts(processes.size());
  std::map<std::uint32_t, std::vector<std::size_t>> by_user;
  for (std::size_t i = 0; i < processes.size(); ++i) by_user[processes[i].user].push_back(i);
  std::erase_if(apart_, [&](const auto& one) { return one.second <= now; });
  for (const auto& [user, indices] : by_user) {
    std::size_t next = 0;
    while (next < indices.size() && !apart_.contains(user)) {
      Some some{{},
                "processes of user " + std::to_string(user),
                MixBits(~std::uint64_t{user}),
                user,
                kPatience};
      for (std::size_t i = next; i < indices.size() && i - next < kTogether; ++i)
        some.processes.push_back(processes[indices[i]]);
      auto got = Ask(some, kPatience);
      if (got)
        for (ProcessTexts& one : *got) texts[indices[next++]] = std::move(one);
      else if (apart_.size() < kMaxUsers)
        apart_[user] = now + kApart;
      else
        break;
    }
    for (; next < indices.size() && apart_.contains(user); ++next) {
      const ProcessThread& process = processes[indices[next]];
      auto got = Ask({{process},
                      "mappings of process " + std::to_string(process.pid),
                      MixBits(process.pid),
                      user,
                      {}},
                     user == 0 ? kPatience : kShortPatience);
      if (got) texts[indices[next]] = std::move(got->front());
    }
  }
  return texts;
}

Result<std::vector<ProcessTexts>> ProcessTextClient::Ask(const Some& some,
                                                         std::chrono::milliseconds patience) {
  Packer body;
  body.Number(static_cast<std::uint32_t>(some.processes.size()));
  for (const ProcessThread& process : some.processes) body.Number(process.pid).Number(process.tid);
  const auto answer = readers_.Ask({.body = body.Take(),
                                    .name = some.name,
                                    .target = some.target,
                                    .user = some.user,
                                    .descriptors = {},
                                    .deadline = some.deadline},
                                   patience);
  if (!answer) return answer.error();
  const Error nonsense{ErrorCode::kCorrupt, "the answer about processes makes no sense", ""};
  Unpacker fields(*answer);
  std::vector<ProcessTexts> texts;
  while (fields.ok() && !fields.done()) {
    ProcessTexts one;
    one.command_line = fields.Text();
    one.maps = fields.Text();
    one.resource = fields.Text();
    if (texts.size() == some.processes.size() ||
        one.command_line.size() > ProcessTextParser::kKeptCommandLine ||
        one.maps.size() > ProcessTextParser::kMaxMaps || one.resource.size() > kMaxResourceText)
      return nonsense;
    texts.push_back(std::move(one));
  }
  if (!fields.ok() || texts.empty()) return nonsense;
  return texts;
}

}  // namespace profd::source
