#include "daemon/source/procfs/process_reader.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "daemon/base/proc/proc_stat.h"
#include "daemon/source/procfs/exclusive_owner.h"

namespace profd::source {
namespace {

constexpr std::size_t kMaxSmall = 65'536;
constexpr std::size_t kMaxThreads = 1'024;  // further threads are named by their clock readings
constexpr std::uint64_t kNsPerTick = 10'000'000;  // USER_HZ is 100 on every architecture we know

std::string_view TrimLeft(std::string_view text) {
  while (!text.empty() && (text.front() == '\t' || text.front() == ' ')) text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<std::uint64_t> StartTicks(const std::string& stat) {
  constexpr int kStartField = 22;
  return StatField(stat, kStartField);
}

bool ProcessReader::StillThere(ProcessKey process) const {
  const auto stat = proc_.Read(std::to_string(process.pid) + "/stat", kMaxSmall);
  if (!stat) return false;
  return StartTicks(*stat) == process.start_ns / kNsPerTick;
}

std::string ProcessReader::ReadPart(const std::string& path, std::size_t max_bytes) const {
  auto text = proc_.Read(path, max_bytes);
  return text ? *std::move(text) : std::string();
}

std::string ProcessReader::ReadThreads(const std::string& directory) const {
  const auto tids = proc_.ListNumbers(directory + "/task");
  std::string threads;
  if (!tids) return threads;
  for (std::size_t i = 0; i < tids->size() && i < kMaxThreads; ++i) {
    const std::string tid = std::to_string((*tids)[i]);
    std::string file = directory;
    file.append("/task/").append(tid).append("/comm");
    const std::string comm = ReadPart(file, kMaxSmall);
    if (!comm.empty()) threads.append(tid).append("\t").append(comm);  // ends with a newline
  }
  return threads;
}

std::string ProcessReader::ReadUser(const std::string& directory, std::string_view status) const {
  std::string user(TrimLeft(StatusLine(status, "Uid:")));
  const auto tab = user.find('\t');  // the second one is the effective one
  if (tab == std::string::npos) return {};
  std::uint32_t uid = 0;
  if (std::from_chars(user.data() + tab + 1, user.data() + user.size(), uid).ec != std::errc{})
    return {};
  user.append("\n").append(users_->NameOf(uid));
  if (SoleOwnerOf(directory, status, proc_) == uid) user.append("\nsole");
  return user;
}

ProcessReader::Blobs ProcessReader::ReadRest(const Wanted& wanted) const {
  const std::string directory = std::to_string(wanted.process.pid);
  Blobs blobs;
  blobs[PROFD_BLOB_COMM] = ReadPart(directory + "/comm", kMaxSmall);
  blobs[PROFD_BLOB_CGROUP] = ReadPart(directory + "/cgroup", kMaxSmall);
  const std::string status = ReadPart(directory + "/status", kMaxSmall);
  blobs[PROFD_BLOB_NSPID] = TrimLeft(StatusLine(status, "NSpid:"));
  blobs[PROFD_BLOB_USER] = ReadUser(directory, status);
  auto exe = proc_.ReadLink(directory + "/exe");
  if (!exe && wanted.tid != wanted.process.pid)
    exe = proc_.ReadLink(directory + "/task/" + std::to_string(wanted.tid) + "/exe");
  if (exe) blobs[PROFD_BLOB_EXE] = *std::move(exe);
  blobs[PROFD_BLOB_THREADS] = ReadThreads(directory);
  return blobs;
}

std::vector<std::optional<wire::EventBytes>> ProcessReader::Read(std::span<const Wanted> wanted) {
  std::vector<std::optional<Blobs>> read(wanted.size());
  std::vector<ProcessThread> there;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!StillThere(wanted[i].process)) continue;
    read[i] = ReadRest(wanted[i]);
    // What the kernel says of root need not be asked for again.
    const bool root = read[i]->at(PROFD_BLOB_USER).starts_with("0\t0\t0\t0\n");
    const std::uint32_t pid = wanted[i].process.pid;
    there.push_back({pid, wanted[i].tid, root ? 0 : reader::UserOf(pid)});
  }
  auto texts = texts_.Read(there);
  std::vector<std::optional<wire::EventBytes>> events(wanted.size());
  for (std::size_t i = 0, next = 0; i < wanted.size(); ++i) {
    if (!read[i]) continue;
    auto& text = texts[next++];
    // Checked last: if the number belongs to the process now, it did all the time.
    if (!StillThere(wanted[i].process)) continue;
    profd_process_event fixed{};
    fixed.event.time_ns = wanted[i].time_ns;
    fixed.event.flags = text ? 0 : PROFD_TASK_PARTIAL;
    fixed.event.pid = wanted[i].process.pid;
    fixed.event.tid = wanted[i].tid;
    fixed.event.process_start_ns = wanted[i].process.start_ns;
    if (text) {
      (*read[i])[PROFD_BLOB_CMDLINE] = std::move(text->command_line);
      (*read[i])[PROFD_BLOB_MAPS] = std::move(text->maps);
      (*read[i])[PROFD_BLOB_RESOURCE] = std::move(text->resource);
    }
    events[i] = wire::LayOutProcess(fixed, *read[i]);
  }
  return events;
}

Result<std::uint32_t> ProcessOf(const ProcFs& proc, std::uint32_t id) {
  const auto status = proc.Read(std::to_string(id) + "/status", kMaxSmall);
  if (!status) return status.error();
  const std::string_view text = TrimLeft(StatusLine(*status, "Tgid:"));
  std::uint32_t pid = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), pid).ec != std::errc{})
    return Error{ErrorCode::kCorrupt, "no process id in the status of " + std::to_string(id), ""};
  return pid;
}

}  // namespace profd::source
