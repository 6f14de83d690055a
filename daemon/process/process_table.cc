#include "daemon/process/process_table.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "daemon/base/proc/maps_parser.h"

namespace profd::process {
namespace {

// Samples share the info of their process and must not see later changes, so each change makes a
// copy.
template <typename Change>
void ChangeInfo(ProcessTable::Process& process, const Change& change) {
  auto changed = std::make_shared<ProcessInfo>(*process.info);
  change(*changed);
  process.info = std::move(changed);
}

// The path of the program that the kernel has mapped since `since_ns`: it maps the program first
// and its loader after it. "": it is not known.
std::string MappedProgram(const AddressSpace& mappings, std::uint64_t since_ns) {
  const Mapping* first = nullptr;
  for (const auto& [start, mapping] : mappings.mappings())
    if (mapping.since_ns >= since_ns && (first == nullptr || mapping.since_ns < first->since_ns))
      first = &mapping;
  if (first == nullptr || first->module == nullptr) return {};
  const std::string& path = first->module->path;
  return path.starts_with('/') ? path : std::string();
}

}  // namespace

ProcessTable::ProcessTable(const ProcessLimits& limits)
    : limits_(limits),
      budget_{.limit = limits.mappings},
      names_(limits.threads),
      modules_(limits.modules, [this](std::uint32_t pid) { return IsAlive(pid); }) {}

void ProcessTable::Apply(const wire::Event& event) {
  // An event can come late. Time does not go back with it, else dead processes would stay longer.
  now_ns_ = std::max(now_ns_, wire::HeaderOf(event).time_ns);
  std::visit([this](const auto& e) { On(e); }, event);
  ForgetDead();
  // Copies for Counters(), which other threads call. Only the worker may look into the tables.
  known_.Set(processes_.size());
  modules_refused_.Set(modules_.refused());
  threads_forgotten_.Set(names_.forgotten());
}

const ProcessTable::Process* ProcessTable::Find(const ProcessKey& key) const {
  // Peek: which process is evicted first depends on the events that are applied, and not on who
  // reads the table.
  return processes_.Peek(key);
}

ProcessInfoRef ProcessTable::Info(const ProcessKey& key) const {
  const Process* process = Find(key);
  return process == nullptr ? nullptr : process->info;
}

ProcessCounters ProcessTable::Counters() const {
  return {.processes = known_.value(),
          .evicted_alive = evicted_alive_.value(),
          .evicted_early = evicted_early_.value(),
          .mappings_refused = mappings_refused_.value(),
          .modules_refused = modules_refused_.value(),
          .mmaps_unplaced = mmaps_unplaced_.value(),
          .maps_malformed = maps_malformed_.value(),
          .threads_forgotten = threads_forgotten_.value()};
}

void ProcessTable::On(const wire::SessionEvent& event) {
  // A damaged recording can have any number.
  const std::uint64_t bit = std::uint64_t{1} << (event.session % PROFD_MAX_SESSIONS);
  sessions_ = event.end ? sessions_ & ~bit : sessions_ | bit;
  if (sessions_ != 0) return;
  // Without a session there are no events, so everything here would become outdated.
  current_.clear();
  processes_.Clear();
  dead_.clear();
  dead_threads_.clear();
  names_.Clear();
}

void ProcessTable::On(const wire::ClockEvent& event) {
  // The last reading of a thread may come after its process was forgotten. It must not make the
  // process again, because no exit event would ever remove it.
  if (!event.end && event.state != PROFD_STATE_DEAD)
    FindOrMake(event.header.process, event.header.time_ns);
  NameThread(event.header, event.comm);
}

void ProcessTable::On(const wire::ForkEvent& event) {
  if (event.new_process) {
    const bool known = Find(event.header.process) != nullptr;
    Process& child = FindOrMake(event.header.process, event.header.time_ns);
    // After the child was made: to make room for it, the parent may have been evicted.
    const Process* parent = Find({event.parent_pid, event.parent_process_start_ns});
    if (parent != nullptr) Inherit(*parent, known, child);
  }
  NameThread(event.header, event.comm);
}

void ProcessTable::Inherit(const Process& parent, bool known, Process& child) {
  // Other events of the child can be before this one, as events of two CPUs are. What they say is
  // newer.
  const bool same_image = child.image_ns == 0;
  const bool has_read = child.owner_seen.has_value();
  ChangeInfo(child, [&](ProcessInfo& info) {
    info.parent = parent.info->comm;
    if (info.cgroup.empty()) info.cgroup = parent.info->cgroup;
    if (!same_image) return;
    if (info.executable.empty()) info.executable = parent.info->executable;
    if (info.command_line.empty()) info.command_line = parent.info->command_line;
    // /proc has said of the child itself what these are.
    if (has_read) return;
    info.owner = parent.info->owner;
    info.resource = parent.info->resource;
  });
  // The kernel copies the address space, and the program is the same until an exec.
  if (!known || (same_image && child.mappings.size() == 0)) child.mappings = parent.mappings;
  if (!known) child.owner_seen = parent.owner_seen;
}

void ProcessTable::On(const wire::ExecEvent& event) {
  const std::uint64_t time_ns = event.header.time_ns;
  Process& process = FindOrMake(event.header.process, time_ns);
  if (time_ns < process.image_ns) return;  // a newer exec is known
  // The kernel first renames the process, then maps the program and its loader, and reports EXEC
  // last. Mappings since the new name belong to the new program.
  const bool renamed = process.renamed_ns > process.image_ns;
  process.mappings.RemoveOlder(renamed ? process.renamed_ns : time_ns);
  // The event has the path as the caller wrote it, which may lead over links or to a script.
  const std::string mapped =
      renamed ? MappedProgram(process.mappings, process.renamed_ns) : std::string();
  process.image_ns = time_ns;
  if (process.owner_seen) {
    // The program before this one was not looked at, so it may have been another user's.
    if (!process.owner_seen->of_this_image) process.owner_seen->sole_uid.reset();
    process.owner_seen->of_this_image = false;
  }
  ChangeInfo(process, [&](ProcessInfo& info) {
    info.executable = mapped.empty() ? event.path : mapped;
    info.command_line.clear();
    // The old program has published these in its memory, which is gone.
    info.label_keys.reset();
    info.resource.reset();
    // The new program may have capabilities, or be unreadable for its user; /proc will show it.
    info.owner.sole = false;
  });
  // An exec ends all other threads. The one that remains takes the tid of the first thread.
  if (event.old_tid != event.header.thread.tid) names_.Forget(event.old_tid);
  NameThread(event.header, event.comm);
}

void ProcessTable::On(const wire::CommEvent& event) {
  Process& process = FindOrMake(event.header.process, event.header.time_ns);
  // An exec renames the first thread in any case: another one that executes a program has that tid
  // by then.
  if (event.header.thread.tid == event.header.process.pid)
    process.renamed_ns = std::max(process.renamed_ns, event.header.time_ns);
  NameThread(event.header, event.comm);
}

void ProcessTable::On(const wire::ExitEvent& event) {
  // Samples of the thread may still be under way, and need its name.
  dead_threads_.emplace_back(event.header.thread, event.header.time_ns);
  Process* process = FindMutable(event.header.process);
  if (process != nullptr && event.last_thread)
    MarkExited(*process, event.header.time_ns, event.exit_code);
}

void ProcessTable::On(const wire::MmapEvent& event) {
  // The kernel's record has a pid without a start time.
  const auto current = current_.find(event.header.process.pid);
  if (current == current_.end()) {
    mmaps_unplaced_.Add();
    return;
  }
  Process& process = *FindMutable(current->second->info->key);
  const Mapping mapping{.start = event.address,
                        .end = event.address + event.bytes,
                        .file_offset = event.file_offset,
                        .since_ns = event.header.time_ns,
                        .module = nullptr};
  if ((event.prot & PROT_EXEC) != 0) {
    Map(process,
        IdentityOf(event.path, event.device_major, event.device_minor, event.inode,
                   event.header.process.pid),
        mapping);
    // A mapping without code replaces the code that was there.
  } else if (!process.mappings.Remove(mapping.start, mapping.end)) {
    mappings_refused_.Add();
  }
}

void ProcessTable::On(const wire::ProcessEvent& event) {
  const std::uint64_t time_ns = event.header.time_ns;
  Process& process = FindOrMake(event.header.process, time_ns);
  const auto& blobs = event.blobs;
  // A text that was read before the last EXEC belongs to the previous program.
  const bool current_image = time_ns >= process.image_ns;
  // The group and the numbers are those of the process, whatever it runs. All other texts describe
  // its program.
  ChangeInfo(process, [&blobs, current_image](ProcessInfo& info) {
    const std::string& cgroups = blobs[PROFD_BLOB_CGROUP];
    const std::string cgroup = ParseCgroup(cgroups);
    // A thread that ends has no group of version 1 any more. The unified one stands last.
    const bool has_left = cgroup == "/" && !cgroups.starts_with("0::");
    if (!cgroup.empty() && !(has_left && !info.cgroup.empty())) info.cgroup = cgroup;
    const auto pids = ParseNamespacePids(blobs[PROFD_BLOB_NSPID]);
    if (!pids.empty()) info.namespace_pids = pids;
    if (!current_image) return;
    if (!blobs[PROFD_BLOB_EXE].empty()) info.executable = blobs[PROFD_BLOB_EXE];
    // Empty where it could not be read in time, as mappings are.
    if (!blobs[PROFD_BLOB_CMDLINE].empty())
      info.command_line = ParseCommandLine(blobs[PROFD_BLOB_CMDLINE]);
    if (!blobs[PROFD_BLOB_RESOURCE].empty())
      info.resource = ParseResource(blobs[PROFD_BLOB_RESOURCE]);
  });
  if (current_image) {
    SetOwner(process, time_ns, ParseOwner(blobs[PROFD_BLOB_USER]));
    SetComm(process, time_ns, ParseComm(blobs[PROFD_BLOB_COMM]));
    if (!blobs[PROFD_BLOB_MAPS].empty()) ReplaceMappings(process, blobs[PROFD_BLOB_MAPS], time_ns);
  }
  ParseThreadNames(blobs[PROFD_BLOB_THREADS], [this, time_ns](std::uint32_t tid, auto comm) {
    // The text has no start times. A younger thread of that tid has a younger name, which stays.
    names_.Set({tid, 0}, time_ns, comm);
  });
}

void ProcessTable::On(const wire::LabelProcessEvent& event) {
  Process& process = FindOrMake(event.header.process, event.header.time_ns);
  if (event.header.time_ns < process.image_ns) return;  // of the program before
  ChangeInfo(process, [&](ProcessInfo& info) {
    info.label_keys =
        std::make_shared<const LabelKeys>(LabelKeys{process.image_ns, event.keys, event.reason});
  });
}

void ProcessTable::SetOwner(Process& process, std::uint64_t time_ns, Owner owner) {
  if (!owner.uid) return;
  // A user may see what a process has done since it is the user's alone, and nothing from before.
  // If the last reading was of the same program, the owner has changed at an unknown time since
  // then, and holds for certain only from this reading on. Else the owner came with the exec.
  const auto sole_uid = owner.sole ? owner.uid : std::nullopt;
  auto& seen = process.owner_seen;
  std::uint64_t since_ns = process.info->owned_since_ns;
  if (!seen) {
    since_ns = process.image_ns;
  } else if (seen->sole_uid != sole_uid) {
    since_ns = seen->of_this_image ? time_ns : process.image_ns;
  }
  seen = {.sole_uid = sole_uid, .of_this_image = true};
  ChangeInfo(process, [&owner, since_ns](ProcessInfo& info) {
    info.owner = std::move(owner);
    info.owned_since_ns = since_ns;
  });
}

ProcessTable::Process* ProcessTable::FindMutable(const ProcessKey& key) {
  return processes_.Find(key);
}

ProcessTable::Process& ProcessTable::FindOrMake(const ProcessKey& key, std::uint64_t time_ns) {
  if (Process* known = FindMutable(key); known != nullptr) return *known;
  if (processes_.size() >= limits_.processes) MakeRoom();
  auto info = std::make_shared<ProcessInfo>();
  info->key = key;
  Process made{.info = std::move(info), .mappings = {limits_.mappings_per_process, budget_}};
  Process& process = processes_.Put(key, std::move(made));
  MakeCurrent(process, time_ns);
  return process;
}

void ProcessTable::MakeCurrent(Process& process, std::uint64_t time_ns) {
  const auto [current, made] = current_.emplace(process.info->key.pid, &process);
  if (made) return;
  // Two processes with one pid: the older one has ended, and its exit event was lost.
  Process* ended = &process;
  if (process.info->key.start_ns > current->second->info->key.start_ns)
    std::swap(ended, current->second);
  // When it ended is not known. Its grace time begins now, so that its last samples find it.
  MarkExited(*ended, time_ns, 0);
}

void ProcessTable::MarkExited(Process& process, std::uint64_t time_ns, std::uint32_t exit_code) {
  // A process can end twice here, by its exit event and by a younger one with its pid. A second
  // entry of `dead_` would outlive the process.
  if (process.info->exited) return;
  ChangeInfo(process, [time_ns, exit_code](ProcessInfo& info) {
    info.exited = true;
    info.exited_ns = time_ns;
    info.exit_code = exit_code;
  });
  dead_.push_back(process.info->key);
}

void ProcessTable::NameThread(const wire::EventHeader& header, const std::string& comm) {
  if (comm.empty()) return;
  names_.Set(header.thread, header.time_ns, comm);
  if (header.thread.tid != header.process.pid) return;
  Process* process = FindMutable(header.process);
  if (process != nullptr) SetComm(*process, header.time_ns, comm);
}

void ProcessTable::SetComm(Process& process, std::uint64_t time_ns, const std::string& comm) {
  if (time_ns < process.comm_ns || comm.empty()) return;
  process.comm_ns = time_ns;
  // Most events repeat the name. A new object for each would be a change of the process for all
  // that keep the old one.
  if (comm != process.info->comm)
    ChangeInfo(process, [&comm](ProcessInfo& info) { info.comm = comm; });
}

void ProcessTable::Map(Process& process, const ModuleIdentity& identity, Mapping mapping) {
  const ModuleHome home{process.info->key.pid, mapping.start, mapping.end, mapping.since_ns};
  mapping.module = modules_.Intern(identity, home);
  // Mapped once more, as dlopen does after dlclose: the file may have been rewritten in between.
  if (identity.inode != 0 && process.mappings.Has(mapping.module, mapping.file_offset))
    mapping.module = modules_.Renew(identity, home);
  if (!process.mappings.Insert(std::move(mapping))) mappings_refused_.Add();
}

void ProcessTable::ReplaceMappings(Process& process, const std::string& maps,
                                   std::uint64_t time_ns) {
  const AddressSpace before = process.mappings;
  // Before Map: it takes a file that is mapped already for one that has been mapped again.
  process.mappings.Clear();
  const std::uint32_t pid = process.info->key.pid;
  maps_malformed_.Add(ParseMaps(maps, [&](MapsLine&& line) {
    if (!line.executable) return;
    Map(process,
        IdentityOf(std::move(line.path), line.device_major, line.device_minor, line.inode, pid),
        {.start = line.start,
         .end = line.end,
         .file_offset = line.file_offset,
         .since_ns = time_ns,
         .module = nullptr});
  }));
  // The text of /proc shows the state at `time_ns`; younger mappings came as events.
  for (const auto& [start, mapping] : before.mappings()) {
    if (mapping.since_ns > time_ns && !process.mappings.Insert(mapping)) mappings_refused_.Add();
  }
}

void ProcessTable::Forget(const ProcessKey& key) {
  const Process* process = Find(key);
  if (process == nullptr) return;
  // The pid may belong to a younger process by now.
  const auto current = current_.find(key.pid);
  if (current != current_.end() && current->second == process) current_.erase(current);
  processes_.Erase(key);
}

void ProcessTable::ForgetDead() {
  const auto is_over = [this](std::uint64_t exited_ns) {
    return now_ns_ >= exited_ns && now_ns_ - exited_ns >= limits_.grace_after_exit_ns;
  };
  for (; !dead_threads_.empty() && is_over(dead_threads_.front().second); dead_threads_.pop_front())
    names_.Forget(dead_threads_.front().first);
  // In the order of exits, so the first one that must stay ends the search.
  while (!dead_.empty()) {
    const Process* oldest = Find(dead_.front());  // null: evicted before
    if (oldest != nullptr && !is_over(oldest->info->exited_ns)) return;
    Forget(dead_.front());
    dead_.pop_front();
  }
}

void ProcessTable::MakeRoom() {
  // Few samples of a dead process are still to come, and all later ones of a living one.
  if (ForgetOldestDead()) return;
  if (const ProcessKey* quiet = processes_.oldest(); quiet != nullptr) {
    evicted_alive_.Add();
    // A copy: the key is in the entry that Forget erases.
    Forget(ProcessKey(*quiet));
  }
}

bool ProcessTable::ForgetOldestDead() {
  while (!dead_.empty()) {
    const ProcessKey key = dead_.front();
    dead_.pop_front();
    // Forget leaves the list as it is, and the process may be gone already.
    if (Find(key) == nullptr) continue;
    evicted_early_.Add();
    Forget(key);
    return true;
  }
  return false;
}

std::size_t ProcessTable::Bytes() const {
  // Estimates: an entry with its nodes and a few texts of 40 bytes each.
  constexpr std::size_t kProcessBytes = 1024;
  constexpr std::size_t kMappingBytes = 120;
  return processes_.size() * kProcessBytes + budget_.used * kMappingBytes;
}

void ProcessTable::AccountForMemory(budget::MemoryAccount& memory) {
  const std::size_t requested = memory.TakeReclaimRequest();
  std::size_t bytes = Bytes();
  // Living processes stay whatever is requested: their next samples need the mappings, which no
  // event would bring again.
  for (const std::size_t before = bytes; before - bytes < requested && ForgetOldestDead();)
    bytes = Bytes();
  memory.Set(bytes);
}

bool ProcessTable::IsAlive(std::uint32_t pid) const {
  const auto current = current_.find(pid);
  return current != current_.end() && !current->second->info->exited;
}

}  // namespace profd::process
