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
    process.windows = 0;
    if (Admit(process)) Look(process);
  }
  if (const auto found = process.map.Find(address)) return *found;
  if (const auto found = FindRegistered(process, address)) return *found;
  if (const auto found = FindMade(process, address)) return *found;
  return Error{ErrorCode::kNotFound, WhyNot(process), ""};
}

std::optional<JitSymbol> LiveJitSymbols::FindRegistered(Process& process, std::uint64_t address) {
  RegisteredNames::Object* object = process.registered.Find(address);
  if (object == nullptr) return std::nullopt;
  // Once for each look at the process: where it is late, it is there when it is requested again.
  const bool is_due = !object->is_read && object->tried_ns != process.looked_at_ns;
  if (is_due && process.pause_ns != kBeyondShareNs && Admit(process)) {
    object->tried_ns = process.looked_at_ns;
    const auto cost = client_.ReadObject(process.pid, object->place, object->names);
    shares_.Charge(process.pid, process.user, cost ? *cost : CostOf(cost.error()));
    object->is_read = cost || cost.error().code != ErrorCode::kUnavailable;
    if (cost) counters_.objects.Add();
    process.registered.KeepBounds(*object);
    DiscardBeside(process);
  }
  auto found = object->names.Find(address);
  if (found) found->registered = true;
  return found;
}

std::optional<JitSymbol> LiveJitSymbols::FindMade(Process& process, std::uint64_t address) {
  // So many for each look at the process: the thread that names frames waits for them.
  constexpr std::uint64_t kMaxAtOnce = 8;
  const std::uint64_t now = clock_.MonotonicNs();
  if (process.windows < kMaxAtOnce && process.pause_ns != kBeyondShareNs &&
      process.made.IsDue(address, now) && Admit(process)) {
    ++process.windows;
    auto read = client_.ReadMade(process.pid, address, process.made.HashAt(address));
    shares_.Charge(process.pid, process.user, read ? read->cost : CostOf(read.error()));
    // Names stay when the process is gone.
    process.made.Take(address, read ? std::move(read->window) : std::nullopt, now);
    DiscardBeside(process);
  }
  const auto function = process.made.Find(address);
  if (!function) return std::nullopt;
  name_ = NameOfMade(*function);
  reason_ = WhyNot(process);
  return JitSymbol{.begin = function->begin,
                   .end = function->end,
                   .name = name_,
                   .by_place = true,
                   .reason = reason_};
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
    for (const auto& [pid, process] : processes_) bytes += process.bytes();
    bytes_.Set(bytes);
    const bool too_large = bytes > kMaxBytes;
    if (!too_large && processes_.size() <= kMaxProcesses) return;
    std::map<std::uint32_t, Holding> users;
    for (const auto& [pid, process] : processes_) {
      Holding& holding = users[process.user];
      ++holding.processes;
      holding.bytes += process.bytes();
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
  if (process.registered.stamp() != 0 && process.registered.objects() > 0)
    return "none of the " + std::to_string(process.registered.objects()) +
           " objects that the program registered for debuggers names it; it wrote no " +
           process.perf_map.file.path;
  return process.perf_map.file.missing;
}

void LiveJitSymbols::Look(Process& process) {
  bool has_list = process.registered.stamp() != 0;
  if (process.searched_at_ns == 0 ||
      process.looked_at_ns - process.searched_at_ns >= process.search_pause_ns) {
    process.searched_at_ns = process.looked_at_ns;
    process.search_pause_ns =
        Search(process) ? kRecheckNs : std::min(kLongestSearchNs, 2 * process.search_pause_ns);
    has_list = true;  // or not: that is seen now
  }
  ReadMore(process, process.perf_map, false);
  ReadMore(process, process.dump, true);
  if (has_list) ReadRegistered(process);
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
    process.registered = RegisteredNames{};
    process.made.Clear();
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

void LiveJitSymbols::ReadRegistered(Process& process) {
  if (!Admit(process)) return;
  const auto read = client_.ReadRegistered(process.pid, process.registered.stamp());
  shares_.Charge(process.pid, process.user, read ? read->cost : CostOf(read.error()));
  if (!read || !read->list) return;
  if (read->list->stamp != 0) counters_.lists.Add();
  counters_.left_out.Add(read->list->left_out);
  process.registered.Take(*read->list);
}

Result<JitSymbol> RecordingJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  Result<JitSymbol> symbol = inner_.Find(pid, address);
  if (!symbol) return symbol;
  const Place place{pid, symbol->begin};
  const std::size_t hash = std::hash<std::string_view>{}(symbol->name) ^ symbol->end;
  const std::size_t* known = known_.Find(place);
  if (known != nullptr && *known == hash) return symbol;
  known_.Put(place, hash);
  std::ostringstream line;
  line << std::hex << symbol->begin << ' ' << symbol->end - symbol->begin << ' ' << symbol->name
       << '\n';
  Unsent& unsent = unsent_[pid];
  (symbol->by_place     ? unsent.made
   : symbol->registered ? unsent.registered
                        : unsent.listed) += line.str();
  return symbol;
}

void RecordingJitSymbols::Flush() {
  for (const auto& [pid, unsent] : std::exchange(unsent_, {})) {
    const std::string key = std::to_string(pid);
    if (!unsent.listed.empty()) sink_(kJitBlobKind, key, unsent.listed);
    if (!unsent.registered.empty()) sink_(kRegisteredBlobKind, key, unsent.registered);
    if (!unsent.made.empty()) sink_(kMadeBlobKind, key, unsent.made);
  }
}

Result<void> ReplayJitSymbols::Add(std::string_view key, std::string_view bytes, Maps& maps) {
  std::uint32_t pid = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), pid);
  if (error != std::errc{} || end != key.data() + key.size() ||
      ReadPerfMap(bytes, maps[pid]) != bytes.size())
    return Error{ErrorCode::kCorrupt, "damaged record of code made at run time", ""};
  return {};
}

Result<JitSymbol> ReplayJitSymbols::Find(std::uint32_t pid, std::uint64_t address) {
  constexpr std::string_view kNoName = "the recording has no name for it";
  for (const Maps* maps : {&listed_, &registered_, &made_}) {
    const auto process = maps->find(pid);
    auto found = process == maps->end() ? std::nullopt : process->second.Find(address);
    if (!found) continue;
    found->registered = maps == &registered_;
    found->by_place = maps == &made_;
    if (found->by_place) found->reason = kNoName;
    return *found;
  }
  return Error{ErrorCode::kNotFound, std::string(kNoName), ""};
}

}  // namespace profd::symbolize
