#include "daemon/store/sqlite/interner.h"

#include <cstring>

#include "daemon/store/sqlite/sql.h"

namespace profd::store {
namespace {

// Entries of each cache, at some 65 bytes each. Processes, threads and programs come and go, so few
// are enough; frames and stacks are sized for what a busy host uses within minutes.
constexpr std::size_t kMaxKnown = 20'000;
constexpr std::size_t kMaxKnownFrames = 50'000;
constexpr std::string_view kNothing;

Result<std::uint32_t> Narrow(std::int64_t id) {
  if (id <= 0 || id > UINT32_MAX)
    return Error{ErrorCode::kExhausted, "the store has no numbers left", {}};
  return static_cast<std::uint32_t>(id);
}

}  // namespace

std::size_t Interner::HashHash::operator()(const Hash128& hash) const {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

Interner::Interner(Database& database)
    : database_(database),
      hosts_{sql::kFind_host, sql::kMark_host, {}},
      programs_{sql::kFind_program, sql::kMark_program, {}},
      processes_{sql::kFind_process, sql::kMark_process, {}},
      threads_{sql::kFind_thread, sql::kMark_thread, {}},
      modules_{sql::kFind_module, sql::kMark_module, {}},
      frames_{sql::kFind_frame, sql::kMark_frame, {}} {}

void Interner::Forget() {
  for (Table* table : {&hosts_, &programs_, &processes_, &threads_, &modules_, &frames_})
    table->known.clear();
  stacks_.clear();
}

Result<std::uint32_t> Interner::Mark(Entry& entry, const char* mark) {
  if (entry.used < now_) {
    const auto statement = database_.Get(mark);
    if (!statement) return statement.error();
    PROFD_TRY((*statement)->With(now_, entry.id).Run());
    entry.used = now_;
  }
  return entry.id;
}

template <typename Add>
Result<std::uint32_t> Interner::Intern(Table& table, const Hash128& hash, const char* insert,
                                       const Add& add) {
  if (const auto known = table.known.find(hash);
      known != table.known.end() && known->second.used >= oldest_)
    return Mark(known->second, table.mark);
  const auto find = database_.Get(table.find);
  if (!find) return find.error();
  const auto found = (*find)->With(Blob(hash)).Step();
  if (!found) return found.error();
  Entry entry;
  if (*found) {
    const auto id = Narrow((*find)->Int(0));
    entry.used = (*find)->Int(1);
    (*find)->Reset();
    if (!id) return id.error();
    entry.id = *id;
  } else {
    const auto statement = database_.Get(insert);
    if (!statement) return statement.error();
    PROFD_TRY(add(**statement).Run());
    const auto id = Narrow(database_.LastRow());
    if (!id) return id.error();
    entry = Entry{*id, now_};
  }
  if (table.known.size() >= (&table == &frames_ ? kMaxKnownFrames : kMaxKnown)) table.known.clear();
  return Mark(table.known.insert_or_assign(hash, entry).first->second, table.mark);
}

Result<std::uint32_t> Interner::Host(const aggregate::Profile& profile) {
  const Hash128 hash = HostHashOf(profile);
  return Intern(hosts_, hash, sql::kAddHost, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, profile.target, profile.host, profile.kernel, profile.hook,
                    profile.profd_version);
  });
}

Result<std::uint32_t> Interner::Program(const aggregate::ProfileProcess& process) {
  const Hash128 hash = ProgramHashOf(process);
  return Intern(programs_, hash, sql::kAddProgram, [&](Statement& add) -> Statement& {
    std::optional<std::string_view> version;
    std::optional<std::string_view> refused;
    if (process.interpreter) {
      version = process.interpreter->version;
      refused = process.interpreter->refused;
    }
    const std::optional<std::int64_t> uid = process.owner.uid;
    return add.With(Blob(hash), now_, process.command_line, process.executable, process.build_id,
                    process.cgroup, process.container, process.unit, uid, process.owner.sole,
                    process.owner.user, version, refused);
  });
}

Result<std::uint32_t> Interner::Process(const aggregate::ProfileProcess& process) {
  const auto program = Program(process);
  if (!program) return program.error();
  const Hash128 hash = HashOf(process);
  return Intern(processes_, hash, sql::kAddProcess, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, process.key.pid, process.key.start_ns, process.shown_pid,
                    process.comm, process.exited, *program);
  });
}

Result<std::uint32_t> Interner::Thread(const aggregate::ProfileThread& thread) {
  const Hash128 hash = HashOf(thread);
  return Intern(threads_, hash, sql::kAddThread, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, thread.key.tid, thread.key.start_ns, thread.shown_tid,
                    thread.comm);
  });
}

Result<std::uint32_t> Interner::Module(const symbolize::Frame& frame) {
  const Hash128 hash = ModuleHashOf(frame);
  return Intern(modules_, hash, sql::kAddModule, [&](Statement& add) -> Statement& {
    if (!frame.origin)
      return add.With(Blob(hash), now_, frame.module, nullptr, kNothing, kNothing, kNothing,
                      kNothing, kNothing, kNothing);
    const auto& info = *frame.origin;
    return add.With(Blob(hash), now_, frame.module, info.path, info.build_id, info.symbols_from,
                    info.symbols_file, info.symbols_missing, info.debug_file, info.debug_missing);
  });
}

Result<std::uint32_t> Interner::Frame(const symbolize::Frame& frame) {
  const auto module = Module(frame);
  if (!module) return module.error();
  const Hash128 hash = HashOf(frame);
  return Intern(frames_, hash, sql::kAddFrame, [&](Statement& add) -> Statement& {
    return add.With(Blob(hash), now_, static_cast<int>(frame.kind), frame.inlined,
                    frame.interpreter, frame.name, frame.full_name, frame.symbol, *module,
                    frame.offset, frame.file, frame.line, frame.reason);
  });
}

Result<std::uint32_t> Interner::Stack(std::uint32_t parent, std::uint32_t frame) {
  const std::uint64_t place = std::uint64_t{parent} << 32 | frame;
  if (const auto known = stacks_.find(place);
      known != stacks_.end() && known->second.used >= oldest_)
    return Mark(known->second, sql::kMarkStack);
  const auto find = database_.Get(sql::kFindStack);
  if (!find) return find.error();
  const auto found = (*find)->With(parent, frame).Step();
  if (!found) return found.error();
  Entry entry;
  std::int64_t id = 0;
  if (*found) {
    id = (*find)->Int(0);
    entry.used = (*find)->Int(1);
    (*find)->Reset();
  } else {
    const auto add = database_.Get(sql::kAddStack);
    if (!add) return add.error();
    PROFD_TRY((*add)->With(parent, frame, now_).Run());
    id = database_.LastRow();
    entry.used = now_;
  }
  const auto narrow = Narrow(id);
  if (!narrow) return narrow.error();
  entry.id = *narrow;
  if (stacks_.size() >= kMaxKnownFrames) stacks_.clear();
  return Mark(stacks_.insert_or_assign(place, entry).first->second, sql::kMarkStack);
}

}  // namespace profd::store
