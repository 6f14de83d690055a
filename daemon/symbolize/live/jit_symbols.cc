#include "daemon/symbolize/live/jit_symbols.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

namespace profd::symbolize {
namespace {

// A list that does not answer costs the thread JitClient::kPatience: once a second.
std::uint64_t CostOf(const Error& error) {
  return error.code == ErrorCode::kUnavailable ? JitShares::kOfProcess.per_second : 0;
}

}  // namespace

Result<JitSymbol> LiveJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  Process& process = Use(pid);
  const std::uint64_t now = clock_.MonotonicNs();
  if (process.looked_at_ns == 0 || now - process.looked_at_ns >= process.pause_ns) {
    process.looked_at_ns = now;
    process.pause_ns = kRecheckNs;
    if (Admit(process)) Look(process);
  }
  if (const auto found = process.map.Find(address)) return *found;
  return Error{ErrorCode::kNotFound, WhyNot(process), ""};
}

LiveJitSymbols::Process& LiveJitSymbols::Use(std::uint32_t pid) {
  const auto [at, is_new] = processes_.try_emplace(pid);
  Process& process = at->second;
  process.used = ++uses_;
  if (is_new) {
    process.pid = pid;
    process.user = user_of_(pid);
    DiscardBeside(process);
  }
  return process;
}

void LiveJitSymbols::DiscardBeside(const Process& kept) {
  for (;;) {
    std::size_t bytes = 0;
    for (const auto& [pid, process] : processes_) bytes += process.map.bytes();
    bytes_.Set(bytes);
    const bool too_large = bytes > kMaxBytes;
    if (!too_large && processes_.size() <= kMaxProcesses) return;
    std::map<std::uint32_t, Holding> users;
    for (const auto& [pid, process] : processes_) {
      Holding& holding = users[process.user];
      ++holding.processes;
      holding.bytes += process.map.bytes();
    }
    const auto order = [&](const auto& one) {
      const Holding& holding = users[one.second.user];
      return std::pair(too_large ? holding.bytes : holding.processes, ~one.second.used);
    };
    auto victim = processes_.end();
    for (auto at = processes_.begin(); at != processes_.end(); ++at) {
      if (&at->second != &kept && (victim == processes_.end() || order(*at) > order(*victim)))
        victim = at;
    }
    if (victim == processes_.end()) return;
    processes_.erase(victim);
  }
}

bool LiveJitSymbols::Admit(Process& process) {
  if (shares_.Admit(process.pid, process.user)) return true;
  process.pause_ns = kBeyondShareNs;
  return false;
}

std::string LiveJitSymbols::WhyNot(const Process& process) {
  if (process.pause_ns == kBeyondShareNs)
    return "too much code is made at run time: the lists of it are read once a second";
  // Node, for one, writes it in pieces of 2 MB.
  if (!process.dump.file.path.empty())
    return process.dump.file.path + " does not list it, or not yet";
  if (process.perf_map.file.missing.empty() || process.map.size() > 0)
    return process.perf_map.file.path + " does not list it";
  return process.perf_map.file.missing;
}

void LiveJitSymbols::Look(Process& process) {
  if (process.searched_at_ns == 0 ||
      process.looked_at_ns - process.searched_at_ns >= process.search_pause_ns) {
    process.searched_at_ns = process.looked_at_ns;
    process.search_pause_ns =
        Search(process) ? kRecheckNs : std::min(kLongestSearchNs, 2 * process.search_pause_ns);
  }
  ReadMore(process, process.perf_map, false);
  ReadMore(process, process.dump, true);
  DiscardBeside(process);
}

bool LiveJitSymbols::Search(Process& process) {
  const auto files = client_.Search(process.pid);
  shares_.Charge(process.pid, process.user, files ? files->cost : CostOf(files.error()));
  if (!files) {
    if (!process.perf_map.is_there()) process.perf_map.file.missing = files.error().message;
    return false;
  }
  // Names stay when the process is gone; another of the same pid has its own.
  bool found = files->start != process.start;
  if (found) {
    process.start = files->start;
    process.perf_map = File{};
    process.dump = File{};
    process.map = JitMap{};
  }
  found |= Take(files->perf_map, process.perf_map);
  if (!files->dump.path.empty()) found |= Take(files->dump, process.dump);
  return found;
}

// Whether it is there, and another one than before, or shorter, so that it is read from its
// beginning.
bool LiveJitSymbols::Take(const JitFile& found, File& file) {
  if (!found.missing.empty()) {
    file.file.path = found.path;
    if (!file.is_there()) file.file.missing = found.missing;
    return false;
  }
  if (file.file.inode == found.inode && found.bytes >= file.read) return false;
  file.file = found;
  file.read = 0;
  return true;
}

void LiveJitSymbols::ReadMore(Process& process, File& file, bool is_dump) {
  constexpr int kMaxAtOnce = 16;  // requests
  for (int request = 0; file.is_there() && request < kMaxAtOnce; ++request) {
    if (request > 0 && !Admit(process)) return;
    const auto progress = client_.Read(process.pid, file.file, is_dump, file.read, process.map);
    shares_.Charge(process.pid, process.user, progress ? progress->cost : CostOf(progress.error()));
    if (!progress) return;
    file.read = progress->done;
    if (!progress->more) return;
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
