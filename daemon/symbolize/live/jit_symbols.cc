#include "daemon/symbolize/live/jit_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <sstream>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/proc_stat.h"
#include "daemon/elf/file/regular_file.h"

namespace profd::symbolize {
namespace {

constexpr std::string_view kWhoWritesIt =
    ": node does with --perf-basic-prof, Java on jcmd PID Compiler.perfmap";
constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kMaxAtOnce = 64u << 20;  // of one file in one look

// Its pid in its own namespace, the last of NSpid; 0 when it is gone.
std::uint32_t InnerPid(const ProcFs& proc, std::uint32_t pid) {
  const auto status = proc.Read(std::to_string(pid) + "/status");
  if (!status) return 0;
  std::istringstream lines(*status);
  std::uint32_t inner = pid;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("NSpid:")) continue;
    std::istringstream numbers(line.substr(6));
    while (numbers >> inner) {
    }
  }
  return inner;
}

// When it started, in ticks; 0 when it is gone.
std::uint64_t StartOf(const ProcFs& proc, std::uint32_t pid) {
  constexpr int kStartTime = 22;
  const auto stat = proc.Read(std::to_string(pid) + "/stat");
  return stat ? StatField(*stat, kStartTime).value_or(0) : 0;
}

// The dump that it has mapped: run times map one page of theirs, to be found by.
std::string DumpIn(const ProcFs& proc, std::uint32_t pid, std::uint32_t inner) {
  const auto maps = proc.Read(std::to_string(pid) + "/maps");
  if (!maps) return "";
  const std::string name = "/jit-" + std::to_string(inner) + ".dump";
  const std::size_t at = maps->find(name + "\n");
  if (at == std::string::npos) return "";
  const std::size_t line = maps->rfind('\n', at) + 1;
  const std::size_t path = maps->find('/', line);
  return maps->substr(path, at - path) + name;
}

}  // namespace

Result<JitSymbol> LiveJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  Process* held = processes_.Find(pid);
  if (held == nullptr) {
    held = &processes_.Put(pid, {}, 0);
    held->pid = pid;
  }
  Process& process = *held;
  const std::uint64_t now = clock_.MonotonicNs();
  if (process.looked_at_ns == 0 || now - process.looked_at_ns >= kRecheckNs) {
    process.looked_at_ns = now;
    Look(process);
  }
  if (const auto found = process.map.Find(address)) return *found;
  return Error{ErrorCode::kNotFound, WhyNot(process), ""};
}

std::string LiveJitSymbols::WhyNot(const Process& process) {
  // Node, for one, writes it in pieces of 2 MB.
  if (!process.dump.path.empty()) return process.dump.path + " does not list it, or not yet";
  if (process.perf_map.missing.empty() || process.map.size() > 0)
    return process.perf_map.path + " does not list it";
  return process.perf_map.missing;
}

void LiveJitSymbols::Look(Process& process) {
  if (process.searched_at_ns == 0 ||
      process.looked_at_ns - process.searched_at_ns >= process.search_pause_ns) {
    process.searched_at_ns = process.looked_at_ns;
    process.search_pause_ns =
        Search(process) ? kRecheckNs : std::min(kLongestSearchNs, 2 * process.search_pause_ns);
  }
  ReadMore(process.perf_map, false, process.map);
  ReadMore(process.dump, true, process.map);
  processes_.Charge(process.pid, process.map.bytes());
  bytes_.Set(processes_.cost());
}

bool LiveJitSymbols::Search(Process& process) {
  const std::uint64_t start = StartOf(proc_, process.pid);
  // Names stay when the process is gone; another of the same pid has its own.
  bool found = start != 0 && start != process.start;
  if (found) {
    process.start = start;
    process.perf_map = File{};
    process.dump = File{};
    process.map = JitMap{};
  }
  const std::uint32_t inner = InnerPid(proc_, process.pid);
  if (inner == 0) return found;
  process.perf_map.path = "/tmp/perf-" + std::to_string(inner) + ".map";
  found |= Open(process.pid, process.perf_map);
  if (!process.dump.fd.valid()) process.dump.path = DumpIn(proc_, process.pid, inner);
  if (!process.dump.path.empty()) found |= Open(process.pid, process.dump);
  return found;
}

bool LiveJitSymbols::Open(std::uint32_t pid, File& file) {
  const std::string base = proc_.Path(std::to_string(pid));
  const UniqueFd root(::open((base + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat owner {};
  if (!root.valid() || ::stat(base.c_str(), &owner) != 0) return false;
  const auto seen = elf::LookBelow(root, file.path, elf::LastLink::kKeep);
  if (!seen && seen.error().code != ErrorCode::kUnsupported) {
    file.missing = seen.error().code == ErrorCode::kNotFound
                       ? "it wrote no " + file.path + std::string(kWhoWritesIt)
                       : seen.error().message;
    return false;
  }
  if (!seen || (seen->owner != owner.st_uid && seen->owner != 0)) {
    file.missing = file.path + " is not a file of its user";
    return false;
  }
  if (file.fd.valid() && file.inode == seen->stamp.inode && seen->stamp.bytes >= file.read)
    return false;
  auto opened = elf::OpenSeen(*seen);
  if (!opened) {
    file.missing = opened.error().Wrap(file.path).message;
    return false;
  }
  file.fd = std::move(opened->fd);
  file.inode = seen->stamp.inode;
  file.read = 0;
  file.missing.clear();
  return true;
}

void LiveJitSymbols::ReadMore(File& file, bool is_dump, JitMap& map) {
  if (!file.fd.valid()) return;
  std::string bytes;
  std::size_t got_in_all = 0;
  while (got_in_all < kMaxAtOnce) {
    const std::size_t kept = bytes.size();
    bytes.resize(kept + kPiece);
    const auto got = ReadAt(file.fd.get(), file.read + kept, std::span(bytes).subspan(kept), "");
    if (!got || *got == 0) return;
    bytes.resize(kept + *got);
    got_in_all += *got;
    const std::size_t done =
        is_dump ? ReadJitDump(bytes, file.read == 0, map) : ReadPerfMap(bytes, map);
    file.read += done;
    bytes.erase(0, done);
  }
}

Result<JitSymbol> RecordingJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  Result<JitSymbol> symbol = inner_.Find(pid, address);
  if (!symbol) return symbol;
  Learnt& learnt = processes_[pid];
  if (!learnt.seen.insert(symbol->begin).second) return symbol;
  std::ostringstream line;
  line << std::hex << symbol->begin << ' ' << symbol->end - symbol->begin << ' ' << symbol->name
       << '\n';
  learnt.unsent += line.str();
  return symbol;
}

void RecordingJitSymbols::Flush() {
  for (auto& [pid, learnt] : processes_) {
    if (learnt.unsent.empty()) continue;
    sink_(kJitBlobKind, std::to_string(pid), learnt.unsent);
    learnt.unsent.clear();
  }
}

Result<void> ReplayJitSymbols::AddBlob(std::string_view key, std::string_view bytes) {
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), pid);
  if (error != std::errc{} || end != key.data() + key.size() ||
      ReadPerfMap(bytes, processes_[pid]) != bytes.size())
    return Error{ErrorCode::kCorrupt, "damaged record of code made at run time", ""};
  return {};
}

Result<JitSymbol> ReplayJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  const auto process = processes_.find(pid);
  if (process != processes_.end()) {
    if (const auto found = process->second.Find(address)) return *found;
  }
  return Error{ErrorCode::kNotFound, "the recording has no name for it", ""};
}

}  // namespace profd::symbolize
